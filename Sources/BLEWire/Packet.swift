/// A packet whose fields are declared once, in wire order, by ``FieldGroup/layout(_:)``.
///
/// ```swift
/// /// ATT_READ_REQ (Vol 3, Part F, 3.4.4.3).
/// struct ReadRequest: Packet {
///   var handle: UInt16 = 0
///   mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
///     try field.integer("Attribute Handle", &handle)
///   }
/// }
/// let request = try ReadRequest(decoding: [0x03, 0x00])
/// ```
public protocol Packet: FieldGroup {
  /// Decodes a packet that fills `bytes` exactly.
  ///
  /// - Throws: ``CodecError`` if the octets end early, contain a forbidden value, or continue after the last field.
  init(decoding bytes: Bytes) throws(CodecError)

  /// Appends the octets of the packet to `buffer`.
  func encode(to buffer: inout [UInt8])
}

// Both are requirements, although the defaults serve every packet: a call on `any Packet` then reaches code that the
// compiler has specialized for the concrete type.
extension Packet {
  @inlinable public init(decoding bytes: Bytes) throws(CodecError) {
    self.init()
    var decoder = PacketDecoder(bytes)
    try layout(&decoder)
    guard decoder.remaining.isEmpty else { throw .trailing(count: decoder.remaining.count) }
  }

  /// Decodes a packet from the front of `bytes` and removes its octets there.
  ///
  /// - Throws: ``CodecError`` if the octets end early or contain a forbidden value.
  @inlinable public init(decodingPrefixOf bytes: inout Bytes) throws(CodecError) {
    self.init()
    var decoder = PacketDecoder(bytes)
    try layout(&decoder)
    bytes = decoder.remaining
  }

  @inlinable public func encode(to buffer: inout [UInt8]) {
    var copy = self
    var encoder = PacketEncoder(taking: &buffer)
    copy.layout(&encoder)
    encoder.returnBuffer(to: &buffer)
  }

  /// The octets of the packet.
  @inlinable public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    encode(to: &buffer)
    return buffer
  }

  /// One line for each field: its octets, its name, its value.
  public var fieldLines: [String] {
    var copy = self
    var describer = Describer()
    copy.layout(&describer)
    return describer.lines
  }

  /// A packet with random values in every field, for tests.
  public static func random(from source: inout some RandomNumberGenerator) -> Self {
    var packet = Self()
    var filler = RandomFiller(source)
    packet.layout(&filler)
    source = filler.source
    return packet
  }
}

/// The reason why octets are not the expected packet.
public enum CodecError: Error, Equatable, Sendable {
  /// The octets end inside this field.
  case truncated(field: FieldName)
  /// The octets of this field have a value that the specification does not allow.
  case invalid(field: FieldName)
  /// This number of octets follows the last field.
  case trailing(count: Int)
}

extension CodecError: CustomStringConvertible {
  /// The field at fault and the reason: `truncated in the field 'Attribute Handle'`.
  public var description: String {
    switch self {
    case .truncated(let field): "truncated in the field '\(field)'"
    case .invalid(let field): "the field '\(field)' has a value that the specification does not allow"
    case .trailing(let count): "\(count) \(count == 1 ? "octet" : "octets") after the last field"
    }
  }
}

/// The name of a field in the specification's spelling.
public struct FieldName: Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  @usableFromInline let literal: StaticString

  /// A name written in the source.
  @inlinable public init(stringLiteral value: StaticString) { literal = value }

  /// The name.
  public var description: String { "\(literal)" }
}

extension FieldName: Equatable {
  /// Whether both names are spelled alike.
  public static func == (a: Self, b: Self) -> Bool { a.description.utf8.elementsEqual(b.description.utf8) }
}
