/// A value of a characteristic whose fields are defined by a specification of the Bluetooth SIG or of a vendor.
///
/// The fields are declared once, in wire order; numbers are sent least significant octet first. `init(decoding:)`
/// throws a `CodecError` that names the field at fault. ``GATTValue/init(octets:)`` returns nil for the same octets.
/// Octets after the last field are an error, unless flags of a later version announce them.
///
/// ```swift
/// let measurement = try HeartRateMeasurement(decoding: [0x06, 72])
/// print(measurement.beatsPerMinute)  // 72
/// print(measurement.octets)  // [6, 72]
/// ```
public protocol ProfileValue: GATTValue, Packet, Hashable {}

extension ProfileValue {
  /// Decodes a value that fills `octets` exactly; nil if they are not such a value.
  public init?(octets: [UInt8]) {
    guard let value = try? Self(decoding: octets[...]) else { return nil }
    self = value
  }

  /// The octets in the order of transmission.
  public var octets: [UInt8] { encoded }
}

// MARK: - Fields

extension FieldVisitor {
  /// A number that is present only if an earlier flag says so.
  mutating func optional<T: FixedWidthInteger>(
    _ name: FieldName, _ value: inout T?, if isPresent: Bool
  ) throws(Failure) {
    guard isPresent else { return value = nil }
    var number = value ?? 0
    try integer(name, &number)
    value = number
  }

  /// A group of fields that is present only if an earlier flag says so.
  mutating func optional<Group: FieldGroup>(_ value: inout Group?, if isPresent: Bool) throws(Failure) {
    guard isPresent else { return value = nil }
    var group = value ?? Group()
    try group.layout(&self)
    value = group
  }

  /// A number within the limits of the specification. Others are sent as the nearest one, and rejected on reception.
  mutating func limited<Limits: FieldLimits>(
    _ name: FieldName, _ limits: Limits.Type, _ value: inout Limits.Number
  ) throws(Failure) {
    var number = LimitedNumber<Limits>(clamping: value)
    try self.value(name, &number)
    value = number.rawValue
  }

  /// Octets of a later version, which are ignored.
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
  /// A value outside the range that means unknown or something else.
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
