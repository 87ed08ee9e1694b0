public import Foundation
import Glibc
import Synchronization

/// Keeps bonds in a file that only its owner may read and write.
///
/// A file is replaced whole: the new one is written beside it, flushed to the disk and renamed, so that whatever happens
/// there is the old one or the new one. A file that cannot be understood is moved aside, never read in part, and
/// ``BondStoreError`` tells where it is.
///
/// Programs may share a file. A store that has loaded it writes down what changed since and leaves what others have written
/// meanwhile; one that has not replaces everything. What others have written is known at the next load.
///
/// ```swift
/// let store = FileBondStore(path: "/var/lib/clock/bonds.json")
/// let known = try store.load()?.bonds ?? []
/// ```
public final class FileBondStore: BondStore {
  public let path: String
  /// What was last loaded or saved here: by comparison, what has changed.
  private let known = Mutex<BondRecord?>(nil)
  /// How long another program may be writing.
  private let patience: Duration
  /// What a test lets go wrong between two steps.
  private let interruption: (@Sendable (Step) throws -> Void)?

  enum Step: CaseIterable, Sendable { case opened, halfWritten, written, flushed, renamed }

  public convenience init(path: String) { self.init(path: path, interruption: nil) }

  init(
    path: String, patience: Duration = .seconds(2), interruption: (@Sendable (Step) throws -> Void)?
  ) {
    self.path = path
    self.patience = patience
    self.interruption = interruption
  }

  public func load() throws -> BondRecord? {
    let record = try read()
    known.withLock { $0 = record ?? BondRecord() }
    return record
  }

  private func read() throws -> BondRecord? {
    let data: Data
    do {
      data = try Data(contentsOf: URL(fileURLWithPath: path))
    } catch CocoaError.fileReadNoSuchFile {
      return nil
    } catch {
      throw BondStoreError(path, "cannot be read: \(error.localizedDescription)", "make it readable for this program")
    }
    do {
      return try JSONDecoder().decode(BondRecord.self, from: data)
    } catch {
      let aside = setAside()
      throw BondStoreError(
        path, "is no file of bonds\(Self.explain(error))",
        aside.map { "it was moved to \($0); devices have to pair again" }
          ?? "it could not be moved aside: remove it")
    }
  }

  public func save(_ record: BondRecord) throws {
    let folder = (path as NSString).deletingLastPathComponent
    if !folder.isEmpty {
      try? FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    let directory = open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if directory >= 0 { close(directory) } }
    try lock(directory)
    var merged = record
    // What cannot be understood has been set aside by now.
    if let base = known.withLock({ $0 }), let theirs = (try? read()) ?? nil {
      merged = record.merged(with: theirs, since: base)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try replace(with: try encoder.encode(merged))
    // The folder's own entry; file systems without that are content.
    if directory >= 0 { fsync(directory) }
    known.withLock { $0 = record }
  }

  /// Keeps other writers of the folder out until its descriptor is closed. A file system that has no locks has no say.
  private func lock(_ directory: Int32) throws {
    let clock = ContinuousClock()
    let end = clock.now + patience
    while directory >= 0, flock(directory, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { return }
      guard clock.now < end else {
        throw BondStoreError(
          path, "is being written by another program, which has not finished in \(patience)",
          "end that program, or give each a file of its own with PairingOptions.storage or BLE_BONDS")
      }
      usleep(5_000)
    }
  }

  private func replace(with data: Data) throws {
    let new = "\(path).\(getpid()).new"
    unlink(new)
    let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure("cannot be written") }
    do {
      defer { close(file) }
      try interruption?(.opened)
      let half = data.count / 2
      try write(data.prefix(half), to: file)
      try interruption?(.halfWritten)
      try write(data.dropFirst(half), to: file)
      try interruption?(.written)
      guard fsync(file) == 0 else { throw failure("cannot be flushed") }
      try interruption?(.flushed)
      guard rename(new, path) == 0 else { throw failure("cannot be replaced") }
      try interruption?(.renamed)
    } catch {
      // After a rename there is nothing of that name any more.
      unlink(new)
      throw error
    }
  }

  private func write(_ data: Data, to file: Int32) throws {
    var rest = data
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure("cannot be written") }
      rest = rest.dropFirst(count)
    }
  }

  /// Moves what cannot be read to the first free name beside it.
  private func setAside() -> String? {
    for number in 1...1000 {
      let aside = "\(path).corrupt-\(number)"
      guard !FileManager.default.fileExists(atPath: aside) else { continue }
      return rename(path, aside) == 0 ? aside : nil
    }
    return nil
  }

  private func failure(_ what: String) -> BondStoreError {
    let why = String(cString: strerror(errno))
    return BondStoreError(path, "\(what): \(why)", "bonds made now are lost when the program ends")
  }

  /// What the decoder says, without the octets it stumbled over: they may be a key.
  private static func explain(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, _): " (\"\(key.stringValue)\" is missing)"
    case DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty:
      " (\(context.codingPath.map(\.stringValue).joined(separator: ".")))"
    default: ""
    }
  }
}

/// Why bonds could not be kept or read, and what mends it.
public struct BondStoreError: Error, Hashable, Sendable, CustomStringConvertible, LocalizedError {
  public let path: String
  public let description: String

  init(_ path: String, _ what: String, _ remedy: String) {
    self.path = path
    description = "the bonds in \(path): the file \(what); \(remedy)"
  }

  public var errorDescription: String? { description }
}
