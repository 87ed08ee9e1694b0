import BLEAdapter
import BLEHost
import BLELinux
public import BLEWire
public import Foundation
import Synchronization

/// The state of the adapter behind a manager; mirrors `CBManagerState`.
public enum CBManagerState: Int, Sendable {
  /// Not known yet, or the connection to the adapter is being made.
  case unknown = 0
  /// The adapter was lost for a moment; another state follows.
  case resetting = 1
  /// There is no usable Bluetooth LE adapter; ``CBManager/stateReason`` says why.
  case unsupported = 2
  /// The process may not use the adapter; ``CBManager/stateReason`` names what it lacks.
  case unauthorized = 3
  /// The adapter is there and switched off.
  case poweredOff = 4
  /// Ready: commands are accepted.
  case poweredOn = 5
}

/// The state of a central manager before ``CBManagerState`` took its place; mirrors `CBCentralManagerState`.
///
/// It is a type of its own, as on Apple's systems: `CBCentralManagerState(rawValue: manager.state.rawValue)` converts.
@available(*, deprecated, message: "Use CBManagerState.")
public enum CBCentralManagerState: Int, Sendable {
  /// ``CBManagerState/unknown``
  case unknown = 0
  /// ``CBManagerState/resetting``
  case resetting = 1
  /// ``CBManagerState/unsupported``
  case unsupported = 2
  /// ``CBManagerState/unauthorized``
  case unauthorized = 3
  /// ``CBManagerState/poweredOff``
  case poweredOff = 4
  /// ``CBManagerState/poweredOn``
  case poweredOn = 5
}

/// The state of a peripheral manager before ``CBManagerState`` took its place; mirrors `CBPeripheralManagerState`.
///
/// It is a type of its own, as on Apple's systems: `CBPeripheralManagerState(rawValue: manager.state.rawValue)`
/// converts.
@available(*, deprecated, message: "Use CBManagerState.")
public enum CBPeripheralManagerState: Int, Sendable {
  /// ``CBManagerState/unknown``
  case unknown = 0
  /// ``CBManagerState/resetting``
  case resetting = 1
  /// ``CBManagerState/unsupported``
  case unsupported = 2
  /// ``CBManagerState/unauthorized``
  case unauthorized = 3
  /// ``CBManagerState/poweredOff``
  case poweredOff = 4
  /// ``CBManagerState/poweredOn``
  case poweredOn = 5
}

/// Whether the program may use Bluetooth; mirrors `CBManagerAuthorization`.
public enum CBManagerAuthorization: Int, Sendable {
  /// Not used on Linux.
  case notDetermined = 0
  /// Not used on Linux.
  case restricted = 1
  /// The process lacks a permission that the adapter needs.
  case denied = 2
  /// The program may use Bluetooth.
  case allowedAlways = 3
}

/// One thing to do for the application on the queue, as a value.
enum ManagerCall: Sendable {
  case stateChanged
  case central(CentralManagerCall)
  case peripheral(PeripheralManagerCall)
  indirect case pairing(PairingCall)
}

/// The superclass of the two managers, with the adapter's state; mirrors `CBManager`.
///
/// A manager may be used from any thread. Its delegate is called on one queue only, one call at a time, in the order in
/// which the host reported the causes.
///
/// Locks: `adapter` and `calls` protect what they contain, `delegateLock` the references to delegates, `machine` of
/// each role the rest.
open class CBManager: NSObject, @unchecked Sendable {
  /// The manager's end of the adapter. Its queue is serial and has the application's as its target.
  let client: AdapterClient
  let log: Log
  /// Keeps the state between runs; nil where the manager has no restoration identifier.
  let restoration: RestorationStore?
  private let adapter = Mutex(Adapter())
  /// Calls that the application is to receive, in the order of the changes that cause them.
  private let calls = Mutex(Calls())
  /// Makes the pending calls. It is enqueued again each time, because a new closure would be allocated each time;
  /// ``listen()`` sets it, before there are calls.
  private var callMaker = DispatchWorkItem {}
  /// The lock of the delegates, here and in the roles. A delegate is the application's object and need not be
  /// `Sendable`: it is only copied here, and used on the queue alone.
  let delegateLock = Mutex(())
  /// The lines that were logged and are not logged again.
  private let writtenOnce = Mutex<Set<String>>([])
  private weak var heldPairingDelegate: (any CBPairingDelegate)?

  /// The pending calls. The memory of the calls that were made is reused.
  private struct Calls {
    var waiting: [ManagerCall] = []
    var spare: [ManagerCall] = []

    /// Removes the pending calls; nil for none.
    mutating func take() -> [ManagerCall]? {
      guard !waiting.isEmpty else { return nil }
      var taken: [ManagerCall] = []
      swap(&taken, &spare)
      swap(&taken, &waiting)
      return taken
    }
  }

  private struct Adapter {
    var address: DeviceAddress?
    var state = CBManagerState.unknown
    var reason: (any Error)?
  }

  init(
    link: any AdapterLink, queue: DispatchQueue?, log: @escaping Log, restoration: RestorationStore? = nil,
    later: @escaping ChannelStream.Timer = ChannelStream.wait
  ) {
    client = AdapterClient(over: link, target: queue ?? .main, log: log, later: later)
    (self.log, self.restoration) = (log, restoration)
    super.init()
  }

  /// A manager of the adapter that the options of an initializer name. Faults and options without an effect are logged.
  ///
  /// - Parameters:
  ///   - name: the name of the manager's class, for the log.
  ///   - key: the option that has the restoration identifier.
  init(
    options: [String: Any]?, of name: StaticString, restoring key: String, as role: RestorationStore.Role,
    queue: DispatchQueue?
  ) {
    let adapter = AdapterOptions(options) { BluetoothLog.write(.misuse("API MISUSE: \(name): \($0)")) }
    (log, restoration) = (BluetoothLog.write, .open(option: options?[key], key, role, adapter))
    client = AdapterClient(over: HostConnection(adapter), target: queue ?? .main, log: log)
    super.init()
    reportIgnored(options, of: "init", known: AdapterOptions.keys + [key])
  }

  /// The adapter's state. It starts as ``CBManagerState/unknown``; each change is reported to the delegate.
  open var state: CBManagerState { adapter.withLock { $0.state } }

  /// Why ``state`` is below ``CBManagerState/poweredOn``, and what to do; nil when it is powered on, or when there is
  /// no error.
  open var stateReason: (any Error)? { adapter.withLock { $0.reason } }

  /// The adapter's identity address, which it gives to peers that bond; with `PrivacyOptions` others see a private one.
  /// Nil before it was powered on. Not in CoreBluetooth.
  public final var address: DeviceAddress? { adapter.withLock { $0.address } }

  /// Always granted: on Linux the capabilities of the process decide, and the state is ``CBManagerState/unauthorized``
  /// where one is missing.
  open class var authorization: CBManagerAuthorization { .allowedAlways }

  /// As the class property, except that it is `denied` in the state ``CBManagerState/unauthorized``.
  open var authorization: CBManagerAuthorization { state == .unauthorized ? .denied : Self.authorization }

  /// Shuts down every stack of the process and waits for it: advertising is disabled, links are disconnected,
  /// transports are released. Call it last, also after SIGINT and SIGTERM; managers cannot be used afterwards.
  ///
  /// - Returns: whether all have ended in time.
  @discardableResult
  public static func shutDownAll(atMost patience: Duration = .seconds(4)) -> Bool {
    AdapterHub.shutDownAll(atMost: patience)
  }

  /// Attaches the manager to the host.
  ///
  /// The manager is retained for one call at a time: one that is released inside a callback ends there.
  func listen() {
    let manager = WeakObject(self)
    callMaker = DispatchWorkItem { Self.makeCalls(of: manager) }
    client.start(updatesFinished: { manager.object?.updatesFinished($0) }) { events in
      // In place (Docs/Decisions/performance.md#in-place).
      let events = events.span
      for index in events.indices { Self.makeCalls(manager.object?.take(events[index]), of: manager) }
    }
  }

  /// Takes one event of the host.
  ///
  /// - Returns: the calls that are pending then; nil for none.
  private func take(_ event: HostEvent) -> [ManagerCall]? {
    if case .address(let address) = event { adapter.withLock { $0.address = address } }
    receive(event)
    receiveSecurity(event)
    return calls.withLock { $0.take() }
  }

  /// Whether a call is pending: tests wait until none is.
  package final var hasCalls: Bool { calls.withLock { !$0.waiting.isEmpty } }

  /// The queue of the calls.
  package final var callQueue: DispatchQueue { client.queue }

  /// Appends pending calls. The caller holds the lock under which their cause happened, so that they have its order.
  final func append(_ new: [ManagerCall]) { calls.withLock { $0.waiting += new } }

  /// Appends one pending call, under the same lock.
  final func append(_ call: ManagerCall) { calls.withLock { $0.waiting.append(call) } }

  /// Appends pending calls that `call` makes of other values, under the same lock.
  final func append<Call: Sendable>(_ new: [Call], _ call: (Call) -> ManagerCall) {
    guard !new.isEmpty else { return }
    calls.withLock { calls in for one in new { calls.waiting.append(call(one)) } }
  }

  /// Makes the pending calls on the queue, after the work that is there already.
  final func scheduleCalls() { client.queue.async(execute: callMaker) }

  private static func makeCalls(of manager: WeakObject<CBManager>) {
    makeCalls(manager.object?.calls.withLock { $0.take() }, of: manager)
  }

  /// Makes calls that were pending; on the queue only.
  private static func makeCalls(_ calls: consuming [ManagerCall]?, of manager: WeakObject<CBManager>) {
    // The only reference to the array (Docs/Decisions/performance.md#in-place).
    guard var calls = calls.take() else { return }
    for index in calls.indices { manager.object?.make(calls[index]) }
    calls.removeAll(keepingCapacity: true)
    guard let manager = manager.object else { return }
    manager.calls.withLock { held in
      if held.spare.capacity == 0 { swap(&held.spare, &calls) }
    }
  }

  /// Makes one call; on the queue only. The roles override it.
  func make(_ call: ManagerCall) {
    if case .pairing(let call) = call { makePairingCall(call) }
  }

  /// The delegate for pairing; it is not retained. Without one, questions are declined.
  public final var pairingDelegate: (any CBPairingDelegate)? {
    get {
      var found: (any CBPairingDelegate)?
      delegateLock.withLock { _ in found = heldPairingDelegate }
      return found
    }
    set {
      delegateLock.withLock { _ in heldPairingDelegate = newValue }
      examine(newValue, "CBPairingDelegate") { $0 is any CBPairingDelegate.Type }
    }
  }

  /// The device at the other end of a link of this manager's role; the roles override it.
  func peer(named name: LinkID) -> CBPeer? { nil }

  /// One event of the host, on the queue. The roles override it.
  func receive(_ event: HostEvent) {}

  /// A batch of events has values that have left; on the thread of the host.
  func updatesFinished(_ events: [HostEvent]) {}

  /// Sets the adapter's state.
  ///
  /// - Returns: whether it has changed.
  final func update(state: CBManagerState, reason: (any Error)?) -> Bool {
    adapter.withLock { adapter in
      let isNew = adapter.state != state
      adapter = Adapter(
        address: adapter.address, state: state, reason: state == .poweredOn ? nil : reason)
      return isNew
    }
  }

  /// Whether commands are accepted now; logs a line where they are not.
  final func accepts(_ command: StaticString) -> Bool {
    let state = state
    guard state != .poweredOn else { return true }
    misuse(
      "\(command) is dropped: the manager can only accept this command while in the powered on state (now \(state))")
    return false
  }

  /// Logs the options of a dictionary that have no effect, each once. An option that is false is not logged.
  ///
  /// - Parameter known: the keys that have an effect.
  final func reportIgnored(_ options: [String: Any]?, of command: StaticString, known: [String]) {
    let ignored = (options ?? [:]).filter { key, value in !known.contains(key) && (value as? Bool) != false }
    for key in ignored.keys.sorted() { warnOnce("\(command): the option \(key) has no effect on Linux") }
  }

  /// Logs a line once.
  final func warnOnce(_ text: String) {
    if writtenOnce.withLock({ $0.insert(text).inserted }) { warn(text) }
  }

  /// Logs that there is something to restore and nothing receives it.
  final func reportUnusedRestoration() {
    warn(
      "the manager has a restoration identifier, and its delegate does not implement willRestoreState: what the earlier run declared is active, and the program has no objects for it until it declares the same again"
    )
  }

  final func warn(_ text: String) { log(.notice("\(type(of: self)): \(text)")) }

  final func misuse(_ text: String) { log(.misuse("API MISUSE: \(type(of: self)): \(text)")) }
}
