public import BLEWire

/// A B-frame: the basic L2CAP header and what it carries (Vol 3, Part A, 3.1).
///
/// The length field is not stored: it always is the length of the payload.
public struct BasicFrame: Packet {
  /// Octets of the basic header: a length of two, a channel of two.
  public static let headerLength = 4

  public var channel = ChannelID.null
  /// At most 65,535 octets; what goes past them is cut on the way out.
  public var payload: Bytes = []

  public init() {}
  public init(channel: ChannelID, payload: Bytes) {
    self.channel = channel
    self.payload = payload
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    var length = UInt16(clamping: payload.count)
    try field.integer("PDU Length", &length)
    try field.value("Channel ID", &channel)
    try field.octets("Information Payload", count: Int(length), &payload)
  }
}

/// The basic header, read and written in place on the path that every ATT PDU takes (Vol 3, Part A, 3.1).
public struct BasicHeader: Equatable, Sendable {
  /// Octets of payload.
  public var length: UInt16
  public var channel: ChannelID

  public init(length: UInt16, channel: ChannelID) {
    self.length = length
    self.channel = channel
  }

  /// Reads the header at the front of `frame`; nil where fewer than four octets are there.
  public init?(_ frame: Span<UInt8>) {
    guard let length = frame.uint16(at: 0), let channel = frame.uint16(at: 2) else { return nil }
    self.init(length: length, channel: ChannelID(rawValue: channel))
  }

  /// Appends the four octets.
  public func encode(to buffer: inout [UInt8]) {
    buffer.append(littleEndian: length)
    buffer.append(littleEndian: channel.rawValue)
  }
}
