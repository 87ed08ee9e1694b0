import BLECrypto
import BLEHost
import BLERuntime
import BLESMP
import Dispatch
import Synchronization

/// Keeps one host's bonds: hands it those of earlier runs, and writes down what changes.
///
/// All managers of a host share it; it lives as long as one of them. Files are written on a queue of its own, the newest
/// state only where several changes come at once.
final class SecurityKeeper: Sendable {
  private struct State {
    var record: BondRecord
    var isSaved = true
  }

  private let state: Mutex<State>
  private let store: any BondStore
  private let log: Log
  private let queue = DispatchQueue(label: "BluetoothLE.bonds")
  private let hearing = Mutex(Hearing())
  /// Whether the host was told to hide.
  private let isPrivate = Mutex(false)

  private struct Hearing {
    var attachment: HostAttachment?
    /// Events taken before the attachment was there to say so.
    var consumed = 0
  }

  private struct Reference: Sendable { weak var keeper: SecurityKeeper? }
  private static let keepers = Mutex<[ObjectIdentifier: Reference]>([:])

  /// The keeper of a host, made by the first who asks; `options` count only then.
  static func shared(for host: BLERuntime.Host, _ options: AdapterOptions, log: @escaping Log) -> SecurityKeeper {
    keepers.withLock { keepers in
      keepers = keepers.filter { $0.value.keeper != nil }
      if let keeper = keepers[ObjectIdentifier(host)]?.keeper {
        if options.privacy.usesPrivateAddress, !keeper.isPrivate.withLock({ $0 }) {
          log(
            .notice,
            "\(host.transport): a manager asks for a private address, and another one opened the adapter without: the identity address is shown; ask for it in all of them"
          )
        }
        return keeper
      }
      let keeper = SecurityKeeper(options.pairing.storage.store(transport: "\(host.transport)"), log: log)
      keeper.begin(host, options)
      keepers[ObjectIdentifier(host)] = Reference(keeper: keeper)
      return keeper
    }
  }

  /// Writes down what is not written yet, of all hosts; what a program does last.
  static func saveAll() {
    let all = keepers.withLock { $0.values.compactMap(\.keeper) }
    for keeper in all { keeper.settle() }
  }

  /// Waits until everything is written down.
  func settle() { queue.sync { save() } }

  init(_ store: any BondStore, log: @escaping Log) {
    (self.store, self.log) = (store, log)
    var record = BondRecord()
    do {
      record = try store.load() ?? record
    } catch {
      log(.notice, "\(error)")
    }
    if record.identityResolvingKey == nil {
      var random = RandomSource.system
      record.identityResolvingKey = SecretKey(random.uint128())
    }
    state = Mutex(State(record: record))
  }

  private func begin(_ host: BLERuntime.Host, _ options: AdapterOptions) {
    isPrivate.withLock { $0 = options.privacy.usesPrivateAddress }
    if options.privacy.usesPrivateAddress { shareKey() }
    for command in commands(options.pairing, options.privacy) { host.post(command) }
    let attached = host.attach { [weak self] events in
      for event in events { self?.receive(event) }
      self?.consumed(events.count)
    }
    hearing.withLock { $0.attachment = attached }
    consumed(0)
  }

  /// Writes our key down before it is used: a program that shares the store and begins at the same time has the same one.
  func shareKey() {
    state.withLock { $0.isSaved = false }
    settle()
    guard let shared = try? store.load()?.identityResolvingKey else { return }
    state.withLock { $0.record.identityResolvingKey = shared }
  }

  private func consumed(_ count: Int) {
    let (attachment, total) = hearing.withLock { hearing in
      hearing.consumed += count
      defer { if hearing.attachment != nil { hearing.consumed = 0 } }
      return (hearing.attachment, hearing.consumed)
    }
    if total > 0 { attachment?.consumed(total) }
  }

  /// What a host is told first.
  func commands(_ options: PairingOptions, _ privacy: PrivacyOptions = PrivacyOptions()) -> [HostCommand] {
    let record = state.withLock { $0.record }
    guard let key = record.identityResolvingKey else { return [] }
    return [
      .setBonds(record.bonds.map(\.record)), .setPairing(options.settings(identityResolvingKey: key)),
      .setPrivacy(privacy.settings(identityResolvingKey: key)),
    ]
  }

  var bonds: [Bond] { state.withLock { $0.record.bonds } }

  func receive(_ event: HostEvent) {
    switch event {
    case .bondChanged(let bond):
      change { bonds in
        if let index = bonds.firstIndex(where: { $0.record.identity == bond.identity }) {
          bonds[index] = Bond(bond)
        } else {
          bonds.append(Bond(bond))
        }
      }
    case .bondRemoved(let identity): change { $0.removeAll { $0.record.identity == identity } }
    default: break
    }
  }

  private func change(_ body: (inout [Bond]) -> Void) {
    state.withLock { state in
      body(&state.record.bonds)
      state.isSaved = false
    }
    queue.async { [self] in save() }
  }

  private func save() {
    let record: BondRecord? = state.withLock { state in
      guard !state.isSaved else { return nil }
      state.isSaved = true
      return state.record
    }
    guard let record else { return }
    do {
      try store.save(record)
    } catch {
      log(.notice, "\(error)")
    }
  }
}
