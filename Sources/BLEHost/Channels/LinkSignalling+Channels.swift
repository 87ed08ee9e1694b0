import BLEL2CAP
import BLEWire

/// The signalling channel and the credit-based channels, which share its identifiers.
extension LinkSignalling {
  /// Takes one PDU of the signalling channel.
  mutating func receive(_ pdu: Span<UInt8>, _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn) {
    perform(receive(pdu, now: turn.now, into: &turn.signalling, &turn.effects), facts, &turn)
  }

  /// Takes one frame of a dynamic channel. One on a channel that is not open is ignored (Vol 3, Part A, 2.1).
  mutating func receive(
    _ payload: Span<UInt8>, on number: ChannelID, _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn
  ) {
    guard number.isDynamic else { return }
    var found: [SignallingChannel.Effect] = []
    channel.receive(payload, on: number, now: turn.now, into: &turn.signalling, effects: &found)
    for case .channel(let effect) in found { channels.receive(effect, facts, &channel, &turn) }
  }

  mutating func tick(_ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn) {
    perform(tick(now: turn.now, into: &turn.effects), facts, &turn)
    channels.openings.tick(&turn)
  }

  private mutating func perform(
    _ found: [CreditBasedChannels.Effect], _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn
  ) {
    for effect in found { channels.receive(effect, facts, &channel, &turn) }
    if channel.channels.canSendFrame { turn.hasChannelFrames = true }
  }

  /// Performs a command about one channel, of its owner.
  mutating func perform(
    _ command: HostCommand.Channel, on id: L2CAPChannelID, from owner: OwnerID, _ turn: inout LinkTurn
  ) {
    channels.perform(command, on: id, from: owner, &channel, &turn)
  }

  mutating func open(_ opening: ChannelOpenings.Opening, _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn) {
    var opening = opening
    opening.request.parameters = effective(opening.request.parameters)
    channels.openings.open(opening, facts, &channel, &turn)
  }

  /// Answers a request of the peer for channels.
  mutating func answer(
    _ request: CreditBasedChannels.Request, by listener: ChannelServices.Listener?, as names: [L2CAPChannelID],
    _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn
  ) {
    var listener = listener
    if let parameters = listener?.service.parameters { listener?.service.parameters = effective(parameters) }
    channels.answer(request, listener, as: names, facts, &channel, &turn)
  }

  /// Parameters for this link: a frame that ends at the kernel has a whole SDU.
  func effective(_ parameters: CreditBasedChannel.Parameters) -> CreditBasedChannel.Parameters {
    guard framesEndAtKernel else { return parameters }
    var parameters = parameters
    // With the SDU Length; 65,533 octets at most (Vol 3, Part A, 4.22).
    parameters.mps = max(parameters.mps, UInt16(min(Int(parameters.mtu) + 2, 65_533)))
    parameters.initialCredits = min(parameters.initialCredits, Self.creditsForWholeSDUs)
    return parameters
  }

  /// The credits for frames that have whole SDUs: they limit the memory of SDUs that are not read.
  private static let creditsForWholeSDUs: UInt16 = 16

  /// The peer may open channels to these services, and to enhanced ATT where it is enabled.
  mutating func setServices(_ numbers: Set<SPSM>) {
    channel.channels.services = allowsBearers ? numbers.union([.enhancedATT]) : numbers
  }

  mutating func stopListening(_ number: SPSM, _ turn: inout LinkTurn) {
    channels.stopListening(number, &channel, &turn)
  }

  mutating func detach(_ owner: OwnerID, _ turn: inout LinkTurn) { channels.detach(owner, &channel, &turn) }

  /// The link is encrypted: requests that waited are sent.
  mutating func resume(_ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn) {
    channels.openings.resume(facts, &channel, &turn)
  }

  /// The pairing whose key encrypts the link has failed: what needs encryption ends.
  mutating func keyRevoked(_ turn: inout LinkTurn) {
    for number in channels.bearers.sorted(by: { $0.rawValue < $1.rawValue }) {
      turn.effects.append(.own(.bearer(.close(number, "\(ChannelCloseReason.keyRevoked)"))))
    }
    channels.keyRevoked(&channel, &turn)
  }

  /// Whether a channel has a frame to send and a credit for it.
  var hasFrames: Bool { channel.channels.canSendFrame }

  mutating func nextFrame() -> (channel: ChannelID, payload: [UInt8])? { channels.nextFrame(&channel) }
}
