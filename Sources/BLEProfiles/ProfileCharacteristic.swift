/// A characteristic of a service with the type of its value.
///
/// ```swift
/// let level = try await device.read(Battery.level)
/// for try await measurement in try await device.values(of: HeartRate.measurement) { print(measurement) }
/// ```
public struct ProfileCharacteristic<Value: GATTValue>: Hashable, Sendable {
  /// The type of the characteristic.
  public let uuid: BluetoothUUID
  /// The type of the service that contains the characteristic.
  public let service: BluetoothUUID

  /// A characteristic of a service.
  public init(_ uuid: BluetoothUUID, in service: BluetoothUUID) { (self.uuid, self.service) = (uuid, service) }
}

// MARK: - The central

extension RemoteDevice {
  /// Discovers a characteristic, unless it is already discovered, and reads it.
  ///
  /// - Throws: ``BLEError/Kind/notFound`` if the device does not have it, ``BLEError/Kind/invalidValue`` if its octets
  ///   are not a `Value`.
  public func read<Value>(_ characteristic: ProfileCharacteristic<Value>) async throws(BLEError) -> Value {
    try await read(characteristic.uuid, in: characteristic.service, as: Value.self)
  }

  /// Reads an optional characteristic: nil if the device does not have it.
  public func readIfPresent<Value>(_ characteristic: ProfileCharacteristic<Value>) async throws(BLEError) -> Value? {
    do {
      return try await read(characteristic)
    } catch  where error.kind == .notFound {
      return nil
    }
  }

  /// Discovers a characteristic, unless it is already discovered, writes a value and waits for the response.
  public func write<Value>(_ value: Value, to characteristic: ProfileCharacteristic<Value>) async throws(BLEError) {
    try await write(value, to: characteristic.uuid, in: characteristic.service)
  }

  /// Discovers a characteristic, unless it is already discovered, and writes a value of at most ``RemoteDevice/mtu`` -
  /// 3 octets without response.
  public func writeWithoutResponse<Value>(
    _ value: Value, to characteristic: ProfileCharacteristic<Value>
  ) async throws(BLEError) {
    let found = try await self.characteristic(characteristic.uuid, in: characteristic.service)
    try await writeWithoutResponse(value, to: found)
  }

  /// Discovers a characteristic, unless it is already discovered, and returns the sequence of its values. Reading the
  /// sequence subscribes.
  public func values<Value>(
    of characteristic: ProfileCharacteristic<Value>
  ) async throws(BLEError) -> CharacteristicValues<Value> {
    let found = try await self.characteristic(characteristic.uuid, in: characteristic.service)
    return values(of: found, as: Value.self)
  }
}

// MARK: - The peripheral

extension LocalCharacteristic {
  /// A characteristic of a profile, without procedures.
  public init<Value>(_ characteristic: ProfileCharacteristic<Value>, descriptors: [LocalDescriptor] = []) {
    self.init(characteristic.uuid, descriptors: descriptors)
  }
}
