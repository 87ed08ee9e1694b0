internal import CLinux

/// The properties of an open file that decide whether it is trusted.
///
/// They come from the descriptor (`fstat`), so the file cannot be exchanged between the check and its use.
struct FileStatus {
  enum Kind { case regular, folder, pipe, characterDevice, other }

  let kind: Kind
  /// The user ID of the owner.
  let owner: UInt32
  /// The permission bits of the owner, the group and others, without set-user-ID, set-group-ID and sticky.
  let permissions: UInt32
  /// The sticky bit. In a folder with this bit, only the owner of a file can rename or remove the file.
  let isSticky: Bool
  /// The number of names (hard links).
  let names: UInt

  /// Permission bits that let the group or others read, write or run a file.
  static let groupAndOthers: UInt32 = 0o077
  /// Permission bits that let the group or others change a folder.
  static let writeOfGroupAndOthers: UInt32 = 0o022
  /// Permission to read and write for the owner alone.
  static let ownerOnly: UInt32 = 0o600

  init(of descriptor: borrowing FileDescriptor, through system: SystemCalls) throws(FileRefusal) {
    let number = descriptor.rawValue
    var status = stat()
    try system.file(.stat) { unsafe fstat(number, &status) }
    kind =
      switch status.st_mode & mode_t(S_IFMT) {
      case mode_t(S_IFREG): .regular
      case mode_t(S_IFDIR): .folder
      case mode_t(S_IFIFO): .pipe
      case mode_t(S_IFCHR): .characterDevice
      default: .other
      }
    owner = status.st_uid
    permissions = UInt32(status.st_mode) & 0o777
    isSticky = status.st_mode & mode_t(S_ISVTX) != 0
    names = UInt(status.st_nlink)
  }
}

/// The reason why a file or its folder is not used for data that only this user may read or write.
package enum FileRefusal: Error, Equatable, Sendable {
  /// A system call failed.
  case failed(SystemError)
  case isSymbolicLink
  case isNotRegular
  /// The file belongs to another user, with this user ID.
  case isOwned(by: UInt32)
  /// The group or others have access, by these permission bits.
  case isOpen(permissions: UInt32)
  /// The file has more than one name (hard links).
  case hasSeveralNames
  /// The folder belongs neither to this user nor to root.
  case folderIsOwned(by: UInt32)
  /// The group or others may write to the folder, by these permission bits.
  case folderIsOpen(permissions: UInt32, isSticky: Bool)
  /// The file is longer than ``PrivateFolder/lengthLimit``.
  case isTooLong
  /// Another program holds the lock.
  case isLocked
}

extension FileRefusal: CustomStringConvertible {
  /// The reason, in words that can follow "because".
  package var description: String {
    switch self {
    case .failed(let error): "\(error)"
    case .isSymbolicLink: "it is a symbolic link"
    case .isNotRegular: "it is not a regular file"
    case .isOwned(let owner): "it belongs to user \(owner), and this program runs as user \(geteuid())"
    case .isOpen(let permissions):
      "its permissions are \(Self.octal(permissions)): other users may have read or changed it"
    case .hasSeveralNames: "it has more than one name (hard links)"
    case .folderIsOwned(let owner):
      "its folder belongs to user \(owner), and this program runs as user \(geteuid())"
    case .folderIsOpen(let permissions, _):
      "its folder has the permissions \(Self.octal(permissions)): other users may exchange the file"
    case .isTooLong: "it is longer than \(PrivateFolder.lengthLimit) octets"
    case .isLocked: "another program is writing it"
    }
  }

  private static func octal(_ permissions: UInt32) -> String { "0" + String(permissions, radix: 8) }
}

extension SystemCalls {
  /// Calls a function on a file, as ``callAsFunction(_:_:)`` does.
  @discardableResult
  func file(_ call: SystemCall, _ body: () -> Int32) throws(FileRefusal) -> Int32 {
    do throws(SystemError) {
      return try self(call, body)
    } catch {
      throw .failed(error)
    }
  }
}
