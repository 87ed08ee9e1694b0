import BLEGATT
public import BLEWire

/// A GATT service of this device, as a value (Vol 3, Part G, 3.1).
///
/// ```swift
/// let battery = LocalService("180F", [
///   LocalCharacteristic("2A19").readSynchronously { _ in UInt8(97) }
/// ])
/// ```
///
/// ``Adapter/publish(_:)`` or ``Adapter/serve(_:advertising:options:)`` makes it visible to clients. The same value can
/// be published more than once: each publication is a service of its own.
public struct LocalService: Sendable {
  /// The type of the service.
  public var uuid: BluetoothUUID
  /// Whether clients find it with Discover All Primary Services; a secondary service is found through the services that
  /// include it.
  public var isPrimary: Bool
  /// The services that it includes (Vol 3, Part G, 3.2). They are published before it.
  public var includedServices: [LocalService]
  /// In the order of their attribute handles.
  public var characteristics: [LocalCharacteristic]

  /// Creates a service with these characteristics.
  public init(
    _ uuid: BluetoothUUID, _ characteristics: [LocalCharacteristic], isPrimary: Bool = true,
    including includedServices: [LocalService] = []
  ) {
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.includedServices = includedServices
    self.characteristics = characteristics
  }
}

/// A constant descriptor of a characteristic (Vol 3, Part G, 3.3.3).
///
/// The stack creates the descriptors 2900 (Extended Properties) and 2902 (Client Characteristic Configuration) itself.
public struct LocalDescriptor: Hashable, Sendable {
  /// The type of the descriptor.
  public var uuid: BluetoothUUID
  /// At most 512 octets.
  public var value: [UInt8]

  /// Creates a descriptor with a constant value.
  public init(_ uuid: BluetoothUUID, value: [UInt8]) {
    self.uuid = uuid
    self.value = value
  }

  /// Characteristic User Description, 0x2901 (Vol 3, Part G, 3.3.3.2).
  public static func userDescription(_ text: String) -> Self { Self("2901", value: Array(text.utf8)) }
}

/// The security that a link must have before a client may use a value (Vol 3, Part C, 10.3.1).
public enum RequiredSecurity: Hashable, Sendable {
  /// None.
  case none
  /// An encrypted link.
  case encrypted
  /// An encrypted link whose key is protected against a man in the middle.
  case authenticated
  /// As ``authenticated``, by LE Secure Connections and with a key of 16 octets.
  case secureConnections

  var requirement: AccessRequirement {
    switch self {
    case .none: .open
    case .encrypted: .encrypted
    case .authenticated: .authenticated
    case .secureConnections: .secureConnections
    }
  }
}
