package import BLEWire

/// A message in the wire format of protocol buffers, whose fields are declared once, by ``fields(_:)``.
///
/// ```swift
/// struct ReadRequest: ProtobufMessage {
///   var address: UInt64 = 0
///   var handle: UInt32 = 0
///   mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure) {
///     try field.uint64(1, &address)
///     try field.uint32(2, &handle)
///   }
/// }
/// ```
package protocol ProtobufMessage: Equatable, Sendable {
  /// The message with the default value in each field.
  init()

  /// Declares the fields once, by ascending number; a ``ProtobufVisitor`` decodes or encodes them.
  mutating func fields<V: ProtobufVisitor>(_ field: inout V) throws(V.Failure)

  /// Decodes a message that fills `bytes`. Unknown fields, and fields with another wire type than the declared one, are
  /// skipped.
  init(decoding bytes: Bytes) throws(ProtobufError)

  /// Appends the octets of the message to `buffer`. Fields with the default value are left out.
  func encode(to buffer: inout [UInt8])
}

// Both are requirements, although the defaults serve every message: a generic call from another module then reaches
// code that the compiler has specialized for the concrete type.
extension ProtobufMessage {
  package init(decoding bytes: Bytes) throws(ProtobufError) {
    self.init()
    var decoder = try ProtobufDecoder(bytes)
    try decoder.decode(&self)
  }

  package func encode(to buffer: inout [UInt8]) {
    var copy = self
    var encoder = ProtobufEncoder(taking: &buffer)
    copy.fields(&encoder)
    encoder.returnBuffer(to: &buffer)
  }

  /// The octets of the message.
  package var encoded: [UInt8] {
    var octets: [UInt8] = []
    encode(to: &octets)
    return octets
  }
}

/// The reason why octets are not a message.
package enum ProtobufError: Error, Equatable, Sendable {
  /// The octets end inside a field.
  case truncated
  /// A number has more than 64 bits.
  case numberTooLong
  /// A field has the number zero or one above 29 bits, or a wire type that this format no longer has (groups) or never
  /// had.
  case invalidTag(UInt64)
  /// A text is not UTF-8.
  case invalidText(field: Int)
}

extension ProtobufError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .truncated: "the octets end inside a field"
    case .numberTooLong: "a number has more than 64 bits"
    case .invalidTag(let tag): "invalid tag 0x\(String(tag, radix: 16))"
    case .invalidText(let field): "the text of field \(field) is not UTF-8"
    }
  }
}

/// An operation on the fields of a message: decoding, encoding, or the values of a test.
package protocol ProtobufVisitor {
  /// The error of the operation: ``ProtobufError`` for decoding, `Never` for the others.
  associatedtype Failure: Error

  /// `uint32`: a number of variable length.
  mutating func uint32(_ number: Int, _ value: inout UInt32) throws(Failure)
  /// `uint64`: a number of variable length.
  mutating func uint64(_ number: Int, _ value: inout UInt64) throws(Failure)
  /// `int32`: a number of variable length, ten octets if it is negative.
  mutating func int32(_ number: Int, _ value: inout Int32) throws(Failure)
  /// `sint32`: a number of variable length, with the sign in the lowest bit.
  mutating func sint32(_ number: Int, _ value: inout Int32) throws(Failure)
  /// `bool`.
  mutating func bool(_ number: Int, _ value: inout Bool) throws(Failure)
  /// `fixed32`: four octets, the least significant one first.
  mutating func fixed32(_ number: Int, _ value: inout UInt32) throws(Failure)
  /// `float`: four octets, the least significant one first.
  mutating func float(_ number: Int, _ value: inout Float) throws(Failure)
  /// `string`: UTF-8.
  mutating func string(_ number: Int, _ value: inout String) throws(Failure)
  /// `bytes`.
  mutating func bytes(_ number: Int, _ value: inout Bytes) throws(Failure)
  /// An enumeration. Unknown values are kept.
  mutating func enumeration<Value: RawRepresentable<UInt32>>(_ number: Int, _ value: inout Value) throws(Failure)
  /// `repeated uint64`, packed.
  mutating func uint64s(_ number: Int, _ values: inout [UInt64]) throws(Failure)
  /// `repeated` messages.
  mutating func messages<Message: ProtobufMessage>(_ number: Int, _ values: inout [Message]) throws(Failure)
}
