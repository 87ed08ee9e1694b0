package import BLELinux
import Glibc
import Synchronization

/// Keeps bonds in a file that only its owner may read and write.
///
/// A file is replaced as a whole: the new one is written beside it, flushed to the disk and renamed, so that there is
/// always either the old one or the new one.
///
/// The file belongs to the effective user of the process, is a regular file and gives group and others no access; its
/// folder belongs to that user or root and is not writable for group or others. A file or folder that differs is
/// neither read nor replaced. A file whose content is not a record of bonds is moved to `NAME.corrupt-1` (and so on),
/// never read in part; ``load()`` throws an error that says where it is, and the next ``load()`` finds no file. A file
/// of a newer version stays where it is, and is not replaced.
///
/// A file has at most 1,024 bonds, 1 MiB of what was discovered of the devices, and 2 MiB of their subscriptions: more
/// is not written, discoveries first. Thus every file that is written can be read.
///
/// Programs may share a file, and lock `NAME.lock` beside it while they write. A store that has loaded the file writes
/// the changes since then, and keeps what others have written meanwhile; a store that has not loaded it replaces
/// everything. Changes by others are known at the next load.
///
/// ```swift
/// let store = FileBondStore(path: "/var/lib/clock/bonds.json")
/// let known = try store.load()?.bonds ?? []
/// ```
public final class FileBondStore: BondStore {
  /// The path of the file, as it was given.
  public let path: String
  /// The record that was last loaded or saved here; changes are found by comparison.
  private let known = Mutex<BondRecord?>(nil)
  /// The content of the file as it was last read or written here: a save compares it with the file, and decodes the
  /// file only if another program has changed it.
  private let lastContent = Mutex<(octets: [UInt8], record: BondRecord)?>(nil)
  /// What the last save has removed.
  private let lastRemoval = Mutex(BondRecord.Removal())
  /// How long another program may be writing.
  private let patience: Duration
  private let clock: FileLock.Clock
  private let log: Log
  /// A fault that a test injects between two steps.
  private let interruption: (@Sendable (Step) throws -> Void)?

  package typealias Step = PrivateFolder.Step

  private static let loading = "the bonds cannot be loaded"

  /// Creates a store over a file.
  ///
  /// - Parameter path: the path of the file, which is created with the first save.
  public convenience init(path: String) { self.init(path: path, log: BluetoothLog.write) }

  package init(
    path: String, patience: Duration = .seconds(2), clock: FileLock.Clock = .system,
    log: @escaping Log = BluetoothLog.write, interruption: (@Sendable (Step) throws -> Void)? = nil
  ) {
    self.path = path
    (self.patience, self.clock) = (patience, clock)
    self.log = log
    self.interruption = interruption
  }

  /// Loads the bonds, and removes what killed programs have left of their writes beside the file.
  public func load() throws -> BondRecord? {
    let record = try reporting(Self.loading) { try read() }
    known.withLock { $0 = record ?? BondRecord() }
    return record
  }

  /// The record in the file; nil if there is no file. Nothing is changed, moved or created.
  package func contents() throws -> BondRecord? {
    try reporting(Self.loading) {
      let (folder, name) = Self.split(path)
      guard let octets = try PrivateFolder.open(folder)?.read(name) else { return nil }
      do {
        return try BondRecord(decoding: octets)
      } catch let error as CorruptRecord {
        throw BondStoreError(
          path, Self.loading, because: error.description,
          remedy: "Remove it, or name another file with PairingOptions.storage or BLE_BONDS.")
      }
    }
  }

  private func read() throws -> BondRecord? {
    let (path, name) = Self.split(path)
    guard let folder = try PrivateFolder.open(path) else { return nil }
    if folder.hasUnfinished(name), let lock = try? folder.lock(name, waiting: .zero) { lock.release() }
    guard let octets = try folder.read(name) else { return nil }
    do {
      return try decode(octets)
    } catch is CorruptRecord {
      // Once more with the lock: another program may have replaced it meanwhile.
      let lock = try folder.lock(name, waiting: patience, on: clock)
      let content = try content(of: name, in: folder)
      lock.release()
      return try content.get()
    }
  }

  public func save(_ record: BondRecord) throws {
    let removal = try reporting("the bonds cannot be saved") { try write(record) }
    known.withLock { $0 = record }
    let isNew = lastRemoval.withLock { last in
      defer { last = removal }
      return removal != last
    }
    if isNew, removal != BondRecord.Removal() { log(.notice("\(path): \(removal)", .storage)) }
  }

  private func write(_ record: BondRecord) throws -> BondRecord.Removal {
    let (path, name) = Self.split(path)
    guard let folder = try PrivateFolder.open(path, isMade: true) else {
      throw FileRefusal.failed(SystemError(.open, ENOENT))
    }
    // Before any file is created beside it.
    try folder.check(name)
    let lock = try folder.lock(name, waiting: patience, on: clock)
    var merged = record
    // A file that cannot be read ends the call here, and stays.
    switch try content(of: name, in: folder) {
    case .success(let theirs):
      if let base = known.withLock({ $0 }), let theirs { merged = record.merged(with: theirs, since: base) }
    case .failure(let error): log(.notice("\(error)", .storage))
    }
    let removal = merged.limit()
    let octets = try merged.encoded()
    try folder.replace(name, with: octets) { try interruption?($0) }
    lock.release()
    lastContent.withLock { $0 = (octets, merged) }
    return removal
  }

  private func decode(_ octets: [UInt8]) throws -> BondRecord {
    if let last = lastContent.withLock({ $0 }), last.octets == octets { return last.record }
    let record = try BondRecord(decoding: octets)
    lastContent.withLock { $0 = (octets, record) }
    return record
  }

  /// The content of the file; call it with the lock held.
  ///
  /// - Returns: nil if there is no file; a failure if it was not a record of bonds and has been set aside.
  /// - Throws: if it can be neither read nor set aside, and if a newer version has written it.
  private func content(
    of name: String, in folder: borrowing PrivateFolder
  ) throws -> Result<BondRecord?, BondStoreError> {
    guard let octets = try folder.read(name) else { return .success(nil) }
    do {
      return .success(try decode(octets))
    } catch let error as CorruptRecord {
      let (reason, failure) = (error.description, Self.loading)
      guard let aside = folder.setAside(name) else {
        throw BondStoreError(path, failure, because: reason, remedy: "It could not be moved aside: remove it.")
      }
      let place = path.dropLast(name.count) + aside
      return .failure(
        BondStoreError(path, failure, because: reason, remedy: "It was moved to \(place): pair the devices again."))
    }
  }

  private func reporting<Result>(_ failure: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let refusal as FileRefusal {
      throw BondStoreError(path, failure, refusal)
    } catch let newer as NewerVersion {
      throw BondStoreError(
        path, failure, because: newer.description,
        remedy: "\(NewerVersion.remedy), or name another file with PairingOptions.storage or BLE_BONDS.")
    }
  }

  /// The path of a file of another kind beside a file of bonds: `clock.KIND.json` beside `clock.json`.
  package static func path(beside bonds: String, _ kind: String) -> String {
    "\(bonds.hasSuffix(".json") ? String(bonds.dropLast(5)) : bonds).\(kind).json"
  }

  /// The folder, empty for the working one, and the name in it, empty if the path ends with a slash.
  static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return ("", path) }
    let folder = slash == path.startIndex ? "/" : String(path[..<slash])
    return (folder, String(path[path.index(after: slash)...]))
  }
}
