/// A quantity of the Environmental Sensing Service: the type of a characteristic and the format of its value.
public protocol EnvironmentalQuantity: Hashable, Sendable {
  /// The characteristic and the format of its value.
  static var format: EnvironmentalFormat { get }
}

/// The format of a value of a sensor (GATT Specification Supplement, section of the characteristic).
public struct EnvironmentalFormat: Hashable, Sendable {
  /// The type of the characteristic.
  public let uuid: BluetoothUUID
  /// The length of the value, 1 to 4 octets.
  public let octets: Int
  /// Whether the value is two's complement.
  public let isSigned: Bool
  /// The number of decimal digits after the point.
  public let decimals: Int
  /// The symbol of the unit; empty if there is none.
  public let unit: String
  /// The integers that are allowed; those of 32 bits do not all fit into an `Int` of 32 bits.
  public var range: ClosedRange<Int> { Int(clamping: limits.lowerBound)...Int(clamping: limits.upperBound) }
  /// The integer for "value is not known"; nil if the characteristic has none.
  public let unknown: Int?

  let limits: ClosedRange<Int64>

  /// A format.
  ///
  /// - Parameters:
  ///   - uuid: the type of the characteristic.
  ///   - octets: the length of the value, 1 to 4.
  ///   - isSigned: whether the value is two's complement.
  ///   - decimals: the number of decimal digits after the point.
  ///   - unit: the symbol of the unit.
  ///   - range: the integers that are allowed; nil for all of this length.
  ///   - unknown: the integer for "value is not known".
  public init(
    _ uuid: BluetoothUUID, octets: Int, isSigned: Bool = false, decimals: Int = 0, unit: String = "",
    range: ClosedRange<Int>? = nil, unknown: Int? = nil
  ) {
    let length = Swift.min(Swift.max(octets, 1), 4)
    let bits = Int64(length) * 8
    (self.uuid, self.octets, self.isSigned) = (uuid, length, isSigned)
    (self.decimals, self.unit, self.unknown) = (decimals, unit, unknown)
    let all: ClosedRange<Int64> = isSigned ? -(1 << (bits - 1))...(1 << (bits - 1) - 1) : 0...(1 << bits - 1)
    limits = range.map { Int64($0.lowerBound)...Int64($0.upperBound) } ?? all
  }

  /// The integer in the octets of a value; nil for "value is not known".
  func integer(_ number: UInt32) -> Int64? {
    let shift = Int64.bitWidth - octets * 8
    let integer = isSigned ? (Int64(number) << shift) >> shift : Int64(number)
    return integer == unknown.map(Int64.init) ? nil : integer
  }
}

/// What is done with the type of each quantity that is a number.
package protocol EnvironmentalQuantityVisitor {
  mutating func visit<Quantity: EnvironmentalQuantity>(_ quantity: Quantity.Type)
}

/// Gives the quantities that are numbers to `visitor`: all of this library but ``BarometricPressureTrend``.
package func visitQuantities(with visitor: inout some EnvironmentalQuantityVisitor) {
  visitor.visit(MagneticDeclination.self)
  visitor.visit(Elevation.self)
  visitor.visit(Pressure.self)
  visitor.visit(Temperature.self)
  visitor.visit(Humidity.self)
  visitor.visit(TrueWindSpeed.self)
  visitor.visit(TrueWindDirection.self)
  visitor.visit(ApparentWindSpeed.self)
  visitor.visit(ApparentWindDirection.self)
  visitor.visit(GustFactor.self)
  visitor.visit(PollenConcentration.self)
  visitor.visit(UVIndex.self)
  visitor.visit(Irradiance.self)
  visitor.visit(Rainfall.self)
  visitor.visit(WindChill.self)
  visitor.visit(HeatIndex.self)
  visitor.visit(DewPoint.self)
}

extension String {
  /// The unit after a space, including `%`, as the SI prescribes.
  var suffix: String { isEmpty ? "" : " " + self }
}

/// Temperature, 0x2A6E, in 0.01 °C.
public enum Temperature: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat(
    "2A6E", octets: 2, isSigned: true, decimals: 2, unit: "°C", range: -27_315...32_767, unknown: -32_768)
}

/// Humidity, 0x2A6F, in 0.01 %.
public enum Humidity: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat(
    "2A6F", octets: 2, decimals: 2, unit: "%", range: 0...10_000, unknown: 0xFFFF)
}

/// Pressure, 0x2A6D, in 0.1 Pa.
public enum Pressure: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A6D", octets: 4, decimals: 1, unit: "Pa")
}

/// Elevation above sea level, 0x2A6C, in 0.01 m.
public enum Elevation: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A6C", octets: 3, isSigned: true, decimals: 2, unit: "m")
}

/// True wind speed, 0x2A70, in 0.01 m/s.
public enum TrueWindSpeed: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A70", octets: 2, decimals: 2, unit: "m/s")
}

/// True wind direction, 0x2A71, in 0.01°: 0 is a wind from the north, 90 is a wind from the east.
public enum TrueWindDirection: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A71", octets: 2, decimals: 2, unit: "°", range: 0...35_999)
}

/// Apparent wind speed, 0x2A72, in 0.01 m/s.
public enum ApparentWindSpeed: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A72", octets: 2, decimals: 2, unit: "m/s")
}

/// Apparent wind direction, 0x2A73, in 0.01°: 0 is from ahead, 90 from the right.
public enum ApparentWindDirection: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A73", octets: 2, decimals: 2, unit: "°", range: 0...35_999)
}

/// Gust factor, 0x2A74, in 0.1.
public enum GustFactor: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A74", octets: 1, decimals: 1)
}

/// Pollen concentration, 0x2A75, in grains per cubic metre.
public enum PollenConcentration: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A75", octets: 3, unit: "/m³")
}

/// UV index, 0x2A76.
public enum UVIndex: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A76", octets: 1)
}

/// Irradiance, 0x2A77, in 0.1 W/m².
public enum Irradiance: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A77", octets: 2, decimals: 1, unit: "W/m²")
}

/// Rainfall, 0x2A78, in millimetres.
public enum Rainfall: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A78", octets: 2, unit: "mm")
}

/// Wind chill, 0x2A79, in °C.
public enum WindChill: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A79", octets: 1, isSigned: true, unit: "°C")
}

/// Heat index, 0x2A7A, in °C.
public enum HeatIndex: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A7A", octets: 1, isSigned: true, unit: "°C")
}

/// Dew point, 0x2A7B, in °C.
public enum DewPoint: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A7B", octets: 1, isSigned: true, unit: "°C")
}

/// Magnetic declination, 0x2A2C, in 0.01° clockwise from true north.
public enum MagneticDeclination: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2A2C", octets: 2, decimals: 2, unit: "°", range: 0...35_999)
}

/// Barometric pressure trend, 0x2AA3: 0 unknown, 1 continuously falling, 2 continuously rising, 3 falling then steady,
/// 4 rising then steady, 5 falling before a lesser rise, 6 falling before a greater rise, 7 rising before a greater
/// fall, 8 rising before a lesser fall, 9 steady.
public enum BarometricPressureTrend: EnvironmentalQuantity {
  public static let format = EnvironmentalFormat("2AA3", octets: 1, range: 0...9)
}

/// The value of Magnetic Flux Density 3D (0x2AA1), six octets; without the last field, that of Magnetic Flux Density 2D
/// (0x2AA0), four octets (GATT Specification Supplement).
public struct MagneticFluxDensity: ProfileValue {
  /// The X axis in units of 10⁻⁷ T.
  public var x: Int16 = 0
  /// The Y axis in units of 10⁻⁷ T.
  public var y: Int16 = 0
  /// The Z axis in units of 10⁻⁷ T; nil in two dimensions.
  public var z: Int16?

  /// A field of zero, in two dimensions.
  public init() {}

  /// A field in units of 10⁻⁷ T.
  public init(x: Int16, y: Int16, z: Int16? = nil) { (self.x, self.y, self.z) = (x, y, z) }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("X-axis", &x)
    try field.integer("Y-axis", &y)
    var axes = z.map { [Axis(number: $0)] } ?? []
    try field.rest("Z-axis", atLeast: 0, each: 2, &axes)
    z = axes.first?.number
  }

  private struct Axis: FieldGroup {
    var number: Int16 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) { try field.integer("Z-axis", &number) }
  }
}
