import BLEGATT
package import BLEHost
package import BLELinux
import BLERuntime
package import BLESMP
package import BLEWire
package import Dispatch
import Synchronization

/// One client of an adapter: a manager of CoreBluetoothTypes, or an adapter of BLEKit.
///
/// All clients of a transport share one host, which the first of them starts and which ends with the last. A client
/// posts commands and receives events:
///
/// ```
///   any thread     commands ──► HostCommand ──► host             host ──► HostEvent
///                                                                           │ batches, in order
///   queue                       start(_:) ◄── private serial queue ◄─────────┤
///   the host's thread                       startOnHostThread(_:) ◄──────────┘
/// ```
///
/// - ``commands`` may be used on any thread. Commands are performed in the order of the calls. Identifiers in them
///   come from ``HostIDs``, unique in the process; the events that answer carry them.
/// - ``start(updatesFinished:_:)`` or ``startOnHostThread(_:)`` is called once. The state of the adapter, unless it is
///   unknown, and the links that are up come first. Events come in the host's order, one batch at a time. A client that
///   puts its own work for the application on ``queue`` has one order for everything.
/// - An event counts as taken when the handler returns. With more than 1,024 events that one client has not taken, the
///   transport is not read.
/// - SDUs of channels do not wait for ``queue``: ``stream(of:)`` has them.
/// - ``detach()``, which the end of the object also calls, ends the events; the host withdraws what the client
///   declared.
/// - A question of a pairing goes to every client. Each of them answers with ``reply(to:of:)`` or calls
///   ``decline(_:of:isConcerned:)``.
///
/// ```swift
/// let client = AdapterClient(AdapterOptions(transport: "virtual"))
/// client.start { events in
///   for case .state(.poweredOn, _) in events { client.commands.post(.scanning(.start(ScanParameters()))) }
/// }
/// ```
package final class AdapterClient: Sendable {
  /// Serial; the events come on it. Its target is the queue that the client was made with.
  package let queue: DispatchQueue
  /// The destination of commands, from any thread. Commands that are posted while the transport is being opened are
  /// kept, 64 at most.
  package let commands: CommandPort
  private let link: any AdapterLink
  private let log: Log
  private let channels: ChannelRouter
  /// Calls its second argument when the time has passed.
  package let later: ChannelStream.Timer
  /// Names the client among those of its adapter.
  private let name = HostIDs.number()
  private let isDetached = Atomic(false)
  private let hasJoined = Atomic(false)

  /// - Parameter target: the queue for the events: an application's queue, which may be concurrent; nil is one of
  ///   the system's.
  package convenience init(
    _ options: AdapterOptions, target: DispatchQueue? = nil, log: @escaping Log = BluetoothLog.write
  ) {
    self.init(over: HostConnection(options), target: target, log: log)
  }

  /// A client over `link`; tests play the host there.
  ///
  /// - Parameter later: calls its second argument when the time has passed.
  package init(
    over link: any AdapterLink, target: DispatchQueue? = nil, log: @escaping Log = BluetoothLog.write,
    later: @escaping ChannelStream.Timer = ChannelStream.wait
  ) {
    (self.link, self.log, self.later) = (link, log, later)
    commands = link.commands
    channels = ChannelRouter(later: later) { [commands] in commands.post($0) }
    queue = DispatchQueue(label: "BluetoothLE.client", target: target)
  }

  deinit { detach() }

  /// Attaches the client: `handler` is called on ``queue`` with each batch of events. It does not keep the client
  /// alive.
  ///
  /// - Parameter updatesFinished: is called on the thread of the host with each batch of events that has
  ///   ``HostEvent/Server/updateFinished(_:)`` or ``HostEvent/Server/updatesFinished(_:)``, which `handler` does not
  ///   get then. It must not wait.
  package func start(
    updatesFinished: (@Sendable ([HostEvent]) -> Void)? = nil, _ handler: @escaping @Sendable ([HostEvent]) -> Void
  ) {
    let inbox = EventInbox()
    // One block for all batches, which therefore need no memory of their own.
    let client = WeakClient(self)
    let handleWaiting: @convention(block) @Sendable () -> Void = { client.object?.handle(inbox, handler) }
    link.attach { [queue] events in
      guard let self = client.object else { return 0 }
      self.join()
      let routed = self.route(&events)
      let finished = updatesFinished.map { takeFinishedUpdates(of: &events, $0) } ?? 0
      if inbox.append(&events) { queue.async(execute: handleWaiting) }
      return routed + finished
    }
  }

  private func handle(_ inbox: EventInbox, _ handler: @Sendable ([HostEvent]) -> Void) {
    guard !isDetached.load(ordering: .acquiring) else { return }
    var events = inbox.take()
    let count = events.count
    handler(events)
    inbox.reuse(&events)
    link.consumed(count)
  }

  /// Attaches the client: `handler` is called with each batch of events on the thread of the host, before the host
  /// sends the packets that the batch has caused so far. It must not wait. Commands that it posts are performed next.
  package func startOnHostThread(_ handler: @escaping @Sendable ([HostEvent]) -> Void) {
    link.attach { [weak self] events in
      guard let self, !isDetached.load(ordering: .acquiring) else { return 0 }
      join()
      let routed = route(&events)
      if !events.isEmpty { handler(events) }
      return routed + events.count
    }
  }

  /// Ends the events; commands have no effect from now on. It may be called more than once, on any thread.
  package func detach() {
    guard !isDetached.exchange(true, ordering: .acquiringAndReleasing) else { return }
    if let hub = link.hub { hub.questions.left(name).forEach(rejectUnanswered) }
    link.detach()
    channels.endAll()
  }

  /// The octets of a channel that ``HostEvent/Channels/opened(_:)`` has announced, for its only user, which has to
  /// close it; nil the second time.
  package func stream(of channel: OpenedChannel) -> ChannelStream? { channels.take(channel.id) }

  /// Gives the reports of channels to their streams, and leaves the other events.
  ///
  /// - Returns: the number of the reports.
  private func route(_ events: inout [HostEvent]) -> Int {
    let count = events.count
    channels.route(&events)
    return count - events.count
  }

  /// The state that the clients of the adapter share; nil before there is a host.
  package var hub: AdapterHub? { link.hub }

  /// Why the adapter is below powered on: no host, or the reason of its state.
  package func reason(_ reason: HostError?) -> AdapterError? { link.failure ?? reason.map { AdapterError($0) } }

  /// The hub knows the client from the first batch on; no question comes before it.
  private func join() {
    guard !hasJoined.exchange(true, ordering: .acquiringAndReleasing), let hub = link.hub else { return }
    hub.questions.joined(name)
    // It was detached meanwhile, and had left before it joined.
    if isDetached.load(ordering: .acquiring) { hub.questions.left(name).forEach(rejectUnanswered) }
  }
}

/// Bonds and pairing.
extension AdapterClient {
  /// The devices that the adapter is bonded with, the oldest bond first.
  package var bonds: [Bond] { link.hub?.bonds.bonds ?? [] }

  /// The devices that this process, or another program of the machine, is connected to and that have one of these
  /// services, as far as it is known (``AdapterDevices/connected(with:stored:)``).
  package func connectedDevices(with services: [BluetoothUUID]) -> [AdapterDevices.Device] {
    guard let hub = link.hub else { return [] }
    let bonds = hub.bonds.bonds
    return hub.devices.connected(with: services) { Self.storedServices(of: $0, in: bonds) }
  }

  /// The services that are known of a device, from any client or from an earlier link.
  package func knownServices(of device: DeviceAddress) -> [BluetoothUUID] {
    guard let hub = link.hub else { return [] }
    return hub.devices.services(of: device) + Self.storedServices(of: device, in: hub.bonds.bonds)
  }

  private static func storedServices(of device: DeviceAddress, in bonds: [Bond]) -> [BluetoothUUID] {
    let cache = bonds.first { $0.identity == device }?.attributeCache
    guard case .services(let services) = cache?.outcome(of: .discoverPrimaryServices) else { return [] }
    return services.map(\.uuid)
  }

  /// Removes a bond; ``HostEvent/Bonds/removed(_:)`` follows.
  package func remove(_ bond: Bond) {
    // The store has the change even if the client ends before the host reports it.
    link.hub?.bonds.receive(.removed(bond.identity))
    commands.post(.security(.removeBond(bond.identity)))
  }

  /// Forgets what was discovered of a bonded device's database.
  package func discardAttributeCache(of bond: Bond) { commands.post(.security(.discardAttributeCache(bond.identity))) }

  /// Changes how the adapter pairs from now on, for all its clients; ``PairingOptions/storage`` stays.
  package func setPairing(_ options: PairingOptions) {
    for command in link.hub?.bonds.commands(options) ?? [] {
      if case .security(.setPairing) = command { commands.post(command) }
    }
  }

  /// The reply to a question of ``HostEvent/Pairing/question(_:_:)``.
  package func reply(to question: PairingQuestionID, of peer: LinkID) -> PairingReply {
    PairingReply(commands: commands, peer: peer, question: question)
  }

  /// Declines to answer a question. When no client of the adapter answers it, the question is
  /// rejected.
  ///
  /// - Parameter isConcerned: whether the client uses the link. A question about a link that no client uses is not
  ///   rejected.
  package func decline(_ question: PairingQuestion, _ id: PairingQuestionID, of peer: LinkID, isConcerned: Bool) {
    let entry = DeclinedQuestions.Question(id: id, peer: peer, kind: question)
    guard let hub = link.hub else {
      if isConcerned { rejectUnanswered(entry) }
      return
    }
    if hub.questions.declined(entry, by: name, isConcerned: isConcerned) { rejectUnanswered(entry) }
  }

  /// Displayed digits need no answer: the user of the other device cannot type them, and ends the pairing.
  private func rejectUnanswered(_ question: DeclinedQuestions.Question) {
    if link.hub?.questions.isFirst(question.kind) ?? true {
      log(
        .notice(
          "a pairing asks \(question.purpose), and nobody answers: the question is declined. Set pairingDelegate of a "
            + "manager, or read Adapter.pairingRequests"))
    }
    if case .display = question.kind { return }
    commands.post(.link(question.peer, .answerPairing(question.id, .reject)))
  }
}

/// A client that is not kept alive. A constant: a capture list makes a variable, whose accesses are checked each time.
private struct WeakClient: Sendable {
  weak let object: AdapterClient?

  init(_ object: AdapterClient) { self.object = object }
}
