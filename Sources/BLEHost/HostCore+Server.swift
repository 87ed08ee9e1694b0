import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLEWire

/// The database, the application's answers, and values on their way to subscribers.
extension HostCore {
  /// Lets the registry do something and applies what it causes.
  mutating func withServices(
    now: Instant, into output: inout HostOutput, _ body: (inout ServiceRegistry, inout [Effect<ServiceEffect>]) -> Void
  ) {
    var effects: [Effect<ServiceEffect>] = []
    body(&services, &effects)
    apply(effects, now: now, into: &output) { core, effect, output in
      switch effect {
      case .changed(let range): core.serviceChanged(range, now: now, into: &output)
      }
    }
  }

  mutating func performService(
    _ command: HostCommand, from owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    withServices(now: now, into: &output) { services, effects in
      switch command {
      case .addService(let definition): services.add(definition, for: owner, into: &effects)
      case .removeService(let id): services.remove(id, of: owner, into: &effects)
      case .setValue(let attribute, let value): services.setValue(attribute, value, from: owner, into: &effects)
      case .setIdentity(let name, let appearance): services.setIdentity(name: name, appearance: appearance)
      default: break
      }
    }
  }

  private mutating func serviceChanged(
    _ range: ClosedRange<AttributeHandle>, now: Instant, into output: inout HostOutput
  ) {
    for index in links.indices {
      links[index].server.serviceChanged(range, database: services.database, now: now, into: &scratch.server)
      // Whoever removed a service knows that its subscribers have gone with it.
      for attribute in links[index].reportedSubscriptions.keys where services.database.handle(of: attribute) == nil {
        links[index].reportedSubscriptions[attribute] = nil
      }
      drainServer(index, now: now, into: &output)
    }
  }

  mutating func respond(
    _ peer: PeerID, _ token: RequestToken, _ answer: RequestAnswer, from owner: OwnerID, now: Instant,
    into output: inout HostOutput
  ) {
    // The link may have ended meanwhile.
    guard let index = index(of: peer) else { return }
    switch links[index].request?.take(answer, to: token, from: owner) {
    case .incomplete: return
    case .complete(let answer):
      links[index].request = nil
      respond(index, token, answer, now: now, into: &output)
    case .unknown, nil:
      output.append(
        .diagnostic(Diagnostic(.application, "a request was answered twice or too late", peer: peer)),
        to: owner.recipient)
    }
  }

  private mutating func respond(
    _ index: Int, _ token: RequestToken, _ answer: RequestAnswer, now: Instant, into output: inout HostOutput
  ) {
    let response: ApplicationResponse =
      switch answer {
      case .success(let value): .value(value[...])
      case .failure(let code, let attribute): .error(code, attribute: attribute)
      }
    let isKnown = links[index].server.respond(
      to: token, with: response, security: links[index].security, database: &services.database, now: now,
      into: &scratch.server)
    if !isKnown {
      report(.application, "a request was answered twice or too late", peer: links[index].peer, into: &output)
    }
    drainServer(index, now: now, into: &output)
  }

  mutating func update(
    _ token: UpdateToken, _ attribute: AttributeID, _ value: [UInt8], to peers: [PeerID]?, from owner: OwnerID,
    now: Instant, into output: inout HostOutput
  ) {
    guard services.accepts(attribute, from: owner) else {
      output.append(.refused(.invalidParameters("\(DatabaseError.unknownAttribute(attribute))")), to: owner.recipient)
      return output.append(.updateFinished(token), to: owner.recipient)
    }
    let limit = configuration.maximumPendingUpdates
    guard updates.begin(token, of: owner, limit: limit) else {
      output.append(.refused(.tooMany("values waiting to be notified", limit: limit)), to: owner.recipient)
      return output.append(.updateFinished(token), to: owner.recipient)
    }
    for index in links.indices where peers?.contains(links[index].peer) ?? true {
      send(token, attribute, value, on: index, now: now, into: &output)
    }
    finishCopy(of: token, into: &output)
  }

  private mutating func send(
    _ token: UpdateToken, _ attribute: AttributeID, _ value: [UInt8], on index: Int, now: Instant,
    into output: inout HostOutput
  ) {
    guard !links[index].isClosing else { return }
    let outcome = links[index].server.sendUpdate(
      of: attribute, value: value.span, security: links[index].security, database: services.database, now: now,
      into: &scratch.server)
    switch outcome {
    case .sent:
      updates.addCopy(of: token)
      // A notification is on its way as soon as it is written; an indication when the client has confirmed it.
      if !links[index].server.subscription(to: attribute, database: services.database).contains(.notify) {
        links[index].indications.append(Link.Indication(attribute: attribute, update: token))
        drainServer(index, now: now, into: &output)
      } else {
        links[index].notifications.append(token)
        drainServer(index, now: now, tag: updates.tag(of: token), into: &output)
      }
    case .queueFull, .bearerFailed:
      report(.peer, "a value was not indicated (\(outcome))", peer: links[index].peer, into: &output)
    case .unknownAttribute:
      report(.application, "\(attribute) is not published, so its value reaches nobody", into: &output)
    case .notSubscribed, .insufficientSecurity: break
    }
  }

  /// One copy of a value has left, or its link has gone.
  mutating func finishCopy(of token: UpdateToken, into output: inout HostOutput) {
    if let owner = updates.finishCopy(of: token) { output.append(.updateFinished(token), to: owner.recipient) }
  }

  /// Frames that the controller has sent.
  mutating func transmitted(_ frames: TransmittedFrames, into output: inout HostOutput) {
    guard let index = index(of: frames.handle), let token = updates.token(of: frames.tag) else { return }
    for _ in 0..<frames.count {
      guard let first = links[index].notifications.firstIndex(of: token) else { return }
      links[index].notifications.remove(at: first)
      finishCopy(of: token, into: &output)
    }
  }

  /// Sends what a link's server wrote and tells the application what it found. `tag` marks the frames.
  mutating func drainServer(_ index: Int, now: Instant, tag: UInt32 = 0, into output: inout HostOutput) {
    guard !scratch.server.pdus.isEmpty || !scratch.server.events.isEmpty else { return }
    var drained = GATTServer.Output()
    swap(&drained, &scratch.server)
    drained.pdus.forEach { pdu in
      // Only the value itself carries the mark, not an answer that was written with it.
      let isValue = tag != 0 && pdu[0] == ATTOpcode.handleValueNotification.rawValue
      transmit(index, .attributeProtocol, pdu, tag: isValue ? tag : 0, into: &output)
    }
    for event in drained.events { tell(event, of: index, into: &output) }
    drained.removeAll()
    swap(&drained, &scratch.server)
    if !closings.isEmpty { endClosings(now: now, into: &output) }
  }

  private mutating func tell(_ event: GATTServer.Event, of index: Int, into output: inout HostOutput) {
    let peer = links[index].peer
    switch event {
    case .read(let token, let attribute, let offset):
      let owner = services.owners.owner(of: attribute) ?? .process
      links[index].request = PendingAnswer(token: token, owners: [owner])
      output.append(.read(peer, token, attribute, offset: offset), to: owner.recipient)
    case .write(let token, let parts, _):
      let shares = services.owners.shares(of: parts)
      if let token { links[index].request = PendingAnswer(token: token, owners: shares.map(\.owner)) }
      for share in shares { output.append(.write(peer, token, share.parts), to: share.owner.recipient) }
    case .stored(let attribute):
      output.append(
        .stored(peer, attribute, services.database.storedValue(of: attribute) ?? []), to: recipient(of: attribute))
    case .subscription(let attribute, let subscription):
      links[index].reportedSubscriptions[attribute] = subscription.isEmpty ? nil : subscription
      output.append(.subscription(peer, attribute, subscription), to: recipient(of: attribute))
      keepRecord(of: links[index], into: &output)
    case .mtuChanged(let mtu):
      links[index].client.mtu = mtu
      output.append(.mtu(peer, mtu))
    case .indicationConfirmed(let attribute):
      indicationEnded(links[index].indications.firstIndex { $0.attribute == attribute }, on: index, into: &output)
    case .indicationDiscarded(let attribute):
      // The first of its attribute may be on the air.
      indicationEnded(links[index].indications.lastIndex { $0.attribute == attribute }, on: index, into: &output)
    case .indicationTimedOut:
      report(.peer, "an indication was not confirmed in 30 seconds: the link is ended", peer: peer, into: &output)
      closings.append(peer)
    case .requestTimedOut(let token):
      let request = links[index].request
      links[index].request = nil
      for owner in request?.owners ?? [] { output.append(.requestTimedOut(peer, token), to: owner.recipient) }
    case .pduDropped:
      report(.peer, "more ATT PDUs than are kept while a request waits: one was dropped", peer: peer, into: &output)
    case .violation(let violation): report(.peer, "\(violation)", peer: peer, into: &output)
    }
  }

  /// Reports the subscriptions that are in force on a link as it is secured now, where that is news: a bonded client's
  /// are restored, and one that demands authentication or authorization waits for them (Vol 3, Part C, 10.3.1).
  mutating func reportSubscriptions(_ index: Int, into output: inout HostOutput) {
    let before = links[index].reportedSubscriptions
    let after = links[index].server.subscriptions(inForceFor: links[index].security, database: services.database)
    guard before != after else { return }
    links[index].reportedSubscriptions = after
    for attribute in Set(before.keys).union(after.keys).sorted(by: { $0.rawValue < $1.rawValue })
    where before[attribute] != after[attribute] {
      output.append(
        .subscription(links[index].peer, attribute, after[attribute] ?? []), to: recipient(of: attribute))
    }
  }

  private mutating func indicationEnded(_ place: Int?, on index: Int, into output: inout HostOutput) {
    guard let place else { return }
    finishCopy(of: links[index].indications.remove(at: place).update, into: &output)
  }
}

/// Values handed over to be notified, and how many copies of each are still on their way.
struct PendingUpdates: Sendable {
  private struct Entry {
    var token: UpdateToken
    var owner: OwnerID
    var copies: Int
  }
  private var entries: [UInt32: Entry] = [:]
  private var tags: [UpdateToken: UInt32] = [:]
  private var lastTag: UInt32 = 0

  /// Takes a value in, with one copy that stands for the handing over itself; false when `limit` are there already.
  mutating func begin(_ token: UpdateToken, of owner: OwnerID, limit: Int) -> Bool {
    guard entries.count < limit, tags[token] == nil else { return false }
    repeat { lastTag = lastTag == .max ? 1 : lastTag + 1 } while entries[lastTag] != nil
    entries[lastTag] = Entry(token: token, owner: owner, copies: 1)
    tags[token] = lastTag
    return true
  }

  mutating func addCopy(of token: UpdateToken) {
    guard let tag = tags[token] else { return }
    entries[tag]?.copies += 1
  }

  /// The owner of the value, where it was the last copy.
  mutating func finishCopy(of token: UpdateToken) -> OwnerID? {
    guard let tag = tags[token], var entry = entries[tag] else { return nil }
    entry.copies -= 1
    guard entry.copies <= 0 else {
      entries[tag] = entry
      return nil
    }
    entries[tag] = nil
    tags[token] = nil
    return entry.owner
  }

  /// The mark of this value's frames in the scheduler; 0 is none.
  func tag(of token: UpdateToken) -> UInt32 { tags[token] ?? 0 }
  func token(of tag: UInt32) -> UpdateToken? { entries[tag]?.token }
}
