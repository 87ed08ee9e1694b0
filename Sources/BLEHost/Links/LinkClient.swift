import BLEATT
import BLEGATT
import BLEL2CAP
import BLEWire

extension GATTClient.OperationID {
  /// The one operation that the stack requests itself: the MTU exchange of a central.
  static let stack = Self(rawValue: .max)
}

/// The GATT client of one link: the operations of its owners, and what waits until the link is encrypted or secured.
///
/// Our central encrypts the link to a bonded peripheral before its client sends or accepts anything. A central that
/// reads first accepts the values of any device with the peripheral's address (BLESA, CVE-2020-9770; Vol 3, Part C,
/// 10.3.2).
struct LinkClient: Sendable {
  /// What one input writes and causes; the memory is reused.
  struct Output: Sendable {
    /// PDUs for the server, which are sent first.
    var gatt = GATTClient.Output()
    /// PDUs for enhanced bearers.
    var frames: [BearerFrame] = []
    var effects: [Effect<LinkEffect>] = []

    var isEmpty: Bool { gatt.pdus.isEmpty && frames.isEmpty && effects.isEmpty }

    mutating func removeAll() {
      gatt.removeAll()
      frames = []
      effects.removeAll(keepingCapacity: true)
    }
  }

  private let peer: LinkID
  private let maximumMTU: UInt16
  private(set) var state = LinkClientState()
  /// The bearers besides that of ``gatt``.
  var bearers = ClientBearers()
  /// The owners that connected the link or operate on it, as a central: they receive what the peer's server sends
  /// without a request.
  private(set) var users: [OwnerID]
  private(set) var reconnection = Reconnection.none
  /// Whether nothing is sent but the operations of the owners (``InitiatingParameters/isBare``).
  private var isBare = false

  init(peer: LinkID, users: [OwnerID], maximumMTU: Int) {
    (self.peer, self.users, self.maximumMTU) = (peer, users, UInt16(clamping: maximumMTU))
  }

  var used: LinkClientState.Used {
    _read { yield state.used }
    _modify { yield &state.used }
  }
  var gatt: GATTClient {
    _read { yield state.used.gatt }
    _modify { yield &state.used.gatt }
  }
  var isUnused: Bool { state.isUnused }
  var mtu: Int { state.mtu }
  var isCongested: Bool { state.ifUsed { $0.gatt.isCongested } ?? false }
  /// When ``tick(now:into:)`` has work, or the encryption is late (``Reconnection/deadline``).
  var deadline: Instant? { .nearer(.nearer(state.deadline, bearers.deadline), reconnection.deadline) }

  /// What is known of the database of a bonded peer.
  var attributeCache: AttributeCache? { state.ifUsed { $0.gatt.attributeCache } }
  /// The peer has proven its bond, with which `stored` was kept.
  mutating func startCaching(_ stored: AttributeCache?) { if !isBare { gatt.startCaching(stored) } }

  /// Whether the cache that was kept with the bond is not to be used any more.
  var hasDiscardedCache: Bool { state.ifUsed { $0.hasDiscardedCache } ?? false }
  mutating func discardCache() {
    used.hasDiscardedCache = true
    gatt.discardCache()
  }

  /// The bond was removed or replaced: nothing is cached.
  mutating func forgetBond() { if !isUnused { gatt.stopCaching() } }

  mutating func setMTU(_ mtu: Int) { state.setMTU(mtu) }

  mutating func addUser(_ owner: OwnerID) { if !users.contains(owner) { users.append(owner) } }

  /// An owner leaves the link. If others use it, the subscriptions that only this owner has are ended.
  ///
  /// - Returns: whether the owner used the link.
  mutating func removeUser(_ owner: OwnerID, now: Instant, into output: inout Output) -> Bool {
    guard let place = users.firstIndex(of: owner) else { return false }
    users.remove(at: place)
    guard !isUnused else { return true }
    let writes = used.subscriptions.remove(owner)
    for write in writes where !users.isEmpty {
      gatt.perform(
        GATTClient.Operation(id: .stack, .write(write.descriptor, write.value)), now: now, into: &output.gatt)
    }
    return true
  }

  /// Starts on a link that our central made. Exchange MTU is the first request: a central raises the MTU, and a
  /// peripheral sends no request by itself.
  ///
  /// - Parameter until: the deadline of the encryption with the key of the bond; nothing is sent before it. Nil without
  ///   a bond.
  mutating func start(encryptedUntil until: Instant?, now: Instant, into output: inout Output) {
    if let until { awaitEncryption(until: until, now: now, into: &output) }
    exchangeMTU(now: now, into: &output)
  }

  /// Starts on a link on which the stack itself sends nothing.
  mutating func startBare() {
    isBare = true
    bearers.wanted = 0
  }

  /// Sends nothing until the link is encrypted with the key of the bond.
  mutating func awaitEncryption(until: Instant, now: Instant, into output: inout Output) {
    reconnection = .pending(until: until)
    gatt.setSuspended(true, now: now, into: &output.gatt)
  }

  private mutating func exchangeMTU(now: Instant, into output: inout Output) {
    gatt.perform(
      GATTClient.Operation(id: .stack, .exchangeMTU(Int(maximumMTU))), now: now, into: &output.gatt)
  }

  /// Performs an operation of one owner, which uses the link from then on.
  ///
  /// - Parameter pairsOnDemand: whether the link is secured if the server demands it.
  mutating func perform(
    _ operation: GATTClient.Operation, for owner: OwnerID, pairsOnDemand: Bool, queuesAfterBondLoss: Bool, now: Instant,
    into output: inout Output
  ) {
    if reconnection == .bondLost, !queuesAfterBondLoss {
      return output.effects.append(
        .event(.client(peer, .finished(operation.id, .failure(.notEncrypted))), to: owner.recipient))
    }
    addUser(owner)
    var sent: GATTClient.Operation
    switch used.subscriptions.perform(operation, for: owner) {
    case .send(let kind): sent = GATTClient.Operation(id: operation.id, kind)
    case .finish(let outcome):
      return output.effects.append(
        .event(.client(peer, .finished(operation.id, .success(outcome))), to: owner.recipient))
    }
    used.owners[operation.id] = owner
    if pairsOnDemand {
      sent.awaitsSecurity = true
      used.parked.asked[operation.id] = sent
    }
    bearers.perform(sent, &state.gatt, now: now, into: &output)
  }

  mutating func receive(_ pdu: Span<UInt8>, on channel: ChannelID, now: Instant, into output: inout Output) {
    bearers.receive(pdu, on: channel, &state.gatt, now: now, into: &output)
  }

  mutating func bearerClosed(_ channel: ChannelID, now: Instant, into output: inout Output) {
    bearers.closed(channel, &state.gatt, now: now, into: &output)
  }

  mutating func receive(_ pdu: Span<UInt8>, now: Instant, into output: inout Output) {
    gatt.receive(pdu, now: now, into: &output.gatt)
  }

  mutating func tick(now: Instant, into output: inout Output) {
    if isUnused, bearers.isEmpty { return }
    gatt.tick(now: now, into: &output.gatt)
    bearers.tick(&state.gatt, now: now, into: &output)
  }

  /// Sets whether too many frames wait for the client to send commands.
  mutating func setCongested(_ isCongested: Bool, now: Instant, into output: inout Output) {
    if isUnused, !isCongested { return }
    gatt.setCongested(isCongested, now: now, into: &output.gatt)
  }

  /// Lets the client send: the link is encrypted. Operations that were refused for want of encryption are repeated.
  mutating func resume(now: Instant, into output: inout Output) {
    if reconnection != .none {
      reconnection = .none
      gatt.setSuspended(false, now: now, into: &output.gatt)
    }
    if bearers.wanted > 0 { bearers.linkEncrypted(&state.gatt, now: now, into: &output) }
    repeatParked(now: now, into: &output)
  }

  /// The link could not be encrypted with the key of the bond: ends or keeps the operations that wait.
  mutating func bondLost(queuesOperations: Bool, now: Instant, into output: inout Output) {
    releaseParked(now: now, into: &output)
    guard reconnection.isPending else { return }
    reconnection = .bondLost
    guard !queuesOperations else { return }
    gatt.failWaiting(.notEncrypted, into: &output.gatt)
    translate(now: now, into: &output)
    // The Exchange MTU Request failed with them. It is the first request again if a new pairing encrypts the link.
    exchangeMTU(now: now, into: &output)
  }

  /// The link has ended, and with it every operation.
  mutating func linkEnded(into output: inout Output) {
    if !isUnused { reportParked(into: &output) }
    if isUnused, bearers.isEmpty { return }
    gatt.linkEnded(into: &output.gatt)
    bearers.linkEnded(into: &output)
    for event in output.gatt.events {
      if case .finished(.stack, _) = event { continue }
      if case .finished(.bearers, _) = event { continue }
      report(event, into: &output)
    }
    output.gatt.removeAll()
  }

  /// Turns what the client found into effects, after its PDUs have been sent.
  mutating func translate(now: Instant, into output: inout Output) {
    guard !output.gatt.events.isEmpty else { return }
    var setUp: Result<GATTClient.Outcome, GATTClientError>?
    var changes: [ClosedRange<AttributeHandle>] = []
    var isRefused = false
    for event in output.gatt.events {
      switch event {
      // Without another MTU the exchange has ended, too: the owners know that the device answers.
      case .finished(.stack, .failure(.errorResponse(_, request: .exchangeMTURequest, _))):
        output.effects.append(.event(.link(peer, .mtu(mtu)), to: .everyone))
      case .finished(.stack, _): break
      case .finished(.bearers, let result): setUp = result
      case .notification, .indication, .servicesChanged:
        if case .servicesChanged(let range) = event { changes.append(range) }
        if reconnection == .none {
          report(event, into: &output)
        } else {
          // An indication has been confirmed, because the server would end the link otherwise (Vol 3, Part F, 3.3.3).
          let text =
            "a value that was sent before the link was encrypted is dropped: the device has not proven its bond"
          output.effects.append(.report(.peer, text, peer: peer))
        }
      case .finished(let id, let result):
        bearers.finished(id)
        if case .success(let outcome) = result { note(outcome, into: &output) }
        if let operation = used.parked.take(id, result) {
          output.effects.append(.own(.securityWanted(operation, refusal: event)))
        } else {
          report(event, into: &output)
          // It was requested before a pairing that has failed.
          if result.isRefusedForSecurity { isRefused = true }
        }
      case .mtu(let mtu):
        output.effects.append(.own(.mtuChanged(mtu)))
        output.effects.append(.event(.link(peer, .mtu(mtu)), to: .everyone))
      case .bearerFailed:
        output.effects.append(
          .report(.peer, "an ATT request had no answer in 30 seconds: the link is ended", peer: peer))
        output.effects.append(.own(.failed))
        report(event, into: &output)
      case .violation: output.effects.append(.own(.violated(event, to: takeRecipient(of: event))))
      }
    }
    output.gatt.events.removeAll(keepingCapacity: true)
    for range in changes where !bearers.isEmpty {
      bearers.servicesChanged(range, &state.gatt, now: now, into: &output)
    }
    if let setUp { bearers.answered(setUp, &state.gatt, now: now, into: &output) }
    if isRefused { continueUnlessParked(now: now, into: &output) }
    translate(now: now, into: &output)
  }

  /// Writes what the server has done wrong to the log, while the operation succeeds.
  private func note(_ outcome: GATTClient.Outcome, into output: inout Output) {
    if case .noConfiguration(let range) = outcome {
      let text =
        "the characteristic before \(range.lowerBound) has no Client Characteristic Configuration: its values are reported if the device sends them"
      output.effects.append(.report(.peer, text, peer: peer))
    }
    for fault in outcome.faults {
      output.effects.append(.report(.peer, "its database is faulty: \(fault)", peer: peer))
    }
  }

  /// Reports an event to the owner whose operation it ends, a value to the owners that subscribed to it, otherwise to
  /// the users of the link.
  mutating func report(_ event: GATTClient.Event, into output: inout Output) {
    switch event {
    case .finished(let id, let result): used.subscriptions.finished(id, result)
    case .servicesChanged(let range): used.subscriptions.removeAll(in: range)
    // They change no subscription.
    case .notification, .indication, .mtu, .violation, .bearerFailed: break
    }
    output.effects.append(.event(.client(peer, event), to: takeRecipient(of: event)))
  }

  private mutating func takeRecipient(of event: GATTClient.Event) -> Recipient {
    switch event {
    case .finished(let id, _): used.owners.removeValue(forKey: id)?.recipient ?? .everyone
    case .notification(let value, _), .indication(let value, _):
      Recipient(used.subscriptions.owners(of: value)) ?? Recipient(users) ?? .everyone
    case .servicesChanged, .mtu, .violation, .bearerFailed: Recipient(users) ?? .everyone
    }
  }
}

/// Operations that the peer's server refused because the link lacks security: kept while the link is being secured,
/// then repeated once (Vol 3, Part C, 10.3.2). The operations after them wait, so that there is one at most for each
/// bearer.
struct ParkedOperations: Sendable {
  /// Operations without a result, which may have to be repeated.
  fileprivate var asked: [GATTClient.OperationID: GATTClient.Operation] = [:]
  fileprivate var waiting: [(operation: GATTClient.Operation, refusal: GATTClient.Event)] = []

  /// Takes the end of an operation: nil if it counts, otherwise the operation that may wait for security.
  fileprivate mutating func take(
    _ id: GATTClient.OperationID, _ result: Result<GATTClient.Outcome, GATTClientError>
  ) -> GATTClient.Operation? {
    guard let operation = asked.removeValue(forKey: id), result.isRefusedForSecurity else { return nil }
    return operation
  }
}

/// Operations that wait for security.
extension LinkClient {
  /// The link is being secured for this operation. Those after it wait.
  mutating func park(_ operation: GATTClient.Operation, _ refusal: GATTClient.Event) {
    used.parked.waiting.append((operation, refusal))
    gatt.hold()
  }

  /// The link is not secured for this operation: the refusal is its result.
  mutating func refuse(_ refusal: GATTClient.Event, now: Instant, into output: inout Output) {
    report(refusal, into: &output)
    continueUnlessParked(now: now, into: &output)
  }

  private mutating func continueUnlessParked(now: Instant, into output: inout Output) {
    if gatt.isHeld, used.parked.waiting.isEmpty { release([], now: now, into: &output) }
  }

  private mutating func release(_ operations: [GATTClient.Operation], now: Instant, into output: inout Output) {
    gatt.release(repeating: operations, now: now, into: &output.gatt)
    bearers.proceed(behind: operations, &state.gatt, now: now, into: &output)
  }

  /// The link is encrypted now: refused operations are repeated.
  mutating func repeatParked(now: Instant, into output: inout Output) {
    guard !isUnused, gatt.isHeld else { return }
    let waiting = used.parked.waiting
    used.parked.waiting = []
    // The result of the repetition counts.
    let repeated = waiting.map { GATTClient.Operation(id: $0.operation.id, $0.operation.kind) }
    release(repeated, now: now, into: &output)
  }

  /// The link could not be secured: the refusals are reported. Operations that have no answer yet were requested before
  /// the failure, so their refusals are also reported, and start no other pairing (Vol 3, Part H, 2.3.6).
  mutating func releaseParked(now: Instant, into output: inout Output) {
    guard !isUnused else { return }
    reportParked(into: &output)
    continueUnlessParked(now: now, into: &output)
  }

  private mutating func reportParked(into output: inout Output) {
    let waiting = used.parked.waiting
    used.parked = ParkedOperations()
    for (_, refusal) in waiting { report(refusal, into: &output) }
  }
}
