/// Why octets are not the packet they were taken for.
public enum CodecError: Error, Equatable, Sendable {
  /// The octets end inside this field.
  case truncated(field: FieldName)
  /// The octets of this field hold no value that the specification allows.
  case invalid(field: FieldName)
  /// So many octets follow the last field.
  case trailing(count: Int)
}

extension CodecError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .truncated(let field): "the octets end inside the field '\(field)'"
    case .invalid(let field): "the field '\(field)' holds a value outside what the specification allows"
    case .trailing(let count): "\(count) octets follow the last field"
    }
  }
}

/// A field name, spelled as the specification spells it.
public struct FieldName: Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  @usableFromInline let literal: StaticString

  @inlinable public init(stringLiteral value: StaticString) { literal = value }

  public var description: String { "\(literal)" }
}

extension FieldName: Equatable {
  public static func == (a: Self, b: Self) -> Bool { a.description == b.description }
}
