internal import CLinux
internal import Glibc

/// A file that is written from its beginning to its end, for this user alone.
///
/// | the path names | it is |
/// |---|---|
/// | nothing yet, or a regular file of this user | emptied, with the permissions 0600 whatever they were |
/// | a pipe of this user (`mkfifo`) | given the permissions 0600; a full pipe is a failed write, not a wait |
/// | a character device, such as `/dev/null` | written as it is |
/// | a descriptor of this process: `/dev/stdout`, `/dev/stderr`, `/dev/fd/N`, `/proc/self/fd/N` | appended to as it is: its opener decided who reads it |
/// | a symbolic link, a folder, a socket, a file of another user, a file with several names | refused |
package struct OutputFile: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  package init(at path: String, through system: SystemCalls = .kernel) throws(FileRefusal) {
    descriptor = try Self.open(path, through: system)
  }

  private static func open(_ path: String, through system: SystemCalls) throws(FileRefusal) -> FileDescriptor {
    let isOwnDescriptor = namesDescriptor(path)
    // The file is emptied only after its owner has been checked.
    let flags = O_WRONLY | (isOwnDescriptor ? O_APPEND : O_CREAT | O_NOFOLLOW)
    let file: FileDescriptor
    do throws(SystemError) {
      file = try FileDescriptor.open(path, flags: flags, mode: FileStatus.ownerOnly, through: system)
    } catch {
      switch error.number {
      case ELOOP: throw .isSymbolicLink
      case EISDIR: throw .isNotRegular
      default: throw .failed(error)
      }
    }
    if !isOwnDescriptor { try claim(file, through: system) }
    return file
  }

  private static func namesDescriptor(_ path: String) -> Bool {
    if path == "/dev/stdout" || path == "/dev/stderr" { return true }
    return ["/dev/fd/", "/proc/self/fd/"].contains { path.hasPrefix($0) && UInt16(path.dropFirst($0.count)) != nil }
  }

  private static func claim(_ file: borrowing FileDescriptor, through system: SystemCalls) throws(FileRefusal) {
    let status = try FileStatus(of: file, through: system)
    switch status.kind {
    case .regular, .pipe: break
    case .characterDevice: return
    case .folder, .other: throw .isNotRegular
    }
    guard status.owner == geteuid() else { throw .isOwned(by: status.owner) }
    guard status.names <= 1 else { throw .hasSeveralNames }
    let number = file.rawValue
    if status.permissions != FileStatus.ownerOnly {
      try system.file(.setPermissions) { fchmod(number, FileStatus.ownerOnly) }
    }
    if status.kind == .regular { try system.file(.truncate) { ftruncate(number, 0) } }
  }

  /// Appends all of `octets`.
  package func write(_ octets: Span<UInt8>, through system: SystemCalls = .kernel) throws(SystemError) {
    var written = 0
    while written < octets.count {
      let rest = octets.extracting(written...)
      let number = descriptor.rawValue
      var count = 0
      try system(.write) {
        count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
        return Int32(clamping: count)
      }
      written += count
    }
  }
}

extension SystemError {
  /// Whether a pipe could not be opened because no program reads from it.
  package var isWithoutReader: Bool { call == .open && number == ENXIO }
}
