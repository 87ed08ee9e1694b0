internal import CLinux

/// An open file descriptor, closed with its owner.
///
/// Every descriptor that is opened here is closed on `exec` and is non-blocking.
package struct FileDescriptor: ~Copyable, Sendable {
  package let rawValue: Int32

  /// Takes over a descriptor that has no other owner.
  package init(adopting rawValue: Int32) { self.rawValue = rawValue }

  deinit { _ = close(rawValue) }

  /// Opens a file, device or terminal at `path`.
  package static func open(
    _ path: String, flags: Int32, mode: UInt32 = 0, through system: SystemCalls
  ) throws(SystemError) -> FileDescriptor {
    FileDescriptor(adopting: try system(.open) { ble_open(path, flags | O_CLOEXEC | O_NONBLOCK, mode) })
  }

  /// A stream socket of the address family `domain`.
  static func streamSocket(domain: Int32, through system: SystemCalls) throws(SystemError) -> FileDescriptor {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return FileDescriptor(adopting: try system(.socket) { socket(domain, type, 0) })
  }

  /// Sets an option whose value is a C int.
  package func setOption(
    level: Int32, _ name: Int32, _ value: Int32, through system: SystemCalls
  ) throws(SystemError) {
    var value = value
    try system(.socketOption) {
      unsafe setsockopt(rawValue, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }
  }

  /// The error number of a non-blocking connect that has ended; 0 for success.
  package func pendingError(through system: SystemCalls) throws(SystemError) -> Int32 {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    try system(.connect) { unsafe getsockopt(rawValue, SOL_SOCKET, SO_ERROR, &value, &length) }
    return value
  }
}

/// A path in the file system that is removed with its owner, unless another file has taken its place.
struct OwnedPath: ~Copyable, Sendable {
  let path: String
  private let identity: FileIdentity?

  /// Takes over the file that was just created at `path`.
  init(madeAt path: String) {
    self.path = path
    identity = FileIdentity(at: path)
  }

  deinit {
    // Nobody puts another file there between the comparison and the removal.
    let lock = FolderLock(of: path, waiting: .milliseconds(200), through: .kernel)
    if let identity, FileIdentity(at: path) == identity { _ = unlink(path) }
    _ = consume lock
  }
}

/// The identity of the file at a path; symbolic links are not followed.
package struct FileIdentity: Equatable, Sendable {
  enum Kind: Sendable { case socket, link, other }

  let kind: Kind
  private let device: UInt
  private let node: UInt
  private let changed: Int

  package init?(at path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    device = UInt(status.st_dev)
    node = UInt(status.st_ino)
    changed = status.st_ctim.tv_nsec
    kind =
      switch status.st_mode & mode_t(S_IFMT) {
      case mode_t(S_IFSOCK): .socket
      case mode_t(S_IFLNK): .link
      default: .other
      }
  }
}
