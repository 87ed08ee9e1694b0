public import BLEWire

/// The number of an L2CAP channel on one link (Vol 3, Part A, 2.1).
///
/// A fixed channel has the same number on every LE link; a dynamic one is chosen by each end for itself.
public struct ChannelID: RawRepresentable, FieldGroup, Hashable {
  public var rawValue: UInt16 = 0

  public init() {}
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// No channel: what a refused connection request is answered with.
  public static let null = Self(rawValue: 0x0000)
  /// ATT.
  public static let attributeProtocol = Self(rawValue: 0x0004)
  /// The LE signalling channel.
  public static let signalling = Self(rawValue: 0x0005)
  /// SMP.
  public static let securityManager = Self(rawValue: 0x0006)

  /// Whether it is a number that an LE device gives to a connection oriented channel (0x0040 to 0x007F).
  public var isDynamic: Bool { 0x0040...0x007F ~= rawValue }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Channel ID", &rawValue)
  }
}

extension ChannelID: CustomStringConvertible {
  public var description: String {
    switch self {
    case .attributeProtocol: "ATT"
    case .signalling: "LE signalling"
    case .securityManager: "SMP"
    default: "CID 0x" + String(rawValue, radix: 16, uppercase: true)
    }
  }
}

/// What a connection oriented channel is for: the port of L2CAP (Vol 3, Part A, 4.22).
public struct SPSM: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Enhanced ATT.
  public static let enhancedATT = Self(rawValue: 0x0027)
  /// The numbers that a device may hand out for services of its own.
  public static let dynamicRange: ClosedRange<UInt16> = 0x0080...0x00FF
}
