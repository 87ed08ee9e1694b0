import BLEWire

/// A type whose values are sent as the octets of a characteristic.
///
/// Integers are little-endian, as in the characteristics of the SIG (GATT Specification Supplement, 2.2); a `String` is
/// UTF-8 without a NUL. `Float` and `Double` are IEEE 754 numbers; most characteristics of the SIG have integers
/// instead, with a unit such as 0.01 °C. `import BluetoothLE` adds `Data`. A type of the program conforms with two
/// members:
///
/// ```swift
/// struct Temperature: GATTValue {
///   var celsius: Double
///   init(celsius: Double) { self.celsius = celsius }
///   init?(octets: [UInt8]) {
///     guard let hundredths = Int16(octets: octets) else { return nil }
///     celsius = Double(hundredths) / 100
///   }
///   var octets: [UInt8] {
///     let hundredths = (celsius * 100).rounded()
///     return Int16(max(-27_315, min(32_767, hundredths))).octets
///   }
/// }
/// ```
public protocol GATTValue: Sendable {
  /// Decodes the whole value of a characteristic.
  ///
  /// - Returns: nil if the octets are not a value of this type. A client that wrote them gets the error Invalid
  ///   Attribute Value Length (0x0D); ``RemoteDevice/read(_:as:)`` throws ``BLEError/Kind/invalidValue``.
  init?(octets: [UInt8])
  /// The value as octets in the order in which they are sent; at most 512 (Vol 3, Part F, 3.2.9).
  var octets: [UInt8] { get }
}

extension Array: GATTValue where Element == UInt8 {
  public init?(octets: [UInt8]) { self = octets }
  public var octets: [UInt8] { self }
}

extension String: GATTValue {
  /// Decodes UTF-8 up to the first NUL: many devices send a terminator, or pad a field of fixed length. Nil if the
  /// octets before it are not UTF-8. ``DeviceText`` also removes other padding, and replaces invalid octets.
  public init?(octets: [UInt8]) { self.init(validating: DeviceText.untilNUL(octets[...]), as: UTF8.self) }
  public var octets: [UInt8] { Array(utf8) }
}

extension Bool: GATTValue {
  /// One octet, 0 or 1.
  public init?(octets: [UInt8]) {
    guard octets.count == 1, octets[0] <= 1 else { return nil }
    self = octets[0] == 1
  }
  public var octets: [UInt8] { [self ? 1 : 0] }
}

extension GATTValue where Self: FixedWidthInteger {
  /// Decodes as many octets as the integer has, little-endian.
  public init?(octets: [UInt8]) {
    guard octets.count == Self.bitWidth / 8 else { return nil }
    self = octets.reversed().reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
  }

  public var octets: [UInt8] {
    (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
  }
}

extension UInt8: GATTValue {}
extension UInt16: GATTValue {}
extension UInt32: GATTValue {}
extension UInt64: GATTValue {}
extension Int8: GATTValue {}
extension Int16: GATTValue {}
extension Int32: GATTValue {}
extension Int64: GATTValue {}

extension Float: GATTValue {
  /// Decodes four octets, little-endian: an IEEE 754 number of 32 bits (the SIG's format float32).
  public init?(octets: [UInt8]) {
    guard let bits = UInt32(octets: octets) else { return nil }
    self.init(bitPattern: bits)
  }
  public var octets: [UInt8] { bitPattern.octets }
}

extension Double: GATTValue {
  /// Decodes eight octets, little-endian: an IEEE 754 number of 64 bits (the SIG's format float64).
  public init?(octets: [UInt8]) {
    guard let bits = UInt64(octets: octets) else { return nil }
    self.init(bitPattern: bits)
  }
  public var octets: [UInt8] { bitPattern.octets }
}
