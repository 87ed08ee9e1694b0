import BLEJSON
package import BLELinux
import Dispatch
import Synchronization

/// Keeps the declarations of one manager for the next manager with its identifier: the storage below CoreBluetooth's
/// state restoration.
///
/// While the manager exists, its state is a file beside the bonds of the adapter, by the rules of that file
/// (``FileBondStore``): it has the permissions 0600, is replaced as a whole, and is neither read nor replaced if
/// another user could have written it. If bonds are kept in memory, there is no file. Changes are saved 200 ms after
/// the first of them.
///
/// | end | the state |
/// |---|---|
/// | the process is killed or crashes | stays in the file, for the next process |
/// | the process ends in an orderly way (``OrderlyEnd``), or calls ``endAll()`` | is removed |
/// | the manager is released, and its process continues | is removed from the file, and kept for the next manager in this process |
///
/// A store belongs to one manager at a time. It locks `NAME.lock` beside the file until the manager ends; the lock ends
/// with the process, however that ends.
///
/// ```swift
/// let store = RestorationStore.open("main", .central, beside: "/var/lib/clock/bonds.json", "linux:hci0", log: log)
/// let octets = store?.load()
/// ```
package final class RestorationStore: Sendable {
  /// The role of a manager; managers of both roles may have the same identifier.
  package enum Role: String, Codable, Sendable { case central, peripheral }

  /// The version of the states. A file of a newer one is neither restored, replaced nor removed.
  package static let version = 1
  /// The program in a state (``NewerVersion``).
  package static let writer = NewerVersion.writer
  /// The longest state, in octets. A longer one is not saved.
  package static let lengthLimit = 1 << 20
  /// The longest identifier, in octets of UTF-8.
  package static let identifierLimit = 1_024
  /// The time from a change to its saving.
  static let interval = DispatchTimeInterval.milliseconds(200)
  /// Calls its argument when ``interval`` has passed.
  package typealias Timer = @Sendable (@escaping @Sendable () -> Void) -> Void

  package let identifier: String
  package let role: Role

  private enum Place: Sendable {
    /// The path of the file, also the key of ``memory``.
    case file(String)
    /// The key of ``memory``.
    case memory(String)

    var key: String {
      switch self {
      case .file(let key), .memory(let key): key
      }
    }
  }

  private struct State: Sendable {
    var due: (@Sendable () -> [UInt8]?)?
    /// The content of the file.
    var saved: [UInt8]?
    /// The state that was loaded, saved or settled last.
    var latest: [UInt8]?
    /// ``endAll()`` was called.
    var hasEnded = false
    /// Another manager may have the identifier.
    var isReleased = false
    var hasReportedFailure = false
  }

  private let place: Place
  private let log: Log
  private let state = Mutex(State())
  private let claim: Mutex<FileLock?>
  /// Removes the file when the process ends in an orderly way; nil after the end of the store, and without a file.
  private let file: Mutex<FileAtEnd?>
  private let writing = Mutex(())
  private let later: Timer

  private struct Reference: Sendable { weak var store: RestorationStore? }
  private static let stores = Mutex<[ObjectIdentifier: Reference]>([:])
  /// The last states of the managers that this process has released.
  private static let memory = Mutex<[String: [UInt8]]>([:])
  /// Those that a manager uses now.
  private static let claimed = Mutex<Set<String>>([])

  private init(
    _ identifier: String, _ role: Role, _ place: Place, _ lock: consuming FileLock?, _ file: FileAtEnd?,
    log: @escaping Log, later: Timer?
  ) {
    (self.identifier, self.role, self.place, self.log) = (identifier, role, place, log)
    let queue = DispatchQueue(label: "BluetoothLE.restoration")
    self.later = later ?? { queue.asyncAfter(deadline: .now() + Self.interval, execute: $0) }
    claim = Mutex(lock)
    self.file = Mutex(file)
  }

  deinit {
    let this = ObjectIdentifier(self)
    _ = Self.stores.withLock { $0.removeValue(forKey: this) }
    release()
  }

  /// Whether an identifier can be used; the log says why not.
  package static func isUsable(_ identifier: String, log: Log) -> Bool {
    if 1...identifierLimit ~= identifier.utf8.count { return true }
    log(
      .misuse(
        "API MISUSE: a restoration identifier of \(identifier.utf8.count) octets is not allowed, and nothing is "
          + "restored: 1 to \(identifierLimit)"
      ))
    return false
  }

  /// The store of a manager.
  ///
  /// - Parameters:
  ///   - bonds: the path of the file of bonds; nil keeps the state in memory.
  ///   - later: the real time if it is nil.
  /// - Returns: nil, with a line in the log, if another manager uses the identifier, and if the file cannot be trusted.
  package static func open(
    _ identifier: String, _ role: Role, beside bonds: String?, _ transport: String, log: @escaping Log,
    later: Timer? = nil
  ) -> RestorationStore? {
    let store: RestorationStore
    if let bonds {
      let path = path(identifier, role, beside: bonds)
      do {
        let (parent, name) = FileBondStore.split(path)
        guard let folder = try PrivateFolder.open(parent, isMade: true) else { return nil }
        try folder.check(name)
        let lock = try folder.lock(name, waiting: .zero)
        let file = try folder.removeAtEnd(name)
        store = RestorationStore(identifier, role, .file(path), lock, file, log: log, later: later)
      } catch FileRefusal.isLocked {
        reportUse(of: identifier, role, log)
        return nil
      } catch {
        log(
          .notice(
            "\(path): the state of the \(role) manager “\(identifier)” is neither restored nor saved (\(error)).",
            .storage))
        return nil
      }
    } else {
      let key = "\(transport) \(role) \(identifier)"
      guard claimed.withLock({ $0.insert(key).inserted }) else {
        reportUse(of: identifier, role, log)
        return nil
      }
      store = RestorationStore(identifier, role, .memory(key), nil, nil, log: log, later: later)
    }
    stores.withLock { $0[ObjectIdentifier(store)] = Reference(store: store) }
    return store
  }

  private static func reportUse(of identifier: String, _ role: Role, _ log: Log) {
    log(
      .misuse(
        "API MISUSE: the restoration identifier “\(identifier)” is in use by another \(role) manager, of this process "
          + "or another one: nothing is restored. Give each manager an identifier of its own"
      ))
  }

  /// `clock.json` becomes `clock.central-0123456789abcdef.json`: the number is the FNV-1a hash of the identifier, which
  /// may have characters that no file name has.
  private static func path(_ identifier: String, _ role: Role, beside bonds: String) -> String {
    let hash = identifier.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    let digits = String(hash, radix: 16)
    return FileBondStore.path(beside: bonds, "\(role)-\(String(repeating: "0", count: 16 - digits.count))\(digits)")
  }

  /// The earlier state of the manager with this identifier; nil if there is none.
  package func load() -> [UInt8]? {
    // A file belongs to a process that was killed after this one released its last manager.
    let (octets, saved) = loadFile().map { ($0, $0) } ?? (Self.memory.withLock { $0[place.key] }, nil)
    if let octets, octets.count > Self.lengthLimit {
      report("cannot be restored (it is longer than \(Self.lengthLimit) octets)")
      return nil
    }
    if let octets, let json = try? JSON(decoding: octets) {
      do throws(NewerVersion) { try NewerVersion.check(json, reads: Self.version) } catch {
        report("is neither restored nor saved (\(error)). \(NewerVersion.remedy), or remove the file")
        leaveFile()
        return nil
      }
    }
    state.withLock { ($0.saved, $0.latest) = (saved, octets) }
    return octets
  }

  /// Saves nothing from now on. The file stays as it is, whatever the end of the process.
  private func leaveFile() {
    state.withLock { ($0.hasEnded, $0.due) = (true, nil) }
    file.withLock { $0 = nil }
  }

  private func loadFile() -> [UInt8]? {
    guard case .file(let path) = place else { return nil }
    do {
      let (parent, name) = FileBondStore.split(path)
      return try PrivateFolder.open(parent)?.read(name)
    } catch {
      report("cannot be restored (\(error))")
      return nil
    }
  }

  /// Logs why a state is not restored or saved.
  package func report(_ failure: String) {
    let place = if case .file(let path) = place { "\(path): " } else { "" }
    log(.notice("\(place)the state of the \(role) manager “\(identifier)” \(failure).", .storage))
  }

  /// Saves what `content` returns, in 200 ms; nil is nothing.
  package func schedule(_ content: @escaping @Sendable () -> [UInt8]?) {
    let isFirst = state.withLock { state in
      guard state.due == nil, !state.hasEnded else { return false }
      state.due = content
      return true
    }
    guard isFirst else { return }
    later { [weak self] in self?.saveDue() }
  }

  /// Ends the store. What `content` returns is the last state of the manager, for the next one in this process; nil is
  /// the state that was saved last. Another manager may have the identifier when the call returns, even if a timer
  /// holds the store a moment longer.
  package func settle(_ content: () -> [UInt8]?) {
    if state.withLock({ !$0.hasEnded }), let octets = content(), isShortEnough(octets) {
      state.withLock { $0.latest = octets }
    }
    release()
  }

  /// Ends all saving and the claim on the identifier, after a write that another thread has begun.
  private func release() {
    writing.withLock { _ in
      let latest: [UInt8]?? = state.withLock { state in
        defer { state.isReleased = true }
        return state.isReleased ? nil : .some(state.hasEnded ? nil : state.latest)
      }
      guard let latest else { return }
      if let latest { Self.memory.withLock { $0[place.key] = latest } }
      file.withLock { $0.take() }?.remove()
      claim.withLock { $0 = nil }
      if case .memory(let key) = place { _ = Self.claimed.withLock { $0.remove(key) } }
    }
  }

  /// Removes the states of all stores of the process, which ends in an orderly way: the stores save nothing afterwards,
  /// and nothing is restored.
  package static func endAll() {
    for store in stores.withLock({ $0.values.compactMap(\.store) }) { store.end() }
    memory.withLock { $0.removeAll() }
  }

  private func end() {
    writing.withLock { _ in
      state.withLock { ($0.hasEnded, $0.due) = (true, nil) }
      file.withLock { $0 }?.remove()
    }
  }

  private func saveDue() {
    guard let octets = state.withLock({ $0.due.take() })?() else { return }
    writing.withLock { _ in write(octets) }
  }

  /// Writes a state that has changed; with the lock ``writing``.
  private func write(_ octets: [UInt8]) {
    let isNew = state.withLock { !$0.isReleased && !$0.hasEnded && $0.saved != octets }
    guard isNew, isShortEnough(octets) else { return }
    if case .file(let path) = place {
      guard !OrderlyEnd.hasBegun else { return }
      do {
        let (parent, name) = FileBondStore.split(path)
        guard let folder = try PrivateFolder.open(parent, isMade: true) else { return }
        try folder.check(name)
        try folder.replace(name, with: octets)
      } catch {
        return reportOnce("is not saved (\(error))")
      }
      // The end of the process has begun in the meantime.
      if OrderlyEnd.hasBegun { file.withLock { $0 }?.remove() }
    }
    state.withLock { state in
      (state.saved, state.latest) = (octets, octets)
      state.hasReportedFailure = false
    }
  }

  private func isShortEnough(_ octets: [UInt8]) -> Bool {
    if octets.count <= Self.lengthLimit { return true }
    reportOnce("is not saved (it has \(octets.count) octets, more than \(Self.lengthLimit))")
    return false
  }

  private func reportOnce(_ failure: String) {
    let isFirst = state.withLock { state in
      defer { state.hasReportedFailure = true }
      return !state.hasReportedFailure
    }
    if isFirst { report(failure) }
  }
}
