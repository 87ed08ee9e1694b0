import BLEATT
import BLEGATT
import BLESMP
import BLEWire

/// The GATT server of one link: the requests that wait for their owners, the subscriptions that were reported, the
/// values on their way, and signed writes until their counters are stored.
struct LinkServer: Sendable {
  /// What one input writes and causes; the memory is reused.
  struct Output: Sendable {
    /// PDUs for the client, which are sent first.
    var gatt = GATTServer.Output(separatesCommands: true)
    var effects: [Effect<LinkEffect>] = []

    mutating func removeAll() {
      gatt.removeAll()
      effects.removeFew()
    }
  }

  private let peer: LinkID
  private let storageTimeout: Duration
  private var gatt: GATTServer
  /// Whether ``gatt`` has the state of an enhanced bearer.
  private var isEnhanced = false
  /// The subscriptions that were reported to their owners: those whose values may be sent on the link.
  private var reported: [AttributeID: Subscription] = [:]
  /// The values that are on their way to the client.
  private var updates: LinkUpdates
  /// The request that the owners of its attributes answer.
  private var request: PendingAnswer?
  private var signedWrites = SignedWriteQueue()
  /// The enhanced bearers.
  var bearers = ServerBearers()

  init(peer: LinkID, _ configuration: HostConfiguration) {
    self.peer = peer
    storageTimeout = configuration.bondStorageTimeout
    updates = LinkUpdates(
      limit: configuration.maximumPendingUpdates, reservesMemory: configuration.reservesMemory)
    gatt = GATTServer(limits: configuration.sharedServerLimits)
    gatt.allowsEnhancedBearers = configuration.usesEnhancedBearers
    gatt.client = peer.rawValue
  }

  /// When ``tick(_:_:now:into:)`` or a bearer has work, or the store is late (``isStorageLate(now:)``).
  var deadline: Instant? { .nearer(.nearer(gatt.deadline, signedWrites.deadline), bearers.deadline) }
  /// Whether signed writes have waited for the store too long.
  func isStorageLate(now: Instant) -> Bool { signedWrites.deadline.map { $0 <= now } ?? false }
  /// Whether an owner is to answer a request.
  func awaits(_ owner: OwnerID) -> RequestToken? { request?.awaits(owner) == true ? request?.token : nil }
  /// The record of the client to store with its bond.
  func record(_ database: AttributeDatabase) -> ClientRecord { gatt.record(database: database) }

  mutating func setMTU(_ mtu: Int) { gatt.setMTU(mtu) }

  /// Serves another bearer of the client, or the first one again.
  mutating func exchange(_ bearer: inout ServerBearers.Bearer) {
    gatt.exchange(&bearer.gatt)
    swap(&request, &bearer.request)
    isEnhanced.toggle()
  }

  /// Takes one PDU of the client. It waits behind a signed write that waits.
  mutating func receive(
    _ pdu: Span<UInt8>, _ security: SecurityState, _ services: inout ServiceRegistry, now: Instant,
    into output: inout Output
  ) {
    guard signedWrites.isEmpty || isEnhanced else { return wait(.pdu([UInt8](copying: pdu)), now: now, into: &output) }
    if !output.effects.isEmpty { services.database.callsProviders = false }
    gatt.receive(pdu, security: security, database: &services.database, now: now, into: &output.gatt)
    translate(services, into: &output)
  }

  mutating func tick(
    _ security: SecurityState, _ services: inout ServiceRegistry, now: Instant, into output: inout Output
  ) {
    gatt.tick(now: now, security: security, database: &services.database, into: &output.gatt)
    translate(services, into: &output)
  }

  /// Takes the answer of one owner to a request.
  ///
  /// - Parameter octets: the value that was read, where the answer has an empty one.
  mutating func respond(
    _ answer: OwnerAnswer, _ octets: Span<UInt8>, _ security: SecurityState,
    _ services: inout ServiceRegistry, now: Instant, into output: inout Output
  ) {
    let late = "a request was answered twice or too late"
    let token = answer.token
    switch request?.take(answer) {
    case .incomplete: return
    case .complete(let whole):
      request = nil
      let isKnown =
        switch whole {
        case .success(let value):
          gatt.respond(
            to: token, withValue: value.isEmpty ? octets : value.span, security: security, database: &services.database,
            now: now, into: &output.gatt)
        case .failure(let code, let attribute):
          gatt.respond(
            to: token, with: .error(code, attribute: attribute), security: security, database: &services.database,
            now: now, into: &output.gatt)
        }
      if !isKnown { output.effects.append(.report(.application, late, peer: peer)) }
      translate(services, into: &output)
    case .unknown, nil:
      output.effects.append(.event(.diagnostic(Diagnostic(.application, late, peer: peer)), to: answer.owner.recipient))
    }
  }

  /// Answers the request that waits for an owner that detaches, and those that follow it in the queue.
  mutating func rejectRequests(
    of owner: OwnerID, _ security: SecurityState, _ services: inout ServiceRegistry, now: Instant,
    into output: inout Output
  ) {
    while let token = awaits(owner) {
      let rejection = OwnerAnswer(owner, .failure(.unlikelyError), to: token)
      respond(rejection, Span(), security, &services, now: now, into: &output)
    }
  }

  /// How the client gets the values of an attribute now. It is mutating to be called in place
  /// (Docs/Decisions/performance.md#in-place).
  mutating func delivery(
    of value: AttributeHandle, _ security: SecurityState, _ services: ServiceRegistry
  ) -> GATTServer.UpdateDelivery {
    gatt.delivery(of: value, security: security, database: services.database)
  }

  /// The longest value that the client gets, in octets.
  var maximumUpdateLength: Int { gatt.maximumUpdateLength }

  /// Notes that a value is on its way by a notification, which the caller hands to the scheduler. It is no input of the
  /// link.
  ///
  /// - Returns: false where too many values are on their way.
  @inline(__always)
  mutating func beginNotification(_ update: LinkUpdates.Entry) -> Bool { updates.beginNotification(update) }

  /// Indicates a value.
  mutating func indicate(
    _ value: Span<UInt8>, of handle: AttributeHandle, _ attribute: AttributeID, as update: LinkUpdates.Entry,
    now: Instant, into output: inout Output
  ) {
    guard updates.hasRoom else { return refuse(update, into: &output) }
    switch gatt.indicate(value, of: handle, attribute, now: now, into: &output.gatt) {
    case .sent: updates.beginIndication(of: attribute, update)
    default: refuse(update, into: &output)  // It is not sent, for any reason.
    }
  }

  private func refuse(_ update: LinkUpdates.Entry, into output: inout Output) {
    output.effects.append(.event(.refused(updates.refusal), to: update.owner.recipient))
    output.effects.append(.event(update.finished(on: peer), to: update.owner.recipient))
  }

  /// Why another value is not accepted.
  var updateRefusal: HostError { updates.refusal }

  /// The controller has sent this number of notifications.
  @inline(__always)
  mutating func notificationsSent(_ count: Int, into events: inout [AddressedEvent<HostEvent>]) {
    updates.notificationsSent(count, on: peer, into: &events)
  }

  /// Services in this range were added or removed.
  mutating func serviceChanged(
    _ range: ClosedRange<AttributeHandle>, _ services: ServiceRegistry, now: Instant, into output: inout Output
  ) {
    gatt.serviceChanged(range, database: services.database, now: now, into: &output.gatt)
    // The owner that removed a service does not need reports about its subscribers.
    for attribute in reported.keys where services.database.handle(of: attribute) == nil { reported[attribute] = nil }
    translate(services, into: &output)
  }

  /// A bonded client has proven its identity: its configuration is restored (Vol 3, Part G, 2.5.2 and 3.3.3.3).
  mutating func restore(
    _ client: ClientRecord, _ security: SecurityState, _ services: ServiceRegistry, now: Instant,
    into output: inout Output
  ) {
    gatt.restore(client, database: services.database, now: now, into: &output.gatt)
    securityChanged(security, services, into: &output)
    translate(services, into: &output)
  }

  /// Reports the subscriptions that are in force with the present security of the link, if they have changed: those of
  /// a bonded client are restored, and one that demands authentication or authorization waits for it (Vol 3, Part C,
  /// 10.3.1).
  mutating func securityChanged(
    _ security: SecurityState, _ services: ServiceRegistry, into output: inout Output
  ) {
    let (before, after) = (reported, gatt.subscriptions(inForceFor: security, database: services.database))
    guard before != after else { return }
    reported = after
    for attribute in Set(before.keys).union(after.keys).sorted(by: { $0.rawValue < $1.rawValue })
    where before[attribute] != after[attribute] {
      output.effects.append(
        .event(.server(peer, .subscription(attribute, after[attribute] ?? [])), to: services.recipient(of: attribute)))
    }
  }

  /// The link has ended, with its subscriptions and pending values.
  func linkEnded(_ services: ServiceRegistry, into output: inout Output) {
    for attribute in reported.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      output.effects.append(.event(.server(peer, .subscription(attribute, [])), to: services.recipient(of: attribute)))
    }
    for update in updates.entries {
      output.effects.append(.event(update.finished(on: peer), to: update.owner.recipient))
    }
  }

  /// Turns what the server found into effects.
  @inline(__always) private mutating func translate(_ services: ServiceRegistry, into output: inout Output) {
    if let command = output.gatt.command.take() { output.effects.append(command, of: peer, services) }
    if output.gatt.events.isEmpty { return }
    if output.gatt.events.count == 1 {
      return translate(output.gatt.events.removeLast(), services, into: &output.effects)
    }
    for event in output.gatt.events { translate(event, services, into: &output.effects) }
    output.gatt.events.removeFew()
  }

  private mutating func translate(
    _ event: GATTServer.Event, _ services: ServiceRegistry, into effects: inout [Effect<LinkEffect>]
  ) {
    switch event {
    case .read(let token, let attribute, let offset):
      let owner = services.owners.owner(of: attribute) ?? .process
      request = PendingAnswer(token: token, owner: owner)
      effects.append(.event(.server(peer, .read(token, attribute, offset: offset)), to: owner.recipient))
    case .write(nil, let parts, _): for command in parts { effects.append(command, of: peer, services) }
    case .write(let token?, let parts, _) where parts.count == 1:
      let owner = parts.first.flatMap { services.owners.owner(of: $0.attribute) } ?? .process
      request = PendingAnswer(token: token, owner: owner)
      effects.append(.event(.server(peer, .write(token, parts)), to: owner.recipient))
    case .write(let token?, let parts, _):
      let shares = services.owners.shares(of: parts)
      request = PendingAnswer(token: token, owners: shares.map { $0.owner })
      for share in shares {
        effects.append(.event(.server(peer, .write(token, share.parts)), to: share.owner.recipient))
      }
    case .stored(let attribute):
      let owner = services.owners.owner(of: attribute) ?? .process
      guard services.owners.reportsStoredWrites(to: owner) else { return }
      let value = services.database.storedValue(of: attribute) ?? []
      effects.append(.event(.server(peer, .stored(attribute, value)), to: owner.recipient))
    case .subscription(let attribute, let subscription):
      reported[attribute] = subscription.isEmpty ? nil : subscription
      effects.append(
        .event(.server(peer, .subscription(attribute, subscription)), to: services.recipient(of: attribute)))
      effects.append(.own(.recordChanged))
    case .mtuChanged(let mtu):
      effects.append(.own(.mtuChanged(mtu)))
      effects.append(.event(.link(peer, .mtu(mtu)), to: .everyone))
    case .indicationConfirmed(let attribute):
      finished(updates.indicationEnded(of: attribute), into: &effects)
    case .indicationDiscarded(let attribute):
      // The first of its attribute may have been sent.
      finished(updates.lastIndicationDiscarded(of: attribute), into: &effects)
    case .indicationTimedOut:
      effects.append(.report(.peer, "an indication was not confirmed in 30 seconds: the link is ended", peer: peer))
      effects.append(.own(.failed))
    case .requestTimedOut(let token):
      let owners = request?.owners ?? []
      request = nil
      for owner in owners { effects.append(.event(.server(peer, .requestTimedOut(token)), to: owner.recipient)) }
    case .pduDropped:
      effects.append(.report(.peer, "too many ATT PDUs arrive while a request waits: one was dropped", peer: peer))
    case .violation(let violation): effects.append(.report(.peer, "\(violation)", peer: peer))
    }
  }

  private func finished(_ update: LinkUpdates.Entry?, into effects: inout [Effect<LinkEffect>]) {
    guard let update else { return }
    effects.append(.event(update.finished(on: peer), to: update.owner.recipient))
  }
}

/// Signed writes of the client (Vol 3, Part F, 3.4.5.4; Part H, 2.4.5).
extension LinkServer {
  /// Takes a Signed Write Command: with a correct signature and a new counter, by a bonded client on a link in the
  /// clear, it is a Write Command as soon as its counter is stored; otherwise it is ignored, like every command that is
  /// not permitted.
  mutating func receiveSigned(
    _ pdu: Span<UInt8>, _ security: SecurityState, bond: Bond?, _ toolbox: SecurityToolbox, now: Instant,
    into output: inout Output
  ) {
    guard security.level == .none, let bond, let key = bond.peerCSRK else { return }
    let octets = [UInt8](copying: pdu)[...]
    guard let counter = (try? toolbox.verifiedSignCounter(of: octets, csrk: key.value)) ?? nil else {
      return output.effects.append(.report(.peer, "a signed write with a wrong signature is ignored", peer: peer))
    }
    guard counter >= bond.peerSignCounter, counter < .max else {
      return output.effects.append(
        .report(.peer, "a signed write with a used counter is ignored: a replay", peer: peer))
    }
    var command = [UInt8](octets.dropLast(SecurityToolbox.signatureLength))
    guard command.count >= 3 else { return }
    command[0] = ATTOpcode.writeCommand.rawValue
    output.effects.append(.own(.counterUsed(counter)))
    wait(.signedWrite(command, counter: counter), now: now, into: &output)
  }

  private mutating func wait(_ entry: SignedWriteQueue.Entry, now: Instant, into output: inout Output) {
    guard signedWrites.append(entry, until: now + storageTimeout) else {
      return output.effects.append(
        .report(
          .peer, "too many ATT PDUs arrive while a sign counter is stored: one was dropped", peer: peer))
    }
  }

  /// Passes the PDUs that no longer have to wait to the server.
  mutating func deliver(
    _ store: SignCounters.StoreState, _ security: SecurityState, _ services: inout ServiceRegistry, now: Instant,
    into output: inout Output
  ) {
    while let entry = signedWrites.first {
      var octets: [UInt8]?
      switch entry {
      case .signedWrite(let command, let counter):
        if counter < store.peerEnd {
          octets = command
        } else if !store.isFailing {
          return
        } else {
          output.effects.append(
            .report(
              .peer, "a signed write was discarded: its counter could not be stored. Check the bond store", peer: peer))
        }
      case .pdu(let pdu): octets = pdu
      }
      signedWrites.removeFirst()
      guard let octets else { continue }
      if !output.effects.isEmpty { services.database.callsProviders = false }
      gatt.receive(octets.span, security: security, database: &services.database, now: now, into: &output.gatt)
      translate(services, into: &output)
    }
  }
}

/// PDUs of a client that wait for a sign counter to be stored, in order; the first is a signed write.
struct SignedWriteQueue: Sendable {
  enum Entry: Sendable {
    /// A signed write that was verified, as a Write Command.
    case signedWrite([UInt8], counter: UInt32)
    /// A PDU that came behind it.
    case pdu([UInt8])
  }

  private var entries: [Entry] = []
  private(set) var deadline: Instant?
  /// PDUs kept; one more is dropped.
  static let limit = 64

  var isEmpty: Bool { entries.isEmpty }
  var first: Entry? { entries.first }

  /// - Returns: false where there is no room.
  mutating func append(_ entry: Entry, until deadline: Instant) -> Bool {
    guard entries.count < Self.limit else { return false }
    entries.append(entry)
    if self.deadline == nil { self.deadline = deadline }
    return true
  }

  mutating func removeFirst() {
    entries.removeFirst()
    if entries.isEmpty { deadline = nil }
  }
}
