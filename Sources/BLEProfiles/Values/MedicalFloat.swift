/// A decimal number of IEEE 11073-20601: a mantissa times a power of ten, or one of five special values.
///
/// FLOAT-Type (``MedicalFloat``) has a mantissa of 24 bits and an exponent of 8 in four octets. SFLOAT-Type
/// (``MedicalShortFloat``) has 12 and 4 in two. Both parts are two's complement. The mantissa is in the low bits, and
/// octets are sent least significant first (GATT Specification Supplement, 2.2; Personal Health Devices Transcoding
/// White Paper, 2.2.1).
public protocol DecimalFloat: RawRepresentable, Hashable, Sendable, CustomStringConvertible
where RawValue: FixedWidthInteger & UnsignedInteger & Sendable {
  /// The number of bits of the mantissa.
  static var mantissaBits: Int { get }
  /// The octets as one number.
  init(rawValue: RawValue)
}

/// The values that are not numbers.
public enum SpecialFloat: Hashable, Sendable {
  /// NaN: an invalid result of a computation, or missing data.
  case notANumber
  /// NRes: the value cannot be represented with the available range and resolution.
  case notAtThisResolution
  /// Positive infinity.
  case positiveInfinity
  /// Negative infinity.
  case negativeInfinity
  /// Reserved for future use.
  case reserved
}

/// FLOAT-Type: 24 bits of mantissa, 8 bits of exponent.
///
/// ```swift
/// let temperature = MedicalFloat(mantissa: 365, exponent: -1)
/// print(temperature?.value ?? 0)  // 36.5
/// ```
public struct MedicalFloat: DecimalFloat {
  public let rawValue: UInt32
  public static let mantissaBits = 24
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// SFLOAT-Type: 12 bits of mantissa, 4 bits of exponent.
public struct MedicalShortFloat: DecimalFloat {
  public let rawValue: UInt16
  public static let mantissaBits = 12
  public init(rawValue: UInt16) { self.rawValue = rawValue }
}

extension DecimalFloat {
  private static var exponentBits: Int { RawValue.bitWidth - mantissaBits }
  /// The largest mantissa. A mantissa beyond it, of either sign, is a special value.
  private static var largest: Int { 1 << (mantissaBits - 1) - 3 }

  /// A number.
  ///
  /// - Returns: nil for a mantissa or an exponent outside the range: -8,388,605 to 8,388,605 and -128 to 127
  ///   for FLOAT, -2,045 to 2,045 and -8 to 7 for SFLOAT.
  public init?(mantissa: Int, exponent: Int) {
    let limit = 1 << (Self.exponentBits - 1)
    guard mantissa.magnitude <= Self.largest, -limit..<limit ~= exponent else { return nil }
    let low = RawValue(truncatingIfNeeded: mantissa) & (1 << RawValue(Self.mantissaBits) - 1)
    self.init(rawValue: RawValue(truncatingIfNeeded: exponent) << RawValue(Self.mantissaBits) | low)
  }

  /// A number rounded to `decimals` digits after the point. It has fewer digits if the mantissa is too short for them,
  /// and is infinite if the type cannot represent the number itself.
  public init(_ value: Double, decimals: Int) {
    let infinity = Self(value < 0 ? .negativeInfinity : .positiveInfinity)
    let limit = 1 << (Self.exponentBits - 1)
    var exponent = -Swift.min(Swift.max(decimals, 1 - limit), limit)
    while exponent < limit {
      let scaled = (exponent < 0 ? value * power(-exponent) : value / power(exponent)).rounded()
      if scaled.magnitude <= Double(Self.largest) {
        self = Self(mantissa: Int(scaled), exponent: exponent) ?? infinity
        return
      }
      exponent += 1
    }
    self = value.isNaN ? Self(.notANumber) : infinity
  }

  /// A special value.
  public init(_ special: SpecialFloat) {
    let half: RawValue = 1 << RawValue(Self.mantissaBits - 1)
    switch special {
    case .positiveInfinity: self.init(rawValue: half - 2)
    case .notANumber: self.init(rawValue: half - 1)
    case .notAtThisResolution: self.init(rawValue: half)
    case .reserved: self.init(rawValue: half + 1)
    case .negativeInfinity: self.init(rawValue: half + 2)
    }
  }

  /// The signed mantissa.
  public var mantissa: Int {
    let shift = Int.bitWidth - Self.mantissaBits
    return (Int(truncatingIfNeeded: rawValue) << shift) >> shift
  }

  /// The exponent of ten.
  public var exponent: Int {
    let shift = Int.bitWidth - Self.exponentBits
    return (Int(truncatingIfNeeded: rawValue >> RawValue(Self.mantissaBits)) << shift) >> shift
  }

  /// The special value; nil for a number. Special values have the exponent 0.
  public var special: SpecialFloat? {
    let half: RawValue = 1 << RawValue(Self.mantissaBits - 1)
    return switch rawValue {
    case half - 2: .positiveInfinity
    case half - 1: .notANumber
    case half: .notAtThisResolution
    case half + 1: .reserved
    case half + 2: .negativeInfinity
    default: nil
    }
  }

  /// The number as a binary floating-point number; infinite or NaN for a special value.
  public var value: Double {
    switch special {
    case .positiveInfinity: .infinity
    case .negativeInfinity: -.infinity
    case .notANumber, .notAtThisResolution, .reserved: .nan
    case nil: exponent < 0 ? Double(mantissa) / power(-exponent) : Double(mantissa) * power(exponent)
    }
  }

  /// The number with the decimal digits that were sent: `36.50` for 3650 and -2.
  public var description: String {
    switch special {
    case .positiveInfinity: return "infinity"
    case .negativeInfinity: return "-infinity"
    case .notANumber: return "not a number"
    case .notAtThisResolution: return "not at this resolution"
    case .reserved: return "reserved"
    case nil: return decimalText(mantissa, exponent: exponent)
    }
  }
}

/// A number as decimal digits: `21.50` for 2150 and -2, `4200` for 42 and 2.
func decimalText(_ mantissa: some FixedWidthInteger, exponent: Int) -> String {
  let sign = mantissa < 0 ? "-" : ""
  let digits = String(mantissa.magnitude)
  guard exponent < 0 else {
    return sign + (mantissa == 0 ? "0" : digits + String(repeating: "0", count: exponent))
  }
  let padded = String(repeating: "0", count: max(0, 1 - exponent - digits.count)) + digits
  return sign + padded.dropLast(-exponent) + "." + padded.suffix(-exponent)
}

/// A power of ten.
func power(_ exponent: Int) -> Double { (0..<max(0, exponent)).reduce(1.0) { number, _ in number * 10 } }
