public import BLEWire

/// The number of an attribute on a server: 0x0001 to 0xFFFF (Vol 3, Part F, 3.2.2).
///
/// 0x0000 is reserved. The type includes it, because Error Responses carry it if a request has no handle, and a peer
/// may send it; a server rejects it.
public struct AttributeHandle: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16

  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }
  /// The handle with this number.
  @inlinable public init(_ number: UInt16) { rawValue = number }

  /// 0x0000: no attribute.
  public static let none = Self(0x0000)
  /// 0x0001: the first handle of a server.
  public static let first = Self(0x0001)
  /// 0xFFFF: the last possible handle of a server.
  public static let last = Self(0xFFFF)
}

extension AttributeHandle: Comparable {
  /// Whether `a` is the lower handle.
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension AttributeHandle: ExpressibleByIntegerLiteral {
  /// A handle that is written in the source as a number.
  @inlinable public init(integerLiteral value: UInt16) { rawValue = value }
}

extension AttributeHandle: CustomStringConvertible {
  /// The number with four hexadecimal digits: `0x002A`.
  public var description: String { rawValue.hexadecimalNumber }
}

/// A handle is a field group of two octets, so that a packet can declare a list of handles.
extension AttributeHandle: FieldGroup {
  public init() { self = .none }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Attribute Handle", &rawValue)
  }
}
