import BLEGATT
import BLEHCI
import BLEL2CAP
import BLEWire

/// The credit-based channels of one link and their owners (Vol 3, Part A, 4.22 to 4.28 and 10).
///
/// ``LinkSignalling`` lends it the signalling channel, which performs the protocol. Here each channel has an owner and
/// a name that is not used again; the services of the host answer requests of the peer, as the security of the link
/// permits.
struct LinkChannels: Sendable {
  typealias Facts = ChannelOpenings.Facts

  /// An open channel.
  private struct Entry {
    let id: L2CAPChannelID
    let owner: OwnerID
    let isIncoming: Bool
    /// Whether the service or the request demanded security.
    let isSecured: Bool
    /// The MTU of the peer that was reported, in octets.
    var remoteMTU: UInt16
    /// The octets of SDUs that have left the queue and were not reported.
    var sent = 0
  }

  private let peer: LinkID
  private var entries: [ChannelID: Entry] = [:]
  private var numbers: [L2CAPChannelID: ChannelID] = [:]
  /// The channels that are enhanced ATT bearers.
  private(set) var bearers: Set<ChannelID> = []
  /// The requests of the owners.
  var openings = ChannelOpenings()

  init(peer: LinkID) { self.peer = peer }

  /// Answers a request of the peer.
  ///
  /// - Parameters:
  ///   - listener: the service, where there still is one.
  ///   - ids: names for the channels of the request.
  mutating func answer(
    _ request: CreditBasedChannels.Request, _ listener: ChannelServices.Listener?, as ids: [L2CAPChannelID],
    _ facts: Facts, _ signalling: inout SignallingChannel, _ turn: inout LinkTurn
  ) {
    var (found, unused) = ([SignallingChannel.Effect](), ids[...])
    if let listener, let refusal = refusal(of: listener.service.requirement, facts) {
      signalling.reject(request, refusal, into: &turn.signalling)
    } else if let listener {
      signalling.accept(request, listener.service.parameters, into: &turn.signalling, effects: &found)
      for case .channel(.opened(let opened, nil)) in found {
        for number in opened {
          guard let id = unused.popFirst() else { continue }
          let entry = Entry(
            id: id, owner: listener.owner, isIncoming: true, isSecured: listener.service.requirement.security > .none,
            remoteMTU: request.remote.mtu)
          add(number, entry, nil, signalling, &turn)
        }
      }
    } else {
      signalling.reject(request, .spsmNotSupported, into: &turn.signalling)
    }
    for id in unused { turn.effects.append(.own(.channel(.ended(id)))) }
  }

  /// The result for a link that does not meet the requirement of a service; nil where it does (Vol 3, Part C,
  /// 10.3.1.1).
  private func refusal(of requirement: AccessRequirement, _ facts: Facts) -> CreditBasedConnectionResult? {
    // A peripheral that has not proven its bond is not the one that the application knows.
    guard facts.reconnection == .none else { return .insufficientEncryption }
    let security = facts.security
    if requirement.security > .none, security.level == .none {
      return security.isBonded ? .insufficientEncryption : .insufficientAuthentication
    }
    if security.level < requirement.security { return .insufficientAuthentication }
    if requirement.security > .none, security.keySize < requirement.minimumKeySize { return .encryptionKeySizeTooShort }
    return requirement.authorization && !security.isAuthorized ? .insufficientAuthorization : nil
  }

  private mutating func add(
    _ number: ChannelID, _ entry: Entry, _ request: OpenChannelID?, _ signalling: SignallingChannel,
    _ turn: inout LinkTurn
  ) {
    guard let channel = signalling.channels[number] else { return }
    (entries[number], numbers[entry.id]) = (entry, number)
    let opened = OpenedChannel(
      id: entry.id, peer: peer, spsm: channel.spsm, isIncoming: entry.isIncoming, request: request,
      localMTU: Int(channel.local.mtu), remoteMTU: Int(channel.remote.mtu), remoteMPS: Int(channel.remote.mps))
    turn.effects.append(.event(.channels(.opened(opened)), to: entry.owner.recipient))
  }
}

/// What the protocol reports.
extension LinkChannels {
  mutating func receive(
    _ effect: CreditBasedChannels.Effect, _ facts: Facts, _ signalling: inout SignallingChannel,
    _ turn: inout LinkTurn
  ) {
    switch effect {
    case .opened(let opened, .bearers?) where facts.security.level == .none:
      // The pairing has failed since the request.
      close(opened, &signalling, &turn)
    case .opened(let opened, .bearers?): addBearers(opened, &turn)
    case .received(let number, let pdu) where bearers.contains(number):
      turn.effects.append(.own(.bearer(.received(number, pdu))))
    case .closed(let number, _) where bearers.contains(number): bearerClosed(number, &turn)
    case .requested(let request): turn.effects.append(.own(.channel(.requested(request))))
    case .opened(let opened, let request?): self.opened(opened, by: request, facts, &signalling, &turn)
    case .openFailed(let request, let failure): openings.failed(request, failure, facts, &turn)
    case .received(let number, let sdu):
      guard let entry = entries[number] else { return }
      turn.effects.append(.event(.channel(entry.id, .received(sdu)), to: entry.owner.recipient))
    case .closed(let number, let reason): closed(number, ChannelCloseReason(reason), &turn)
    case .reconfigured(let numbers): resized(numbers, signalling, &turn)
    // An incoming channel is added by the answer to its request.
    case .opened(_, nil), .canSend, .reconfigurationFailed: break
    }
  }

  /// Reports the MTU of the peer if it has changed. Bearers follow the MTU of their channels.
  private mutating func resized(_ numbers: [ChannelID], _ signalling: SignallingChannel, _ turn: inout LinkTurn) {
    let resized = numbers.filter(bearers.contains)
    if !resized.isEmpty { turn.effects.append(.own(.bearer(.resized(resized)))) }
    for number in numbers {
      guard let entry = entries[number], let mtu = signalling.channels[number]?.remote.mtu, mtu != entry.remoteMTU
      else { continue }
      entries[number]?.remoteMTU = mtu
      turn.effects.append(.event(.channel(entry.id, .resized(remoteMTU: Int(mtu))), to: entry.owner.recipient))
    }
  }

  private mutating func opened(
    _ opened: [ChannelID], by request: CreditBasedChannels.OpenID, _ facts: Facts,
    _ signalling: inout SignallingChannel, _ turn: inout LinkTurn
  ) {
    guard let opening = openings.take(request, facts, &turn), let number = opened.first else {
      return close(opened, &signalling, &turn)
    }
    let mtu = signalling.channels[number]?.remote.mtu ?? 0
    let entry = Entry(
      id: opening.channel, owner: opening.owner, isIncoming: false, isSecured: opening.request.demand != nil,
      remoteMTU: mtu)
    add(number, entry, opening.id, signalling, &turn)
  }

  private mutating func closed(_ number: ChannelID, _ reason: ChannelCloseReason, _ turn: inout LinkTurn) {
    guard let entry = entries.removeValue(forKey: number) else { return }
    numbers[entry.id] = nil
    turn.effects.append(.event(.channel(entry.id, .closed(reason)), to: entry.owner.recipient))
    turn.effects.append(.own(.channel(.ended(entry.id))))
    if case .violation(let violation) = reason {
      turn.effects.append(.report(.peer, "an L2CAP channel is closed: \(violation)", peer: peer))
    }
  }

  mutating func addBearers(_ opened: [ChannelID], _ turn: inout LinkTurn) {
    bearers.formUnion(opened)
    turn.effects.append(.own(.bearer(.opened(opened))))
  }

  mutating func bearerClosed(_ number: ChannelID, _ turn: inout LinkTurn) {
    guard bearers.remove(number) != nil else { return }
    turn.effects.append(.own(.bearer(.closed(number))))
  }

  /// The link has ended, and with it every channel and every request.
  mutating func linkEnded(_ reason: HCIErrorCode, _ turn: inout LinkTurn) {
    for number in entries.keys.sorted(by: { $0.rawValue < $1.rawValue }) { closed(number, .linkEnded(reason), &turn) }
    openings.linkEnded(&turn)
  }
}

/// Commands of owners.
extension LinkChannels {
  /// Performs a command about one channel, of its owner.
  mutating func perform(
    _ command: HostCommand.Channel, on id: L2CAPChannelID, from owner: OwnerID, _ signalling: inout SignallingChannel,
    _ turn: inout LinkTurn
  ) {
    guard let number = number(of: id, owner) else { return }
    switch command {
    case .send(let sdu):
      do throws(CreditBasedChannel.SendRefusal) {
        try signalling.channels.send(sdu, on: number)
        turn.hasChannelFrames = true
      } catch {
        turn.effects.append(.event(.refused(.invalidParameters("\(error)")), to: owner.recipient))
      }
    case .didRead: signalling.didRead(number, into: &turn.signalling)
    case .close: close([number], &signalling, &turn)
    }
  }

  private func number(of id: L2CAPChannelID, _ owner: OwnerID) -> ChannelID? {
    numbers[id].flatMap { entries[$0]?.owner == owner ? $0 : nil }
  }

  /// Closes the channels of a service that is no longer offered.
  mutating func stopListening(_ spsm: SPSM, _ signalling: inout SignallingChannel, _ turn: inout LinkTurn) {
    close(entries.filter { $1.isIncoming && signalling.channels[$0]?.spsm == spsm }.map { $0.key }, &signalling, &turn)
  }

  /// Closes the channels of an owner, and withdraws its requests.
  mutating func detach(_ owner: OwnerID, _ signalling: inout SignallingChannel, _ turn: inout LinkTurn) {
    close(entries.filter { $1.owner == owner }.map { $0.key }, &signalling, &turn)
    openings.detach(owner, &turn)
  }

  /// The link counts as unencrypted: the channels that demanded security end.
  mutating func keyRevoked(_ signalling: inout SignallingChannel, _ turn: inout LinkTurn) {
    close(entries.filter { $0.value.isSecured }.map { $0.key }, as: .keyRevoked, &signalling, &turn)
  }

  private mutating func close(
    _ closing: [ChannelID], as reason: ChannelCloseReason = .local, _ signalling: inout SignallingChannel,
    _ turn: inout LinkTurn
  ) {
    var found: [SignallingChannel.Effect] = []
    for number in closing.sorted(by: { $0.rawValue < $1.rawValue }) {
      signalling.close(number, now: turn.now, into: &turn.signalling, effects: &found)
      closed(number, reason, &turn)
    }
  }
}

/// Frames towards the controller.
extension LinkChannels {
  /// Takes the next frame: its channel number at the peer, and the payload.
  mutating func nextFrame(_ signalling: inout SignallingChannel) -> (channel: ChannelID, payload: [UInt8])? {
    var effects: [CreditBasedChannels.Effect] = []
    guard let frame = signalling.channels.nextFrame(effects: &effects) else { return nil }
    entries[frame.local]?.sent += frame.octets
    return (frame.channel, frame.payload)
  }

  /// The events that report the octets that have left the queues.
  mutating func takeSent() -> [AddressedEvent<HostEvent>] {
    var events: [AddressedEvent<HostEvent>] = []
    for number in entries.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let entry = entries[number], entry.sent > 0 else { continue }
      entries[number]?.sent = 0
      events.append(AddressedEvent(.channel(entry.id, .sent(octets: entry.sent)), to: entry.owner.recipient))
    }
    return events
  }
}

extension ChannelCloseReason {
  fileprivate init(_ reason: CreditBasedChannels.CloseReason) {
    switch reason {
    case .local: self = .local
    case .peer: self = .peer
    case .violation(let violation): self = .violation(violation)
    case .duplicateCID: self = .duplicateCID
    // LinkChannels closes the channels of a link itself, with the reason.
    case .linkEnded: self = .linkEnded(.unspecifiedError)
    }
  }
}
