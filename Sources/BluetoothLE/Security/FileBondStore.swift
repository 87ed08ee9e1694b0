public import Foundation
import Glibc

/// Keeps bonds in a file that only its owner may read and write.
///
/// A file is replaced whole: the new one is written beside it, flushed to the disk and renamed, so that whatever happens
/// there is the old one or the new one. A file that cannot be understood is moved aside, never read in part, and
/// ``BondStoreError`` tells where it is.
///
/// ```swift
/// let store = FileBondStore(path: "/var/lib/clock/bonds.json")
/// let known = try store.load()?.bonds ?? []
/// ```
public final class FileBondStore: BondStore {
  public let path: String
  /// What a test lets go wrong between two steps.
  private let interruption: (@Sendable (Step) throws -> Void)?

  enum Step: CaseIterable, Sendable { case opened, halfWritten, written, flushed, renamed }

  public convenience init(path: String) { self.init(path: path, interruption: nil) }

  init(path: String, interruption: (@Sendable (Step) throws -> Void)?) {
    self.path = path
    self.interruption = interruption
  }

  public func load() throws -> BondRecord? {
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
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let data = try encoder.encode(record)
    let folder = (path as NSString).deletingLastPathComponent
    if !folder.isEmpty {
      try? FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
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
    // The folder's own entry; file systems without that are content.
    let directory = open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory >= 0 {
      fsync(directory)
      close(directory)
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
