import BLECrypto
package import BLEHost
package import BLELinux
package import BLESMP
package import BLEWire
import Dispatch
import Synchronization

/// Stores the bonds of one host: posts those of earlier runs, and saves changes.
///
/// All clients of a host share it. The store is called on a queue of its own, with only the newest state if several
/// changes come at once; ``BondSaveSchedule`` decides when. A store that could not be loaded is not saved to: each
/// attempt to save loads it first, until that succeeds.
package final class BondStorage: Sendable {
  /// The clock and the timer, which tests replace.
  package struct Timing: Sendable {
    package var now: @Sendable () -> Instant
    /// Calls the body after the delay, one at a time.
    package var after: @Sendable (_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Void

    package init(
      now: @escaping @Sendable () -> Instant,
      after: @escaping @Sendable (_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Void
    ) {
      (self.now, self.after) = (now, after)
    }
  }

  fileprivate struct State {
    var record: BondRecord
    /// The key of our private addresses in this run; another one than that of the record only after a late load.
    var key: SecretKey
    var isLoaded: Bool
    /// Bonds removed before the store could be loaded, the newest last.
    var removed: [DeviceAddress] = []
    var schedule = BondSaveSchedule()
    /// When the timer that was started last fires.
    var timer: Instant?
    /// How many changes there were, and how many of them the last attempt to save has included.
    private(set) var changes = 0
    var attempted = 0
    /// The bonds that the store has, as far as this storage knows, and why the last attempt to save failed.
    var stored: [Bond] = []
    var failure: (any Error)?

    mutating func change(_ urgency: BondSaveSchedule.Urgency, now: Instant) {
      changes += 1
      schedule.change(urgency, now: now)
    }

    /// Whether nothing of a bond is lost if the program ends: the store has its keys, or there is no bond.
    func isStored(_ identity: DeviceAddress) -> Bool {
      guard let bond = record.bonds.first(where: { $0.identity == identity.identity }) else { return true }
      return stored.contains { $0.isSamePairing(as: bond) }
    }
  }

  /// Bonds that may be removed while the store cannot be loaded; of more, the oldest are restored with it.
  static let removedLimit = 1024

  private let state: Mutex<State>
  private let store: any BondStore
  private let log: Log
  private let timing: Timing
  private let queue: DispatchQueue
  private let receiver = Mutex(Receiver())
  /// Not a closure alone: a mutex of one wraps it once more at each access, and never frees it.
  private struct Receiver { var post: (@Sendable (HostCommand) -> Void)? }
  /// The saves of all storages that are running on a queue.
  private static let saves = DispatchGroup()

  /// Waits for running saves. The storages may have been released already: the last client of a host has left, and the
  /// changes from the end of its links are being saved.
  ///
  /// - Returns: whether all have ended in time.
  package static func waitForSaves(atMost patience: Duration) -> Bool {
    let (seconds, attoseconds) = patience.components
    let nanoseconds = Int(clamping: seconds) &* 1_000_000_000 &+ Int(attoseconds / 1_000_000_000)
    return saves.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success
  }

  /// Saves what is not saved yet, and waits for it.
  ///
  /// - Parameter isLast: whether the program ends, so that a failure loses the changes.
  package func settle(isLast: Bool = false) {
    queue.sync { save(isLast: isLast) }
    startTimer()
  }

  /// - Parameter timing: the real time if it is nil.
  package init(_ store: any BondStore, log: @escaping Log, timing: Timing? = nil) {
    (self.store, self.log) = (store, log)
    let queue = DispatchQueue(label: "BluetoothLE.bonds")
    self.queue = queue
    let clock = MonotonicClock()
    self.timing =
      timing
      ?? Timing(
        now: { clock.now() },
        after: { delay, body in
          let (seconds, attoseconds) = delay.components
          let nanoseconds = Int(clamping: seconds) &* 1_000_000_000 &+ Int(attoseconds / 1_000_000_000)
          queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: body)
        })
    var record = BondRecord()
    var isLoaded = true
    do {
      record = try store.load() ?? record
    } catch {
      isLoaded = false
      log(.notice("\(error)", .storage))
    }
    var random = RandomSource.system
    let key = record.identityResolvingKey ?? SecretKey(random.uint128())
    record.identityResolvingKey = key
    state = Mutex(State(record: record, key: key, isLoaded: isLoaded, stored: record.bonds))
  }

  deinit { save(isLast: true) }

  /// Sets the receiver of the store's commands to the host.
  package func report(to post: @escaping @Sendable (HostCommand) -> Void) { receiver.withLock { $0.post = post } }

  /// Saves our key before it is used: a program that shares the store and begins at the same time has the same key.
  /// Call it before anything else changes.
  package func shareKey() {
    state.withLock { $0.change(.atOnce, now: timing.now()) }
    settle()
    guard let shared = queue.sync(execute: { try? store.load() }), let key = shared.identityResolvingKey else { return }
    state.withLock { ($0.record, $0.key) = (shared, key) }
  }

  /// The bonds, and the key of our private addresses in this run.
  package var contents: (bonds: [Bond], identityResolvingKey: SecretKey) {
    state.withLock { ($0.record.bonds, $0.key) }
  }

  package var bonds: [Bond] { state.withLock { $0.record.bonds } }

  /// Reports whether the bond with a device is stored, on another thread. If it is not, and was not tried since the
  /// last change, it is saved first.
  ///
  /// - Parameter report: has the error of the attempt that failed; nil if the bond is stored, or if there is none.
  package func confirm(_ identity: DeviceAddress, _ report: @escaping @Sendable ((any Error)?) -> Void) {
    Self.saves.enter()
    queue.async { [self] in
      if state.withLock({ !$0.isStored(identity) && $0.attempted < $0.changes }) { save() }
      report(state.withLock { $0.isStored(identity) ? nil : $0.failure })
      Self.saves.leave()
      startTimer()
    }
  }

  /// Stores the name of a bonded device; a name that is empty or too long is ignored.
  package func note(name: String, of device: DeviceAddress) {
    guard !name.isEmpty, name.utf8.count <= Bond.nameLimit else { return }
    let now = timing.now()
    let isNew = state.withLock { state in
      guard let index = state.record.bonds.firstIndex(where: { $0.identity == device.identity }),
        state.record.bonds[index].name != name
      else { return false }
      state.record.bonds[index].nameOctets = Array(name.utf8)
      state.change(.soon, now: now)
      return true
    }
    if isNew { startTimer() }
  }

  package func receive(_ event: HostEvent.Bonds) {
    let now = timing.now()
    state.withLock { state in
      switch event {
      case .changed(let bond): state.update(bond, now: now)
      case .removed(let identity): state.remove(identity, now: now)
      // What is stored stays; a change follows if there is one.
      case .replaced, .lost: break
      }
    }
    startTimer()
  }
}

extension BondStorage.State {
  fileprivate mutating func update(_ bond: Bond, now: Instant) {
    guard let index = record.bonds.firstIndex(where: { $0.identity == bond.identity }) else {
      record.bonds.append(bond)
      return change(.atOnce, now: now)
    }
    let old = record.bonds[index]
    // The host does not change names, and has those that were stored when it began.
    var bond = bond
    bond.nameOctets = old.nameOctets ?? bond.nameOctets
    record.bonds[index] = bond
    if bond != old { change(bond.isSamePairing(as: old) ? .soon : .atOnce, now: now) }
  }

  fileprivate mutating func remove(_ identity: DeviceAddress, now: Instant) {
    let count = record.bonds.count
    record.bonds.removeAll { $0.identity == identity }
    // A removal is reported twice: by the client that asks for it, and by the host.
    guard !isLoaded || record.bonds.count < count else { return }
    if !isLoaded { removed = removed.suffix(BondStorage.removedLimit - 1) + [identity] }
    change(.atOnce, now: now)
  }

  /// Adds the content of a store that could not be loaded before. Peers of this run have the key of this run; those of
  /// earlier runs are more numerous, so their key stays in the store.
  fileprivate mutating func add(_ loaded: BondRecord) {
    record = record.merged(with: loaded, since: BondRecord())
    record.bonds.removeAll { bond in
      removed.contains(bond.identity) && loaded.bonds.contains(bond)
    }
    (isLoaded, removed) = (true, [])
  }
}

/// Saving, on the queue.
extension BondStorage {
  private func startTimer() {
    let now = timing.now()
    let delay: Duration? = state.withLock { state in
      guard let deadline = state.schedule.deadline, state.timer.map({ deadline < $0 }) ?? true else { return nil }
      state.timer = deadline
      return max(.zero, deadline - now)
    }
    guard let delay else { return }
    timing.after(delay) { [weak self] in
      Self.saves.enter()
      self?.timerFired()
      Self.saves.leave()
    }
  }

  private func timerFired() {
    let now = timing.now()
    let isDue = state.withLock { state in
      state.timer = nil
      return state.schedule.deadline.map { $0 <= now } ?? false
    }
    if isDue { save() }
    startTimer()
  }

  private func save(isLast: Bool = false) {
    let now = timing.now()
    let isPending = state.withLock { state in
      guard state.schedule.deadline != nil else { return false }
      state.schedule.begin(now: now)
      state.attempted = state.changes
      return true
    }
    guard isPending else { return }
    do {
      if !state.withLock({ $0.isLoaded }) { try loadLate() }
      let record = state.withLock { $0.record }
      var limited = record
      limited.limitAttributeCaches()
      try store.save(limited)
      state.withLock { ($0.stored, $0.failure) = (record.bonds, nil) }
      // Sign counters wait for it.
      receiver.withLock { $0.post }?(.security(.bondsStored(record.bonds)))
      let failures = state.withLock { $0.schedule.succeed() }
      if failures > 0 { log(.notice("bonds are saved again, after \(failures) failed attempts", .storage)) }
    } catch {
      let isFirst = state.withLock { state in
        state.failure = error
        return state.schedule.fail(now: timing.now())
      }
      if isLast {
        log(.notice("bonds that changed are lost: \(error)", .storage))
      } else if isFirst {
        log(.notice("bonds are kept in memory, and saving is tried again: \(error)", .storage))
      }
    }
  }

  /// Loads the store that could not be loaded before; the host gets its content.
  private func loadLate() throws {
    let loaded = try store.load() ?? BondRecord()
    let bonds = state.withLock { state in
      state.add(loaded)
      return state.record.bonds
    }
    guard !loaded.bonds.isEmpty else { return }
    log(.notice("bonds of \(loaded.bonds.count) devices are loaded now", .storage))
    receiver.withLock { $0.post }?(.security(.setBonds(bonds)))
  }
}
