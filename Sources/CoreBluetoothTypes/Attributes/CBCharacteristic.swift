public import Foundation
import Synchronization

/// A characteristic, local or found on a peripheral; mirrors `CBCharacteristic`.
///
/// The lock is `contents`.
open class CBCharacteristic: CBAttribute, @unchecked Sendable {
  private let contents: Mutex<Contents>

  private struct Contents {
    weak var service: CBService?
    var properties: CBCharacteristicProperties
    var value: Data?
    var descriptors: [CBDescriptor]?
    var isNotifying = false
    var isBroadcasted = false
  }

  init(type: CBUUID, properties: CBCharacteristicProperties, value: Data?) {
    contents = Mutex(Contents(properties: properties, value: value))
    super.init(type: type)
  }

  /// The service that contains it; nil if the service no longer exists or it was never added to one.
  open internal(set) var service: CBService! {
    get { contents.withLock { $0.service } }
    set { contents.withLock { $0.service = newValue } }
  }

  /// The procedures that the characteristic supports.
  open internal(set) var properties: CBCharacteristicProperties {
    get { contents.withLock { $0.properties } }
    set { contents.withLock { $0.properties = newValue } }
  }

  /// The value that was read, notified or indicated last; nil before the first one.
  open internal(set) var value: Data? {
    get { contents.withLock { $0.value } }
    set { contents.withLock { $0.value = newValue } }
  }

  /// The descriptors that were discovered; nil before ``CBPeripheral/discoverDescriptors(for:)`` has finished.
  open internal(set) var descriptors: [CBDescriptor]? {
    get { contents.withLock { $0.descriptors } }
    set {
      let old = contents.withLock { contents in
        defer { contents.descriptors = newValue }
        return contents.descriptors
      }
      for descriptor in old ?? [] where descriptor.characteristic === self { descriptor.characteristic = nil }
      for descriptor in newValue ?? [] { descriptor.characteristic = self }
    }
  }

  /// Whether anything but this characteristic refers to one of its descriptors.
  final var sharesDescriptors: Bool {
    contents.withLock { contents in
      // Taken out, so that the array has no other reference here and is not copied.
      guard var descriptors = contents.descriptors.take() else { return false }
      defer { contents.descriptors = descriptors }
      for index in descriptors.indices where !isKnownUniquelyReferenced(&descriptors[index]) { return true }
      return false
    }
  }

  /// Whether the peripheral sends notifications or indications of the value.
  open internal(set) var isNotifying: Bool {
    get { contents.withLock { $0.isNotifying } }
    set { contents.withLock { $0.isNotifying = newValue } }
  }

  /// Whether the value is broadcast. CoreBluetooth has deprecated this property.
  open internal(set) var isBroadcasted: Bool {
    get { contents.withLock { $0.isBroadcasted } }
    set { contents.withLock { $0.isBroadcasted = newValue } }
  }
}
