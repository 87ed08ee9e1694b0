import BLEL2CAP
import BLEWire

/// The signalling channel of a link without credit-based channels.
extension LinkSignalling {
  mutating func receive(_ pdu: Span<UInt8>, _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn) {
    _ = receive(pdu, now: turn.now, into: &turn.signalling, &turn.effects)
  }
  mutating func tick(_ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn) {
    _ = tick(now: turn.now, into: &turn.effects)
  }
  func receive(
    _ payload: Span<UInt8>, on number: ChannelID, _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn
  ) {}

  func perform(
    _ command: HostCommand.Channel, on id: L2CAPChannelID, from owner: OwnerID, _ turn: inout LinkTurn
  ) {}
  func open(_ opening: ChannelOpenings.Opening, _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn) {
    let error = HostError.unsupported("credit-based channels")
    turn.effects.append(.event(.channels(.openFailed(opening.id, error)), to: opening.owner.recipient))
  }
  func answer(
    _ request: CreditBasedChannels.Request, by listener: ChannelServices.Listener?, as names: [L2CAPChannelID],
    _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn
  ) {}
  func setServices(_ numbers: Set<SPSM>) {}
  func stopListening(_ number: SPSM, _ turn: inout LinkTurn) {}
  func detach(_ owner: OwnerID, _ turn: inout LinkTurn) {}
  func resume(_ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn) {}
  func keyRevoked(_ turn: inout LinkTurn) {}
  var hasFrames: Bool { false }
  func nextFrame() -> (channel: ChannelID, payload: [UInt8])? { nil }
}
