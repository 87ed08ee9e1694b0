/// A number to which a specification assigns meanings: an opcode, an error code, an AD type.
///
/// The number space is open: every number of the width is a value, with or without a name, because a later version of
/// the specification or a vendor can define the numbers that have no name here. The description has the name and the
/// number: `Insufficient Encryption (0x0F)`; a number without a name prints as `ATT error 0x8A`.
public protocol AssignedNumber: RawRepresentable, Hashable, Sendable, CustomStringConvertible
where RawValue: FixedWidthInteger & UnsignedInteger {
  /// The noun that a number without a name is printed with, such as `ATT error`.
  static var spaceName: StaticString { get }

  /// The specification's names of the numbers that it defines.
  static var names: [Self: StaticString] { get }

  /// The specification's name of this number; nil for a number that it does not define.
  var name: String? { get }

  init(rawValue: RawValue)
}

extension AssignedNumber {
  public static var names: [Self: StaticString] { [:] }

  public var name: String? { Self.names[self].map { "\($0)" } }

  /// The name and the number, in hexadecimal with all digits of its width: `Insufficient Encryption (0x0F)`.
  public var description: String {
    if let name { return "\(name) (\(rawValue.hexadecimalNumber))" }
    return "\(Self.spaceName) \(rawValue.hexadecimalNumber)"
  }
}

/// Bits to which a specification assigns meanings: flags, features, an event mask.
///
/// The description lists the names of the bits that are set, least significant first; a bit without a name prints as
/// `bit 7`.
public protocol AssignedBits: OptionSet, Hashable, Sendable, CustomStringConvertible
where RawValue: FixedWidthInteger & UnsignedInteger {
  /// The specification's names of the bits that it defines, each under the set of that bit alone.
  static var names: [Self: StaticString] { get }
}

extension AssignedBits {
  /// The names of the bits that are set: `LE General Discoverable Mode, BR/EDR Not Supported`; `none` for an empty set.
  public var description: String {
    let set = (0..<RawValue.bitWidth).filter { rawValue >> RawValue($0) & 1 == 1 }
    if set.isEmpty { return "none" }
    return set.map { bit in Self.names[Self(rawValue: 1 << RawValue(bit))].map { "\($0)" } ?? "bit \(bit)" }
      .joined(separator: ", ")
  }
}

extension FixedWidthInteger where Self: UnsignedInteger {
  /// The number with all hexadecimal digits of its width: `0x002A` for a `UInt16` of 42.
  package var hexadecimalNumber: String { "0x" + hexadecimalDigits }

  /// All hexadecimal digits of the width, in upper case: `002A` for a `UInt16` of 42.
  var hexadecimalDigits: String {
    let digits = String(self, radix: 16, uppercase: true)
    return String(repeating: "0", count: Self.bitWidth / 4 - digits.utf8.count) + digits
  }
}
