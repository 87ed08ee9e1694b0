/// A packet whose fields are declared once, in wire order, by ``FieldGroup/layout(_:)``.
///
/// ```swift
/// /// ATT_READ_REQ: Vol 3, Part F, 3.4.4.3.
/// struct ReadRequest: Packet {
///   var handle: UInt16 = 0
///   mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
///     try field.integer("Attribute Handle", &handle)
///   }
/// }
/// let request = try ReadRequest(decoding: [0x03, 0x00])
/// ```
public protocol Packet: FieldGroup {
  /// Reads a packet that fills `bytes` exactly.
  ///
  /// - Throws: ``CodecError`` where the octets end early, hold a forbidden value, or go on behind the last field.
  init(decoding bytes: Bytes) throws(CodecError)

  /// Appends the octets of the packet to `buffer`.
  func encode(to buffer: inout [UInt8])
}

// Both are requirements, though the defaults serve every packet: a call on `any Packet` then reaches code that the compiler
// has specialised for the type behind it.
extension Packet {
  @inlinable public init(decoding bytes: Bytes) throws(CodecError) {
    self.init()
    var decoder = Decoder(bytes)
    try layout(&decoder)
    guard decoder.remaining.isEmpty else { throw .trailing(count: decoder.remaining.count) }
  }

  /// Reads a packet from the front of `bytes` and leaves what follows it.
  @inlinable public init(decodingPrefixOf bytes: inout Bytes) throws(CodecError) {
    self.init()
    var decoder = Decoder(bytes)
    try layout(&decoder)
    bytes = decoder.remaining
  }

  @inlinable public func encode(to buffer: inout [UInt8]) {
    var copy = self
    var encoder = Encoder(taking: &buffer)
    copy.layout(&encoder)
    encoder.give(back: &buffer)
  }

  /// The packet as octets.
  @inlinable public var encoded: [UInt8] {
    var buffer: [UInt8] = []
    encode(to: &buffer)
    return buffer
  }

  /// One line a field: where it lies, its name, its value.
  public var fieldLines: [String] {
    var copy = self
    var describer = Describer()
    copy.layout(&describer)
    return describer.lines
  }

  /// A packet with every field drawn from `source`; for tests.
  public static func random(from source: inout some RandomNumberGenerator) -> Self {
    var packet = Self()
    var filler = RandomFiller(source)
    packet.layout(&filler)
    source = filler.source
    return packet
  }
}
