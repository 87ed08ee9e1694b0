import Synchronization

/// A service, local or found on a peripheral; mirrors `CBService`.
///
/// The lock is `contents`.
open class CBService: CBAttribute, @unchecked Sendable {
  private let primary: Bool
  private let contents = Mutex(Contents())

  private struct Contents {
    var includedServices: [CBService]?
    var characteristics: [CBCharacteristic]?
  }

  init(type: CBUUID, isPrimary: Bool) {
    primary = isPrimary
    super.init(type: type)
  }

  /// False for a secondary service, which is found only through a service that includes it.
  open var isPrimary: Bool { primary }

  /// The included services that were discovered; nil before ``CBPeripheral/discoverIncludedServices(_:for:)`` has
  /// finished.
  open internal(set) var includedServices: [CBService]? {
    get { contents.withLock { $0.includedServices } }
    set { contents.withLock { $0.includedServices = newValue } }
  }

  /// The characteristics that were discovered; nil before ``CBPeripheral/discoverCharacteristics(_:for:)`` has
  /// finished.
  open internal(set) var characteristics: [CBCharacteristic]? {
    get { contents.withLock { $0.characteristics } }
    set {
      let old = contents.withLock { contents in
        defer { contents.characteristics = newValue }
        return contents.characteristics
      }
      for characteristic in old ?? [] where characteristic.service === self { characteristic.service = nil }
      for characteristic in newValue ?? [] { characteristic.service = self }
    }
  }

  /// The characteristics, each with its descriptors after it: the order of the attributes of a published service.
  final var parts: [CBAttribute] {
    (characteristics ?? []).flatMap { [$0 as CBAttribute] + ($0.descriptors ?? []) }
  }

  /// Whether anything but this service refers to one of its parts.
  final var sharesParts: Bool {
    contents.withLock { contents in
      // Taken out, so that the array has no other reference here and is not copied.
      guard var characteristics = contents.characteristics.take() else { return false }
      defer { contents.characteristics = characteristics }
      for index in characteristics.indices
      where !isKnownUniquelyReferenced(&characteristics[index]) || characteristics[index].sharesDescriptors {
        return true
      }
      return false
    }
  }
}

/// A service to publish with ``CBPeripheralManager/add(_:)``; mirrors `CBMutableService`.
///
/// A published service is frozen: centrals do not see later changes to the object.
///
/// The lock is that of ``CBService``.
open class CBMutableService: CBService, @unchecked Sendable {
  /// Creates a service without characteristics.
  public init(type UUID: CBUUID, primary isPrimary: Bool) {
    super.init(type: UUID, isPrimary: isPrimary)
  }

  /// The services it includes; they must be published before it.
  open override var includedServices: [CBService]? {
    get { super.includedServices }
    set { super.includedServices = newValue }
  }

  /// The characteristics to publish with the service.
  open override var characteristics: [CBCharacteristic]? {
    get { super.characteristics }
    set { super.characteristics = newValue }
  }
}
