public import BLEWire

/// The link has no credit-based channels.
extension SignallingChannel {
  mutating func tickChannels(now: Instant, _ effects: inout [Effect]) {}

  public func receive(
    _ payload: Span<UInt8>, on number: ChannelID, now: Instant, into out: inout PacketBuffer,
    effects: inout [Effect]
  ) {}

  /// The number of a new request; there is one at most.
  mutating func takeIdentifier() -> UInt8? {
    lastIdentifier = lastIdentifier == .max ? 1 : lastIdentifier + 1
    return lastIdentifier
  }
}
