import BLEL2CAP
import BLEWire

/// The link has no enhanced ATT bearers.
extension Link {
  func perform(_ effect: BearerEffect, _ context: inout LinkContext) {}

  mutating func respond(_ answer: OwnerAnswer, _ octets: Span<UInt8>, _ context: inout LinkContext) {
    let (now, security) = (context.turn.now, security)
    server.respond(answer, octets, security, &context.services, now: now, into: &context.turn.server)
  }
  mutating func rejectRequests(of owner: OwnerID, _ context: inout LinkContext) {
    let (now, security) = (context.turn.now, security)
    server.rejectRequests(of: owner, security, &context.services, now: now, into: &context.turn.server)
  }
  func sendBearerFrames(_ turn: inout LinkTurn) {}
}

extension LinkSignalling {
  static let maximumBearers = 0

  func answerBearers(
    _ request: CreditBasedChannels.Request, _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn
  ) {}
}
