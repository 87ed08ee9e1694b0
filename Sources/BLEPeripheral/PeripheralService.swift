public import BLEATT
public import BLEGATT
public import BLEWire

/// A primary service of a ``Peripheral``.
///
/// ```swift
/// let temperature = AttributeID(rawValue: 1)
/// let service = PeripheralService(
///   uuid: "181A",
///   characteristics: [
///     PeripheralCharacteristic(
///       temperature, uuid: "2A6E", properties: [.read, .notify], access: .encrypted,
///       read: { _, value in
///         value.append(littleEndian: Int16(2150))
///         return nil
///       })
///   ])
/// ```
public struct PeripheralService {
  /// The type of the service.
  public var uuid: BluetoothUUID
  /// The characteristics, in the order of their handles.
  public var characteristics: [PeripheralCharacteristic]

  /// A service with these characteristics.
  public init(uuid: BluetoothUUID, characteristics: [PeripheralCharacteristic]) {
    self.uuid = uuid
    self.characteristics = characteristics
  }

  func definition(_ id: ServiceID) -> ServiceDefinition {
    ServiceDefinition(id: id, uuid: uuid, characteristics: characteristics.map { $0.definition })
  }
}

/// A characteristic of a ``PeripheralService``, with the functions that read and write its value.
///
/// The functions are called while the peripheral handles the request, and their results are sent with the other packets
/// of the input. They cannot call the peripheral: change the state of the program, and call the peripheral after
/// ``Peripheral/receive(_:now:)`` has returned.
public struct PeripheralCharacteristic {
  /// Appends the whole value, 0 to 512 octets. Nil: success. An error is the answer to the client.
  public typealias Read = (Peer, inout ValueBuffer) -> ATTErrorCode?
  /// Takes a whole value, 0 to 512 octets. Nil: the value is accepted. An error is the answer to the client, unless the
  /// client has sent a Write Command, which has no answer.
  public typealias Write = (Peer, Span<UInt8>) -> ATTErrorCode?

  /// The identifier, unique in the peripheral and chosen by the program.
  public var id: AttributeID
  /// The type of the characteristic.
  public var uuid: BluetoothUUID
  /// The properties in the declaration.
  public var properties: GATTCharacteristicProperties
  /// The security that a link must have to read and to write.
  public var access: AccessRequirement
  /// The security that a link must have to subscribe and to get notifications or indications.
  public var updateAccess: AccessRequirement
  /// The descriptors with constant values. The peripheral adds the Client Characteristic Configuration descriptor.
  public var descriptors: [DescriptorDefinition]
  /// Makes the value; nil: no client may read it.
  public var read: Read?
  /// Takes a value; nil: no client may write it.
  public var write: Write?
  private var constant: [UInt8]?

  /// A characteristic whose value is made and taken by functions. Without `updateAccess`, it is that of `access`.
  public init(
    _ id: AttributeID, uuid: BluetoothUUID, properties: GATTCharacteristicProperties, access: AccessRequirement = .open,
    updateAccess: AccessRequirement? = nil, descriptors: [DescriptorDefinition] = [], read: Read? = nil,
    write: Write? = nil
  ) {
    (self.id, self.uuid, self.properties, self.access) = (id, uuid, properties, access)
    self.updateAccess = updateAccess ?? access
    self.descriptors = descriptors
    (self.read, self.write) = (read, write)
  }

  /// A characteristic with a constant value, 0 to 512 octets, which clients read.
  public init(_ id: AttributeID, uuid: BluetoothUUID, constant: [UInt8], access: AccessRequirement = .open) {
    self.init(id, uuid: uuid, properties: .read, access: access)
    self.constant = constant
  }

  var definition: CharacteristicDefinition {
    let mayRead = read != nil || constant != nil
    return CharacteristicDefinition(
      id: id, uuid: uuid, properties: properties,
      permissions: GATTAttributePermissions(read: mayRead ? access : nil, write: write == nil ? nil : access),
      updateRequirement: updateAccess, value: constant.map { .fixed($0) } ?? .dynamic, descriptors: descriptors)
  }
}

/// The value that a ``PeripheralCharacteristic/Read`` makes, in memory that is reused.
public struct ValueBuffer {
  /// The octets of a value at most (Vol 3, Part F, 3.2.9).
  public static let limit = ATT.maximumValueLength

  private(set) var octets: [UInt8] = []
  /// Whether more than ``limit`` octets were appended. The client then gets Unlikely Error (0x0E).
  public private(set) var hasOverflowed = false

  /// An empty buffer.
  public init() { octets.reserveCapacity(Self.limit) }

  /// The number of octets.
  public var count: Int { octets.count }

  /// Appends an octet.
  public mutating func append(_ octet: UInt8) {
    guard octets.count < Self.limit else { return hasOverflowed = true }
    octets.append(octet)
  }

  /// Appends a number, least significant octet first.
  public mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
    for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: number &>> Number(truncatingIfNeeded: shift)))
    }
  }

  /// Appends octets.
  public mutating func append(copying span: Span<UInt8>) {
    for index in span.indices { append(span[index]) }
  }

  /// Appends octets.
  public mutating func append(contentsOf octets: [UInt8]) { append(copying: octets.span) }

  mutating func removeAll() {
    octets.removeAll(keepingCapacity: true)
    hasOverflowed = false
  }
}
