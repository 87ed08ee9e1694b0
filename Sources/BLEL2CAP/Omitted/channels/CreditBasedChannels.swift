import BLEWire

/// The link has no credit-based channels.
public struct CreditBasedChannels: Sendable {
  public var services: Set<SPSM> {
    get { [] }
    set {}
  }
  package var packetLength: Int {
    get { 0 }
    set {}
  }

  public init(limits: Limits = Limits()) {}

  public subscript(channel: ChannelID) -> CreditBasedChannel? { nil }
  public var count: Int { 0 }
  public var canSendFrame: Bool { false }
  var deadline: Instant? { nil }
}
