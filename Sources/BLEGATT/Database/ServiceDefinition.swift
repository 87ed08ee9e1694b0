package import BLEATT
public import BLEWire

/// The identifier of a service, chosen by the application and unique in an ``AttributeDatabase``.
///
/// It is independent of the handles, which the database assigns.
public struct ServiceID: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt32
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The Generic Access service of ``GenericServices``; reserved.
  public static let genericAccess = Self(rawValue: .max)
  /// The Generic Attribute service of ``GenericServices``; reserved.
  public static let genericAttribute = Self(rawValue: .max - 1)

  @inlinable var isReserved: Bool { rawValue >= .max - 1 }
}

extension ServiceID: CustomStringConvertible {
  /// `service 1`, or the name of a reserved one.
  public var description: String {
    switch self {
    case .genericAccess: "Generic Access"
    case .genericAttribute: "Generic Attribute"
    default: "service \(rawValue)"
    }
  }
}

/// The identifier of a characteristic value or of a descriptor, chosen by the application and unique in an
/// ``AttributeDatabase``. `UInt32.max` is reserved.
///
/// It is independent of the handle, which the database assigns.
public struct AttributeID: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt32
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The attributes that the stack makes: declarations, generated descriptors, Generic Access and Generic Attribute.
  static let stack = Self(rawValue: .max)
}

extension AttributeID: CustomStringConvertible {
  /// `attribute 1`.
  public var description: String { self == .stack ? "the stack's attribute" : "attribute \(rawValue)" }
}

/// The definition of a service (Vol 3, Part G, 3.1). ``AttributeDatabase/add(_:)`` makes its attributes.
public struct ServiceDefinition: Sendable {
  /// The identifier.
  public var id: ServiceID
  /// The type of the service. In PDUs, a 32-bit UUID has 128 bits (Vol 3, Part F, 3.2.1).
  public var uuid: BluetoothUUID
  /// Whether it is a primary service. A client finds a secondary service only through a service that includes it.
  public var isPrimary: Bool
  /// The included services, which the database already has.
  public var includes: [ServiceID]
  /// The characteristics in the order of their handles.
  public var characteristics: [CharacteristicDefinition]
  /// The providers that make or take the values of dynamic characteristics, without events for the application.
  package var providers: [AttributeID: ValueProvider] = [:]

  /// A service with these fields.
  public init(
    id: ServiceID, uuid: BluetoothUUID, isPrimary: Bool = true, includes: [ServiceID] = [],
    characteristics: [CharacteristicDefinition] = []
  ) {
    self.id = id
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.includes = includes
    self.characteristics = characteristics
  }
}

/// The definition of a characteristic (Vol 3, Part G, 3.3).
///
/// The database adds the Client Characteristic Configuration descriptor if ``properties`` contain notify or indicate,
/// and the Characteristic Extended Properties descriptor if ``extendedProperties`` are not empty.
public struct CharacteristicDefinition: Sendable {
  /// The identifier of the characteristic value.
  public var id: AttributeID
  /// The type of the characteristic.
  public var uuid: BluetoothUUID
  /// The properties in the declaration.
  public var properties: GATTCharacteristicProperties
  /// The value of the Characteristic Extended Properties descriptor.
  public var extendedProperties: CharacteristicExtendedProperties
  /// The permissions of the value.
  public var permissions: GATTAttributePermissions
  /// The requirement that a link must meet before a client may write the Client Characteristic Configuration
  /// descriptor, and before it is sent a notification or an indication (Vol 3, Part C, 10.3.1). It is independent of
  /// the permission to read: see ``hasUnprotectedUpdates``.
  public var updateRequirement: AccessRequirement
  /// The source of the value.
  public var value: ValueSource
  /// The descriptors except 0x2900 and 0x2902, which the database adds.
  public var descriptors: [DescriptorDefinition]

  /// A characteristic with these fields.
  public init(
    id: AttributeID, uuid: BluetoothUUID, properties: GATTCharacteristicProperties,
    extendedProperties: CharacteristicExtendedProperties = [], permissions: GATTAttributePermissions,
    updateRequirement: AccessRequirement = .open, value: ValueSource, descriptors: [DescriptorDefinition] = []
  ) {
    self.id = id
    self.uuid = uuid
    self.properties = properties
    self.extendedProperties = extendedProperties
    self.permissions = permissions
    self.updateRequirement = updateRequirement
    self.value = value
    self.descriptors = descriptors
  }

  /// Whether every client can subscribe to a value that not every client may read.
  public var hasUnprotectedUpdates: Bool {
    guard isConfigurable, let read = permissions.read else { return false }
    return read != .open && updateRequirement == .open
  }
}

/// The definition of a descriptor of a characteristic (Vol 3, Part G, 3.3.3).
public struct DescriptorDefinition: Sendable {
  /// The identifier.
  public var id: AttributeID
  /// The type; neither 0x2900 nor 0x2902.
  public var uuid: BluetoothUUID
  /// The permissions of the value.
  public var permissions: GATTAttributePermissions
  /// The source of the value.
  public var value: ValueSource

  /// A descriptor with these fields.
  public init(
    id: AttributeID, uuid: BluetoothUUID, permissions: GATTAttributePermissions = .readable, value: ValueSource
  ) {
    self.id = id
    self.uuid = uuid
    self.permissions = permissions
    self.value = value
  }
}

/// The functions that make the value of a dynamic characteristic when it is read, and take it when it is written whole.
/// A server calls them while it handles the request, and the answer leaves with the other packets of the input
/// (Docs/Decisions/performance.md).
///
/// Requests that they do not answer, prepared writes, and reads of several attributes are events for the application.
package struct ValueProvider: Sendable {
  /// The link of a request.
  package struct Client: Sendable {
    /// ``GATTServer/client``.
    package var number: UInt32
    /// The ATT_MTU of the bearer in octets.
    package var mtu: Int
  }

  /// Returns the whole value for a read from an offset on; nil leaves the request to the application.
  package var read: (@Sendable (_ offset: Int, Client) -> Result<[UInt8], ATTErrorCode>?)?
  /// Takes a whole value; nil leaves the request to the application.
  package var write: (@Sendable (_ value: Span<UInt8>, Client) -> Result<Void, ATTErrorCode>?)?

  package init(
    read: (@Sendable (_ offset: Int, Client) -> Result<[UInt8], ATTErrorCode>?)? = nil,
    write: (@Sendable (_ value: Span<UInt8>, Client) -> Result<Void, ATTErrorCode>?)? = nil
  ) { (self.read, self.write) = (read, write) }
}

/// The source of an attribute value. A value has at most 512 octets (Vol 3, Part F, 3.2.9).
public enum ValueSource: Hashable, Sendable {
  /// A constant. The server responds to reads and rejects writes.
  case fixed([UInt8])
  /// A variable of the database, with the allowed lengths in octets. The server responds to reads; a write of an
  /// allowed length changes the value and is reported by ``GATTServer/Event/stored(_:)``.
  case stored([UInt8], length: ClosedRange<Int>)
  /// The application responds to each read and each write.
  case dynamic
}

/// The Characteristic Properties in a characteristic declaration (Vol 3, Part G, 3.3.1.1).
public struct GATTCharacteristicProperties: AssignedBits {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The value can be in advertising data (0x01).
  public static let broadcast = Self(rawValue: 0x01)
  /// Reads (0x02).
  public static let read = Self(rawValue: 0x02)
  /// Write Commands (0x04).
  public static let writeWithoutResponse = Self(rawValue: 0x04)
  /// Write Requests (0x08).
  public static let write = Self(rawValue: 0x08)
  /// Notifications (0x10).
  public static let notify = Self(rawValue: 0x10)
  /// Indications (0x20).
  public static let indicate = Self(rawValue: 0x20)
  /// Signed Write Commands (0x40).
  public static let authenticatedSignedWrites = Self(rawValue: 0x40)
  /// There is a Characteristic Extended Properties descriptor (0x80).
  public static let extendedProperties = Self(rawValue: 0x80)

  public static let names: [Self: StaticString] = [
    .broadcast: "Broadcast", .read: "Read", .writeWithoutResponse: "Write Without Response", .write: "Write",
    .notify: "Notify", .indicate: "Indicate", .authenticatedSignedWrites: "Authenticated Signed Writes",
    .extendedProperties: "Extended Properties",
  ]
}

/// The bits of the Characteristic Extended Properties descriptor (Vol 3, Part G, 3.3.3.1).
public struct CharacteristicExtendedProperties: AssignedBits {
  public var rawValue: UInt16
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Reliable writes (0x0001).
  public static let reliableWrite = Self(rawValue: 0x0001)
  /// Clients can write the Characteristic User Description descriptor (0x0002).
  public static let writableAuxiliaries = Self(rawValue: 0x0002)

  public static let names: [Self: StaticString] = [
    .reliableWrite: "Reliable Write", .writableAuxiliaries: "Writable Auxiliaries",
  ]
}
