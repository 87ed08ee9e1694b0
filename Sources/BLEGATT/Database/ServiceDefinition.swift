public import BLEWire

/// The application's name for one of its services, unique in one ``AttributeDatabase``.
///
/// Handles change when services come and go; these do not.
public struct ServiceID: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt32
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The stack's own Generic Access service.
  public static let genericAccess = Self(rawValue: .max)
  /// The stack's own Generic Attribute service.
  public static let genericAttribute = Self(rawValue: .max - 1)

  @inlinable var isReserved: Bool { rawValue >= .max - 1 }
}

/// The application's name for one of its characteristic values or descriptors, unique in one ``AttributeDatabase``.
public struct AttributeID: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt32
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// What attributes of the stack's own are called: declarations, CCCDs, the GAP and GATT services.
  static let stack = Self(rawValue: .max)
}

extension ServiceID: CustomStringConvertible {
  public var description: String {
    switch self {
    case .genericAccess: "Generic Access"
    case .genericAttribute: "Generic Attribute"
    default: "service \(rawValue)"
    }
  }
}

extension AttributeID: CustomStringConvertible {
  public var description: String { self == .stack ? "the stack's attribute" : "attribute \(rawValue)" }
}

/// A service as the application describes it; ``AttributeDatabase/add(_:)`` makes attributes of it (Vol 3, Part G, 3.1).
public struct ServiceDefinition: Sendable {
  public var id: ServiceID
  /// A 32-bit UUID travels as one of 128 bits (Vol 3, Part F, 3.2.1).
  public var uuid: BluetoothUUID
  /// A secondary service is found only through one that includes it.
  public var isPrimary: Bool
  /// Services of the same database, published before.
  public var includes: [ServiceID]
  public var characteristics: [CharacteristicDefinition]

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

/// A characteristic as the application describes it (Vol 3, Part G, 3.3).
///
/// The database adds the Client Characteristic Configuration descriptor where ``properties`` offer notifications or
/// indications, and the Extended Properties descriptor where ``extendedProperties`` say something.
public struct CharacteristicDefinition: Sendable {
  public var id: AttributeID
  public var uuid: BluetoothUUID
  public var properties: GATTCharacteristicProperties
  public var extendedProperties: ExtendedProperties
  public var permissions: GATTAttributePermissions
  /// The requirement on the link before a client may write the Client Characteristic Configuration descriptor, and before
  /// it is sent a notification or an indication (Vol 3, Part C, 10.3.1). It is independent of the permission to read:
  /// see ``hasUnprotectedUpdates``.
  public var updateRequirement: AccessRequirement
  public var value: ValueSource
  public var descriptors: [DescriptorDefinition]

  public init(
    id: AttributeID, uuid: BluetoothUUID, properties: GATTCharacteristicProperties,
    extendedProperties: ExtendedProperties = [], permissions: GATTAttributePermissions,
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

  /// Whether any client can subscribe to a value that not every client may read.
  public var hasUnprotectedUpdates: Bool {
    guard isConfigurable, let read = permissions.read else { return false }
    return read != .open && updateRequirement == .open
  }
}

/// A descriptor as the application describes it (Vol 3, Part G, 3.3.3); 0x2900 and 0x2902 are made by the database.
public struct DescriptorDefinition: Sendable {
  public var id: AttributeID
  public var uuid: BluetoothUUID
  public var permissions: GATTAttributePermissions
  public var value: ValueSource

  public init(
    id: AttributeID, uuid: BluetoothUUID, permissions: GATTAttributePermissions = .readable, value: ValueSource
  ) {
    self.id = id
    self.uuid = uuid
    self.permissions = permissions
    self.value = value
  }
}

/// Where an attribute's value comes from; at most 512 octets in every case (Vol 3, Part F, 3.2.9).
public enum ValueSource: Hashable, Sendable {
  /// A constant that the stack answers by itself. Writes are refused.
  case fixed([UInt8])
  /// Kept by the stack: reads are answered from it, a permitted write of an allowed length changes it, and
  /// ``GATTServer/Event/stored(_:)`` tells the application.
  case stored([UInt8], length: ClosedRange<Int>)
  /// The application answers each read and each write.
  case dynamic
}

/// The Characteristic Properties of a characteristic declaration (Vol 3, Part G, 3.3.1.1).
public struct GATTCharacteristicProperties: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let broadcast = Self(rawValue: 0x01)
  public static let read = Self(rawValue: 0x02)
  public static let writeWithoutResponse = Self(rawValue: 0x04)
  public static let write = Self(rawValue: 0x08)
  public static let notify = Self(rawValue: 0x10)
  public static let indicate = Self(rawValue: 0x20)
  public static let authenticatedSignedWrites = Self(rawValue: 0x40)
  public static let extendedProperties = Self(rawValue: 0x80)
}

/// The bits of the Characteristic Extended Properties descriptor (Vol 3, Part G, 3.3.3.1).
public struct ExtendedProperties: OptionSet, Hashable, Sendable {
  public var rawValue: UInt16
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let reliableWrite = Self(rawValue: 0x0001)
  public static let writableAuxiliaries = Self(rawValue: 0x0002)
}
