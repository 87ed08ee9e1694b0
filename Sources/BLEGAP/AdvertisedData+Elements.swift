public import BLEWire

/// A list of UUIDs from one AD structure.
public struct AdvertisedUUIDList: Equatable, Sendable {
  /// The UUIDs in order.
  public var uuids: [BluetoothUUID]
  /// The size of each.
  public var size: BluetoothUUID.Size
  /// Whether the device has no other services with UUIDs of this size (Core Specification Supplement, Part A, 1.1).
  public var isComplete: Bool

  /// A list of UUIDs.
  public init(_ uuids: [BluetoothUUID], size: BluetoothUUID.Size, isComplete: Bool) {
    (self.uuids, self.size, self.isComplete) = (uuids, size, isComplete)
  }
}

/// The values in ``AdvertisedData/otherElements``. Of a type that may occur once, the last one is used.
extension AdvertisedData {
  /// The Class of Device, 24 bits (0x0D).
  public var classOfDevice: UInt32? { last { if case .classOfDevice(let value) = $0 { value } else { nil } } }

  /// The advertising interval in units of 0.625 ms (0x1A, 0x2F).
  public var advertisingInterval: UInt32? {
    last {
      switch $0 {
      case .advertisingInterval(let interval): UInt32(interval)
      case .advertisingIntervalLong(let interval): interval
      default: nil  // Other types.
      }
    }
  }

  /// The LE features, least significant octet first, without zero octets at the end (0x27).
  public var leSupportedFeatures: Bytes? {
    last { if case .leSupportedFeatures(let value) = $0 { value } else { nil } }
  }

  /// The LE role (0x1C).
  public var leRole: LERole? { last { if case .leRole(let role) = $0 { role } else { nil } } }

  /// The address that the device names in its data (0x1B).
  public var deviceAddress: AdvertisedDeviceAddress? {
    last { if case .leBluetoothDeviceAddress(let address) = $0 { address } else { nil } }
  }

  /// The devices that the advertisement is for, as public and random addresses (0x17, 0x18).
  public var targetAddresses: [DeviceAddress] {
    otherElements.flatMap { element -> [DeviceAddress] in
      switch element {
      case .publicTargetAddress(let addresses): addresses.map { DeviceAddress(octets: $0, kind: .public) }
      case .randomTargetAddress(let addresses): addresses.map { DeviceAddress(octets: $0, kind: .random) }
      default: []  // Other types.
      }
    }
  }

  /// The name of a broadcast, UTF-8 (0x30), without the padding of its field (``DeviceText``).
  public var broadcastName: String? {
    last { if case .broadcastName(let octets) = $0 { DeviceText(octets).repaired } else { nil } }
  }

  /// The identifier of the set that the device belongs to (0x2E).
  public var resolvableSetIdentifier: ResolvableSetIdentifier? {
    last { if case .resolvableSetIdentifier(let identifier) = $0 { identifier } else { nil } }
  }

  /// The encrypted parts of the data (0x31).
  public var encryptedData: [EncryptedAdvertisingData] {
    otherElements.compactMap { if case .encryptedData(let data) = $0 { data } else { nil } }
  }

  private func last<Value>(_ value: (ADElement) -> Value?) -> Value? {
    otherElements.lazy.reversed().compactMap(value).first
  }
}
