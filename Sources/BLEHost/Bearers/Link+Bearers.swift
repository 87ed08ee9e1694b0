import BLEATT
import BLEGATT
import BLEL2CAP
import BLEWire

/// Enhanced ATT bearers: channels of the link that its server and its client use.
extension Link {
  mutating func perform(_ effect: BearerEffect, _ context: inout LinkContext) {
    context.turn.usesClient = true
    let security = security
    switch effect {
    case .open(let count): signalling.openBearers(count, &context.turn)
    case .opened(let channels):
      for channel in channels {
        guard let mtu = signalling.bearerMTU(channel) else { continue }
        server.bearers.add(channel, mtu: mtu)
        client.bearers.add(channel, mtu: mtu)
      }
    case .resized(let channels):
      for channel in channels {
        guard let mtu = signalling.bearerMTU(channel) else { continue }
        server.bearers.setMTU(mtu, of: channel)
        client.bearers.setMTU(mtu, of: channel)
      }
    case .received(let channel, let pdu):
      receive(pdu, on: channel, &context)
      signalling.channel.didRead(channel, into: &context.turn.signalling)
    case .closed(let channel):
      server.bearers.remove(channel)
      client.bearerClosed(channel, now: context.turn.now, into: &context.turn.client)
    case .close(let channel, let reason): closeBearer(channel, reason, &context.turn)
    case .tick:
      for channel in server.bearers.due(context.turn.now) {
        server.serve(channel, &context) { server, context in
          server.tick(security, &context.services, now: context.turn.now, into: &context.turn.server)
        }
      }
    }
  }

  /// Takes one ATT PDU; its opcode says for which half it is. One that exceeds the ATT_MTU of the bearer ends the
  /// bearer.
  private mutating func receive(_ pdu: [UInt8], on channel: ChannelID, _ context: inout LinkContext) {
    guard let opcode = pdu.first, let mtu = signalling.bearerMTU(channel) else { return }
    if pdu.count > mtu {
      closeBearer(channel, "a PDU of \(pdu.count) octets exceeds the ATT_MTU of \(mtu)", &context.turn)
    } else if ATTOpcode(rawValue: opcode).isSentByServer {
      client.receive(pdu.span, on: channel, now: context.turn.now, into: &context.turn.client)
    } else {
      let security = security
      server.serve(channel, &context) { server, context in
        let now = context.turn.now
        server.receive(pdu.span, security, &context.services, now: now, into: &context.turn.server)
      }
    }
  }

  private mutating func closeBearer(_ channel: ChannelID, _ reason: String, _ turn: inout LinkTurn) {
    turn.effects.append(.report(.peer, "an enhanced ATT bearer is closed: \(reason)", peer: peer))
    signalling.closeBearer(channel, &turn)
  }

  /// Takes the answer of one owner to a request, on the bearer that the request came on.
  ///
  /// - Parameter octets: the value, where the answer has an empty one.
  mutating func respond(_ answer: OwnerAnswer, _ octets: Span<UInt8>, _ context: inout LinkContext) {
    let (now, security) = (context.turn.now, security)
    guard let channel = server.bearers.channel(of: answer.token) else {
      return server.respond(
        answer, octets, security, &context.services, now: now, into: &context.turn.server)
    }
    server.serve(channel, &context) { server, context in
      server.respond(answer, octets, security, &context.services, now: now, into: &context.turn.server)
    }
  }

  /// Answers the requests that wait for an owner that detaches.
  mutating func rejectRequests(of owner: OwnerID, _ context: inout LinkContext) {
    let (now, security) = (context.turn.now, security)
    server.rejectRequests(of: owner, security, &context.services, now: now, into: &context.turn.server)
    for channel in server.bearers.channels(awaiting: owner) {
      server.serve(channel, &context) { server, context in
        server.rejectRequests(of: owner, security, &context.services, now: now, into: &context.turn.server)
      }
    }
  }

  /// Hands the PDUs of the bearers to their channels. A bearer whose peer takes none is closed.
  mutating func sendBearerFrames(_ turn: inout LinkTurn) {
    let frames = turn.bearerFrames + turn.client.frames
    (turn.bearerFrames, turn.client.frames) = ([], [])
    for frame in frames {
      do throws(CreditBasedChannel.SendRefusal) {
        try signalling.channel.channels.send(frame.pdu, on: frame.channel)
        turn.hasChannelFrames = true
      } catch .notOpen {
        continue
      } catch {
        closeBearer(frame.channel, "\(error)", &turn)
      }
    }
  }
}

/// The channels of the bearers.
extension LinkSignalling {
  /// The bearers of a link, requested by either end.
  static let maximumBearers = 5

  /// What we accept on each bearer: an ATT_MTU as on the first one.
  private static let bearerParameters = CreditBasedChannel.Parameters(
    mtu: UInt16(ATT.maximumMTU), mps: 247, initialCredits: 8)

  /// The ATT_MTU of a bearer: the smaller MTU of its channel (Vol 3, Part F, 3.2.8), as the request for the channel,
  /// its response, and the latest reconfiguration have it (Part G, 5.3.1).
  func bearerMTU(_ number: ChannelID) -> Int? {
    channel.channels[number].map { Int(min($0.local.mtu, $0.remote.mtu)) }
  }

  mutating func openBearers(_ count: Int, _ turn: inout LinkTurn) {
    let free = min(count, Self.maximumBearers - channels.bearers.count)
    guard free > 0 else { return }
    let opening = SignallingChannel.ChannelOpening(
      spsm: .enhancedATT, mode: .enhancedCreditBased, count: free, local: Self.bearerParameters)
    // Without them the first bearer does it all.
    try? channel.open(opening, .bearers, now: turn.now, into: &turn.signalling)
  }

  /// Answers a request of the peer: enhanced flow control and an encrypted link (Vol 3, Part G, 5.3.2), not too many,
  /// and ascending channel numbers: Linux (6.12 to 7.3) puts the channel that it made last first, and gives the numbers
  /// of the response to its channels in the order of their making, so that each would receive what is for another one.
  mutating func answerBearers(
    _ request: CreditBasedChannels.Request, _ facts: ChannelOpenings.Facts, _ turn: inout LinkTurn
  ) {
    let security = facts.security
    let refusal: CreditBasedConnectionResult? =
      if request.mode != .enhancedCreditBased {
        .spsmNotSupported
      } else if facts.reconnection != .none || security.level == .none {
        security.isBonded ? .insufficientEncryption : .insufficientAuthentication
      } else if channels.bearers.count + request.count > Self.maximumBearers {
        .noResources
      } else {
        request.isAscending ? nil : .noResources
      }
    if let refusal { return channel.reject(request, refusal, into: &turn.signalling) }
    var found: [SignallingChannel.Effect] = []
    channel.accept(request, Self.bearerParameters, into: &turn.signalling, effects: &found)
    for case .channel(.opened(let opened, nil)) in found { channels.addBearers(opened, &turn) }
  }

  mutating func closeBearer(_ number: ChannelID, _ turn: inout LinkTurn) {
    var found: [SignallingChannel.Effect] = []
    channel.close(number, now: turn.now, into: &turn.signalling, effects: &found)
    channels.bearerClosed(number, &turn)
  }
}

extension CreditBasedChannels.OpenID {
  /// The request for enhanced ATT bearers.
  static let bearers = Self(rawValue: .max)
}
