public import BLEWire

/// The number that names one attribute of a server: 0x0001 to 0xFFFF (Vol 3, Part F, 3.2.2).
///
/// 0x0000 is reserved; it travels all the same (a peer may send it, and error responses carry it where a request had no
/// handle), so the type holds it and the server refuses it.
public struct AttributeHandle: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16

  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }
  @inlinable public init(_ number: UInt16) { rawValue = number }

  /// 0x0000, which names no attribute.
  public static let none = Self(0x0000)
  /// 0x0001, where a search through a whole server begins.
  public static let first = Self(0x0001)
  /// 0xFFFF, where a search through a whole server ends.
  public static let last = Self(0xFFFF)
}

extension AttributeHandle: Comparable {
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension AttributeHandle: ExpressibleByIntegerLiteral {
  @inlinable public init(integerLiteral value: UInt16) { rawValue = value }
}

extension AttributeHandle: CustomStringConvertible {
  /// `0x002A`
  public var description: String {
    let digits = String(rawValue, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}

/// A handle is a packet field of two octets, so that lists of handles can be declared.
extension AttributeHandle: FieldGroup {
  public init() { self = .none }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Attribute Handle", &rawValue)
  }
}
