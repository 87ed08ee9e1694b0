/// A value of a characteristic whose fields a specification of the Bluetooth SIG, or of a vendor, defines.
///
/// The fields are declared once, in wire order; numbers are sent least significant octet first. `init(decoding:)` throws a `CodecError`
/// that names the field at fault; ``GATTValue/init(octets:)`` returns nil for the same octets. Octets after the last field are an
/// error, except where flags of a later version announce them.
///
/// ```swift
/// let measurement = try HeartRateMeasurement(decoding: [0x06, 72])
/// print(measurement.beatsPerMinute)  // 72
/// print(measurement.octets)  // [6, 72]
/// ```
public protocol ProfileValue: GATTValue, Packet, Hashable {}

extension ProfileValue {
  /// Decodes a value that fills `octets` exactly; nil where they are no such value.
  public init?(octets: [UInt8]) {
    guard let value = try? Self(decoding: octets[...]) else { return nil }
    self = value
  }

  /// The octets in the order of transmission.
  public var octets: [UInt8] { encoded }
}

/// A characteristic of a service with the type of its value.
///
/// ```swift
/// let level = try await device.read(Battery.level)
/// for try await measurement in try await device.values(of: HeartRate.measurement) { print(measurement) }
/// ```
public struct ProfileCharacteristic<Value: GATTValue>: Hashable, Sendable {
  /// The type of the characteristic.
  public let uuid: BluetoothUUID
  /// The type of the service that has it.
  public let service: BluetoothUUID

  /// A characteristic of a service.
  public init(_ uuid: BluetoothUUID, in service: BluetoothUUID) { (self.uuid, self.service) = (uuid, service) }
}

// MARK: - The central

extension RemoteDevice {
  /// Discovers a characteristic, unless it is known, and reads it.
  ///
  /// - Throws: ``BLEError/Kind/notFound`` where the device does not have it, ``BLEError/Kind/invalidValue`` where its octets
  ///   are no `Value`.
  public func read<Value>(_ characteristic: ProfileCharacteristic<Value>) async throws(BLEError) -> Value {
    try await read(characteristic.uuid, in: characteristic.service, as: Value.self)
  }

  /// Reads an optional characteristic: nil where the device does not have it.
  public func readIfPresent<Value>(_ characteristic: ProfileCharacteristic<Value>) async throws(BLEError) -> Value? {
    do {
      return try await read(characteristic)
    } catch  where error.kind == .notFound {
      return nil
    }
  }

  /// Discovers a characteristic, unless it is known, writes a value and waits for the answer.
  public func write<Value>(_ value: Value, to characteristic: ProfileCharacteristic<Value>) async throws(BLEError) {
    try await write(value, to: characteristic.uuid, in: characteristic.service)
  }

  /// Discovers a characteristic, unless it is known, and writes a value of at most ``RemoteDevice/mtu`` - 3 octets, which the
  /// device does not answer.
  public func writeWithoutResponse<Value>(
    _ value: Value, to characteristic: ProfileCharacteristic<Value>
  ) async throws(BLEError) {
    let found = try await self.characteristic(characteristic.uuid, in: characteristic.service)
    try await writeWithoutResponse(value, to: found)
  }

  /// Discovers a characteristic, unless it is known, and returns the sequence of its values; reading the sequence subscribes.
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

// MARK: - Fields

extension FieldVisitor {
  /// A number that is there only if a flag before it says so.
  mutating func optional<T: FixedWidthInteger>(
    _ name: FieldName, _ value: inout T?, if isPresent: Bool
  ) throws(Failure) {
    guard isPresent else { return value = nil }
    var number = value ?? 0
    try integer(name, &number)
    value = number
  }

  /// A group of fields that is there only if a flag before it says so.
  mutating func optional<Group: FieldGroup>(_ value: inout Group?, if isPresent: Bool) throws(Failure) {
    guard isPresent else { return value = nil }
    var group = value ?? Group()
    try group.layout(&self)
    value = group
  }

  /// A number within the limits of the specification: others are sent as the nearest one, and rejected where they are received.
  mutating func limited<Limits: FieldLimits>(
    _ name: FieldName, _ limits: Limits.Type, _ value: inout Limits.Number
  ) throws(Failure) {
    var number = LimitedNumber<Limits>(clamping: value)
    try self.value(name, &number)
    value = number.rawValue
  }

  /// The octets of a later version, which are ignored.
  mutating func ignoreRest(if isPresent: Bool) throws(Failure) {
    var rest: Bytes = []
    if isPresent { try self.rest("Reserved for Future Use", &rest) }
  }
}

/// The values that a field may have.
protocol FieldLimits {
  associatedtype Number: FixedWidthInteger & Sendable
  /// The smallest and the largest value.
  static var range: ClosedRange<Number> { get }
  /// A value beside the range, which is unknown or has another meaning.
  static var exception: Number? { get }
}

extension FieldLimits {
  static var exception: Number? { nil }
}

/// A number of a field with limits.
struct LimitedNumber<Limits: FieldLimits>: RawRepresentable {
  let rawValue: Limits.Number

  init(clamping number: Limits.Number) {
    let isAllowed = number == Limits.exception
    rawValue = isAllowed ? number : Swift.min(Swift.max(number, Limits.range.lowerBound), Limits.range.upperBound)
  }

  init?(rawValue: Limits.Number) {
    guard Limits.range.contains(rawValue) || rawValue == Limits.exception else { return nil }
    self.rawValue = rawValue
  }
}
