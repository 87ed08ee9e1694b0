internal import CBluetoothLinux

/// A name in the file system that goes when its owner lets it go, unless somebody replaced it meanwhile.
struct OwnedPath: ~Copyable, Sendable {
  let path: String
  private let identity: FileIdentity?

  /// Takes over what was just made at `path`.
  init(madeAt path: String) {
    self.path = path
    identity = FileIdentity(at: path)
  }

  deinit {
    if let identity, FileIdentity(at: path) == identity { _ = unlink(path) }
  }
}

/// Which file a path means, links not followed.
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
