public import BLEWire

/// A B-frame: the basic L2CAP header and its payload (Vol 3, Part A, 3.1).
///
/// The length field is not a property: it is always the length of the payload.
public struct BasicFrame: Packet {
  /// The length of the basic header in octets: PDU Length and Channel ID, two octets each.
  public static let headerLength = 4

  /// The channel of the frame.
  public var channel = ChannelID.null
  /// At most 65,535 octets; a longer payload is cut when it is encoded.
  public var payload: Bytes = []

  public init() {}
  /// A frame on the given channel.
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

/// The basic header, decoded and encoded without a copy of the payload (Vol 3, Part A, 3.1).
public struct BasicHeader: Equatable, Sendable {
  /// The length of the payload in octets.
  public var length: UInt16
  /// The channel of the frame.
  public var channel: ChannelID

  /// A header with the given fields.
  public init(length: UInt16, channel: ChannelID) {
    self.length = length
    self.channel = channel
  }

  /// Decodes the header at the start of `frame`.
  ///
  /// - Returns: nil for fewer than four octets.
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

/// The number of an L2CAP channel on one link (Vol 3, Part A, 2.1).
///
/// A fixed channel has the same number on every LE link. Each end chooses the numbers of its dynamic channels.
public struct ChannelID: AssignedNumber, FieldGroup {
  public var rawValue: UInt16 = 0

  public init() {}
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 0x0000: no channel, in the response to a rejected connection request.
  @inlinable public static var null: Self { Self(rawValue: 0x0000) }
  /// 0x0004: the Attribute Protocol.
  @inlinable public static var attributeProtocol: Self { Self(rawValue: 0x0004) }
  /// 0x0005: the LE signalling channel.
  @inlinable public static var signalling: Self { Self(rawValue: 0x0005) }
  /// 0x0006: the Security Manager Protocol.
  @inlinable public static var securityManager: Self { Self(rawValue: 0x0006) }

  /// Whether an LE device may assign the number to a connection-oriented channel: 0x0040 to 0x007F.
  public var isDynamic: Bool { 0x0040...0x007F ~= rawValue }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Channel ID", &rawValue)
  }

  public static let spaceName: StaticString = "CID"
  public static let names: [Self: StaticString] = [
    .null: "Null identifier", .attributeProtocol: "Attribute Protocol", .signalling: "LE signalling channel",
    .securityManager: "Security Manager Protocol",
  ]
}

/// The service of a connection-oriented channel, the port number of L2CAP (Vol 3, Part A, 4.22).
public struct SPSM: AssignedNumber {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 0x0027: Enhanced ATT.
  public static let enhancedATT = Self(rawValue: 0x0027)
  /// The numbers that a device may assign to its own services.
  public static let dynamicRange: ClosedRange<UInt16> = 0x0080...0x00FF

  public static let spaceName: StaticString = "SPSM"
  public static let names: [Self: StaticString] = [.enhancedATT: "EATT"]
}
