import BLEAdapter
import BLEGATT
import BLEHost
import BLEL2CAP
import BLEWire

/// What a task of a session waits for, with the type of its result.
///
/// Only the declarations below make one, each with one type for its event.
struct Awaited<Value: Sendable>: Hashable, Sendable {
  fileprivate let event: AwaitedEvent

  private init(_ event: AwaitedEvent) { self.event = event }
}

extension Awaited<Void> {
  static var power: Self { Self(.power) }
  static func serviceAdd(_ id: ServiceID) -> Self { Self(.serviceAdd(id)) }
  static func serviceRemoval(_ id: ServiceID) -> Self { Self(.serviceRemoval(id)) }
  static func advertisingStart(_ id: AdvertisingID) -> Self { Self(.advertisingStart(id)) }
  /// No event ends it: the cancellation of the task, and the end of the session.
  static func advertisement(_ id: AdvertisingID) -> Self { Self(.advertisement(id)) }
  static func trainUpdate(_ token: UpdateToken) -> Self { Self(.trainUpdate(token)) }
  static func trainTransfer(_ id: AdvertisingID, _ peer: LinkID) -> Self { Self(.trainTransfer(id, peer)) }
  static func syncTransfer(_ id: SyncID, _ peer: LinkID) -> Self { Self(.syncTransfer(id, peer)) }
  static func update(_ token: UpdateToken) -> Self { Self(.update(token)) }
  static func listenEnd(_ psm: SPSM) -> Self { Self(.listenEnd(psm)) }
  /// - Parameter level: the level that the pairing has to reach.
  static func pairing(_ peer: LinkID, _ level: SecurityLevel) -> Self { Self(.pairing(peer, level)) }
  static func bondStorage(_ identity: DeviceAddress) -> Self { Self(.bondStorage(identity)) }
  /// Something that the link has received.
  static func linkProof(_ peer: LinkID) -> Self { Self(.linkProof(peer)) }
}

extension Awaited<RemoteDevice> {
  static func connection(_ id: ConnectID) -> Self { Self(.connection(id)) }
}

extension Awaited<GATTClient.Outcome> {
  static func operation(_ peer: LinkID, _ id: GATTClient.OperationID) -> Self { Self(.operation(peer, id)) }
}

extension Awaited<Int> {
  static func rssi(_ peer: LinkID, read: UInt32) -> Self { Self(.rssi(peer, read: read)) }
}

extension Awaited<ConnectionPHY> {
  static func phy(_ peer: LinkID) -> Self { Self(.phy(peer)) }
}

extension Awaited<ConnectionTiming> {
  static func timing(_ peer: LinkID) -> Self { Self(.timing(peer)) }
}

extension Awaited<ConnectionSubrating> {
  static func subrating(_ peer: LinkID) -> Self { Self(.subrating(peer)) }
}

extension Awaited<Int?> {
  static func transmitPower(_ peer: LinkID, _ end: LinkPowerEnd) -> Self { Self(.transmitPower(peer, end)) }
}

extension Awaited<ConnectionTiming> {
  static func connectionRate(_ peer: LinkID) -> Self { Self(.connectionRate(peer)) }
}

extension Awaited<SPSM> {
  static func listen(_ id: ListenID) -> Self { Self(.listen(id)) }
}

extension Awaited<LEChannel> {
  static func channel(_ peer: LinkID, _ id: OpenChannelID) -> Self { Self(.channel(peer, id)) }
}

extension Awaited<BLEError> {
  static func linkEnd(_ peer: LinkID) -> Self { Self(.linkEnd(peer)) }
}

/// The events that tasks wait for.
enum AwaitedEvent: Hashable, Sendable {
  case power
  case serviceAdd(ServiceID)
  case serviceRemoval(ServiceID)
  case advertisingStart(AdvertisingID)
  case advertisement(AdvertisingID)
  case trainUpdate(UpdateToken)
  case trainTransfer(AdvertisingID, LinkID)
  case syncTransfer(SyncID, LinkID)
  case update(UpdateToken)
  case connection(ConnectID)
  case listen(ListenID)
  case listenEnd(SPSM)
  case operation(LinkID, GATTClient.OperationID)
  case rssi(LinkID, read: UInt32)
  case phy(LinkID)
  case timing(LinkID)
  case subrating(LinkID)
  case transmitPower(LinkID, LinkPowerEnd)
  case connectionRate(LinkID)
  case pairing(LinkID, SecurityLevel)
  case bondStorage(DeviceAddress)
  case channel(LinkID, OpenChannelID)
  case linkProof(LinkID)
  case linkEnd(LinkID)

  /// The link that the event belongs to, and whose end ends the wait; nil if it belongs to the session alone. The end
  /// of a link has more to do for values in transit, which several links may wait for (``WaitingUpdates``).
  var link: LinkID? {
    switch self {
    case .power, .serviceAdd, .serviceRemoval, .advertisingStart, .advertisement, .trainUpdate, .update, .connection,
      .listen,
      .listenEnd, .bondStorage:
      nil
    case .operation(let peer, _), .rssi(let peer, _), .phy(let peer), .timing(let peer), .subrating(let peer),
      .connectionRate(let peer),
      .pairing(let peer, _), .channel(let peer, _), .trainTransfer(_, let peer), .syncTransfer(_, let peer),
      .linkProof(let peer), .linkEnd(let peer), .transmitPower(let peer, _):
      peer
    }
  }
}

/// The clock for the limits of waits, and the executor of the tasks of a session: those of the system, or others that a
/// test controls.
package struct WaitClock: Sendable {
  /// The executor of the tasks that sleep, and of those that run handlers; nil is the default one.
  package var executor: (any TaskExecutor)?
  package var sleep: @Sendable (Duration) async throws -> Void
  /// The time since any beginning.
  package var now: @Sendable () -> Duration

  package init(
    executor: (any TaskExecutor)? = nil,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    now: @escaping @Sendable () -> Duration = { Self.beginning.duration(to: .now) }
  ) {
    (self.executor, self.sleep, self.now) = (executor, sleep, now)
  }

  private static let beginning = ContinuousClock.now

  /// Calls `action` after a time of any size, unless the task is cancelled before.
  func after(_ time: Duration, _ action: @escaping @Sendable () -> Void) -> Task<Void, any Error> {
    Task(executorPreference: executor) {
      try await sleep(time.waitable)
      action()
    }
  }
}

/// All tasks of a session that wait for the host, by the event that resumes them. Several tasks may wait for one event.
///
/// A wait is here with its limit of time, and nowhere else: the limit begins when the wait has been added, and ends
/// with it. Whatever ends the wait takes it from this table, so it ends once. The end of a link takes all waits of the
/// link, the end of the session all.
struct Waits: Sendable {
  private var waits: [AwaitedEvent: [any Waiting]] = [:]

  var isEmpty: Bool { waits.isEmpty }

  /// Adds a task that waits.
  ///
  /// - Parameters:
  ///   - number: the number of the wait, unique in the session.
  ///   - limit: the time after which `expire` is called, if the task still waits; nil for no limit.
  ///   - expire: takes the wait with ``take(_:of:)``, on another thread.
  mutating func add<Value>(
    _ task: CheckedContinuation<Result<Value, BLEError>, Never>, for awaited: Awaited<Value>, _ number: UInt64,
    limit: Duration?, on clock: WaitClock, expire: @escaping @Sendable () -> Void
  ) {
    // It sleeps at once, but needs the lock of the session, which the caller has, to end the wait.
    let timer = limit.map { clock.after($0, expire) }
    waits[awaited.event, default: []].append(Wait(number, task, timer))
  }

  /// Removes and returns a wait; nil if it has ended.
  mutating func take<Value>(_ number: UInt64, of awaited: Awaited<Value>) -> Wait<Value>? {
    guard let index = waits[awaited.event]?.firstIndex(where: { $0.number == number }) else { return nil }
    let wait = waits[awaited.event]?.remove(at: index)
    if waits[awaited.event]?.isEmpty == true { waits[awaited.event] = nil }
    return wait as? Wait<Value>
  }

  /// For a request that a device cannot have twice at once: its outcome could not be told from that of the other.
  ///
  /// - Throws: ``BLEError/Kind/invalidArgument`` if a task waits for this.
  func requireNone<Value>(_ awaited: Awaited<Value>, _ request: String) throws(BLEError) {
    guard waits[awaited.event] != nil else { return }
    throw BLEError(.invalidArgument, "a request for \(request) of this link is outstanding: wait for its outcome")
  }

  /// Ends the wait of every task that waits for this.
  mutating func answer<Value>(
    _ awaited: Awaited<Value>, _ result: Result<Value, BLEError>, into actions: inout Actions
  ) {
    for wait in waits.removeValue(forKey: awaited.event) ?? [] {
      // An event has one type.
      (wait as? Wait<Value>)?.end(result, into: &actions)
    }
  }

  /// Ends the wait of every task whose event `isMeant` selects.
  mutating func fail(
    _ error: BLEError, where isMeant: (AwaitedEvent) -> Bool = { _ in true }, into actions: inout Actions
  ) {
    for event in waits.keys.filter(isMeant) {
      for wait in waits.removeValue(forKey: event) ?? [] { wait.fail(error, into: &actions) }
    }
  }

  /// A link has ended: the tasks that wait for its end have `end`, and all other waits of the link fail with `error`.
  mutating func linkEnded(_ peer: LinkID, _ end: BLEError, _ error: BLEError, into actions: inout Actions) {
    answer(.linkEnd(peer), .success(end), into: &actions)
    fail(error, where: { $0.link == peer }, into: &actions)
  }
}

/// A wait whose result may have any type.
private protocol Waiting: AnyObject, Sendable {
  var number: UInt64 { get }
  func fail(_ error: BLEError, into actions: inout Actions)
}

/// One task that waits, and the limit of its time. Only ``Waits/add(_:for:_:limit:on:expire:)`` makes one.
final class Wait<Value: Sendable>: Sendable {
  fileprivate let number: UInt64
  private let task: CheckedContinuation<Result<Value, BLEError>, Never>
  /// Nil if it waits without a limit.
  private let timer: Task<Void, any Error>?

  fileprivate init(
    _ number: UInt64, _ task: CheckedContinuation<Result<Value, BLEError>, Never>, _ timer: Task<Void, any Error>?
  ) {
    (self.number, self.task, self.timer) = (number, task, timer)
  }

  func end(_ result: Result<Value, BLEError>, into actions: inout Actions) {
    actions.later { [task, timer] in
      timer?.cancel()
      task.resume(returning: result)
    }
  }
}

extension Wait: Waiting {
  fileprivate func fail(_ error: BLEError, into actions: inout Actions) { end(.failure(error), into: &actions) }
}
