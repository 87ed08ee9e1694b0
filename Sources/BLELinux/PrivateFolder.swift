package import BLEWire
internal import CLinux
internal import Glibc

/// A folder with secrets of this user. No other user of the machine can interfere with its operations.
///
/// The folder is opened once. It must belong to this user or to root, and neither the group nor others may write to it,
/// with or without the sticky bit. This is checked on the descriptor. Every file is named relative to that descriptor,
/// so exchanging a path later has no effect. Folders above it are not checked: a user who may rename one of them can
/// hide the folder, but cannot put a file of their own into it.
///
/// ```swift
/// if let folder = try PrivateFolder.open("/var/lib/clock") { let octets = try folder.read("bonds.json") }
/// ```
package struct PrivateFolder: ~Copyable {
  /// The longest file that is read or written, in octets: several times the size of the bonds that a host keeps.
  package static let lengthLimit = 16 << 20
  /// The number of files that can be set aside beside each other. One more stays where it is.
  package static let setAsideLimit = 1000

  private let descriptor: FileDescriptor
  private let user: UInt32
  private let system: SystemCalls

  private init(_ descriptor: consuming FileDescriptor, _ user: UInt32, _ system: SystemCalls) {
    (self.user, self.system) = (user, system)
    self.descriptor = descriptor
  }

  /// Opens the folder. An empty path means the working folder.
  ///
  /// - Parameters:
  ///   - isMade: whether a missing folder, and those above it, are made: for this user alone (0700).
  ///   - user: the user ID that files must belong to; nil means the effective user of the process.
  /// - Returns: nil if there is no such folder.
  package static func open(
    _ path: String, isMade: Bool = false, user: UInt32? = nil, through system: SystemCalls = .kernel
  ) throws(FileRefusal) -> PrivateFolder? {
    let (path, user) = (path.isEmpty ? "." : path, user ?? geteuid())
    if isMade {
      do throws(SystemError) { try Files.makeFolder(path, permissions: 0o700, through: system) } catch {
        throw .failed(error)
      }
    }
    let descriptor: FileDescriptor
    do throws(SystemError) {
      descriptor = try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY, through: system)
    } catch {
      if error.number == ENOENT { return nil }
      throw .failed(error)
    }
    let status = try FileStatus(of: descriptor, through: system)
    guard status.owner == user || status.owner == 0 else { throw .folderIsOwned(by: status.owner) }
    guard status.permissions & FileStatus.writeOfGroupAndOthers == 0 else {
      throw .folderIsOpen(permissions: status.permissions, isSticky: status.isSticky)
    }
    return PrivateFolder(descriptor, user, system)
  }

  /// The octets of a file that belongs to this user and has no permissions for others.
  ///
  /// - Returns: nil if there is no file of that name.
  package func read(_ name: String) throws(FileRefusal) -> [UInt8]? {
    guard let file = try openForReading(name) else { return nil }
    let number = file.rawValue
    var octets: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try system.file(.read) {
        unsafe part.withUnsafeMutableBytes { unsafe Int32(clamping: Glibc.read(number, $0.baseAddress, $0.count)) }
      }
      if count == 0 { return octets }
      octets += part.prefix(Int(count))
      guard octets.count <= Self.lengthLimit else { throw .isTooLong }
    }
  }

  /// Checks whether a file may be read. Nothing is read or made.
  ///
  /// - Throws: the error that ``read(_:)`` would throw before it reads.
  package func check(_ name: String) throws(FileRefusal) { _ = try openForReading(name) }

  private func openForReading(_ name: String) throws(FileRefusal) -> FileDescriptor? {
    guard let file = try open(name, O_RDONLY) else { return nil }
    let permissions = try check(file).permissions
    guard permissions & FileStatus.groupAndOthers == 0 else { throw .isOpen(permissions: permissions) }
    return file
  }

  /// The steps of ``replace(_:with:_:)``, in order.
  package enum Step: CaseIterable, Sendable { case opened, halfWritten, written, flushed, renamed }

  /// Replaces the file of that name with one that contains these octets. The old file stays complete until then.
  ///
  /// The new file is written beside it, flushed to the disk and renamed. Only this user may read or write it (0600).
  ///
  /// - Parameter progress: is called after each step. If it throws, the work ends there.
  /// - Throws: ``FileRefusal``, also for octets that ``read(_:)`` would refuse, or the error that `progress` throws.
  package func replace(_ name: String, with octets: [UInt8], _ progress: (Step) throws -> Void = { _ in }) throws {
    guard octets.count <= Self.lengthLimit else { throw FileRefusal.isTooLong }
    let (new, folder) = (Self.unfinishedName(of: name), descriptor.rawValue)
    _ = unlinkat(folder, new, 0)
    guard let file = try open(new, O_WRONLY | O_CREAT | O_EXCL) else { throw FileRefusal.isNotRegular }
    do {
      // The file mode mask of the process may have removed requested permissions.
      try setOwnerOnly(file)
      try progress(.opened)
      let half = octets.count / 2
      try write(octets[..<half], to: file)
      try progress(.halfWritten)
      try write(octets[half...], to: file)
      try progress(.written)
      let number = file.rawValue
      try system.file(.flush) { fsync(number) }
      try progress(.flushed)
      try system.file(.rename) { renameat(folder, new, folder, name) }
      try progress(.renamed)
    } catch {
      // After a rename, no file of that name exists.
      _ = unlinkat(folder, new, 0)
      throw error
    }
    // Flushes the folder's own entry. It is not a failure if a file system cannot do that.
    _ = fsync(folder)
  }

  /// The name under which this process writes a file before it is renamed.
  static func unfinishedName(of name: String) -> String { "\(name).\(getpid()).new" }

  private func write(_ octets: ArraySlice<UInt8>, to file: borrowing FileDescriptor) throws(FileRefusal) {
    let number = file.rawValue
    var rest = octets
    while !rest.isEmpty {
      let count = try system.file(.write) {
        unsafe rest.withUnsafeBytes { unsafe Int32(clamping: Glibc.write(number, $0.baseAddress, $0.count)) }
      }
      rest = rest.dropFirst(Int(count))
    }
  }

  /// Moves a file to the first free name beside it: `NAME.corrupt-1` and so on. The caller must hold the lock.
  ///
  /// - Returns: the new name; nil if the file cannot be moved.
  package func setAside(_ name: String) -> String? {
    let folder = descriptor.rawValue
    for number in 1...Self.setAsideLimit {
      let aside = "\(name).corrupt-\(number)"
      guard faccessat(folder, aside, F_OK, Int32(AT_SYMLINK_NOFOLLOW)) != 0 else { continue }
      return renameat(folder, name, folder, aside) == 0 ? aside : nil
    }
    return nil
  }

  /// Locks the file `NAME.lock` against every other program that also locks it. The file stays there afterwards.
  ///
  /// On a file system without locks, the file is not locked.
  ///
  /// Files that killed processes have left unfinished (``unfinishedName(of:)``) are removed: they can contain keys.
  ///
  /// - Parameters:
  ///   - patience: the longest wait for another program to release the lock.
  ///   - clock: measures `patience`, and waits between two attempts.
  package func lock(
    _ name: String, waiting patience: Duration, on clock: FileLock.Clock = .system
  ) throws(FileRefusal) -> FileLock {
    guard let file = try open("\(name).lock", O_RDWR | O_CREAT) else { throw .isNotRegular }
    if try check(file).permissions != FileStatus.ownerOnly { try setOwnerOnly(file) }
    let number = file.rawValue
    let end = clock.now() + patience
    while true {
      do throws(SystemError) {
        try system(.lock) { flock(number, LOCK_EX | LOCK_NB) }
        removeUnfinished(name)
        return FileLock(file)
      } catch {
        guard error.number == EWOULDBLOCK else { return FileLock(file) }
      }
      guard clock.now() < end else { throw .isLocked }
      clock.wait(FileLock.interval)
    }
  }

  /// Whether a process has left a file of that name unfinished, or is writing it.
  package func hasUnfinished(_ name: String) -> Bool { !unfinishedNames(of: name).isEmpty }

  /// Call it with the lock held: nobody writes the file then.
  private func removeUnfinished(_ name: String) {
    for unfinished in unfinishedNames(of: name) { _ = unlinkat(descriptor.rawValue, unfinished, 0) }
  }

  private func unfinishedNames(of name: String) -> [String] {
    guard let folder = try? duplicate() else { return [] }
    return Files.names(in: folder).filter { other in
      let isAbout = other.hasPrefix("\(name).") && other.hasSuffix(".new")
      return isAbout && Int32(other.dropFirst(name.utf8.count + 1).dropLast(4)) != nil
    }
  }

  /// Another descriptor of the folder.
  func duplicate() throws(FileRefusal) -> FileDescriptor {
    let folder = descriptor.rawValue
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    return FileDescriptor(adopting: try system.file(.openIn) { ble_openat(folder, ".", flags, 0) })
  }

  /// Opens a file of the folder; nil if there is no such file.
  private func open(_ name: String, _ flags: Int32) throws(FileRefusal) -> FileDescriptor? {
    guard !name.isEmpty else { throw .isNotRegular }
    let folder = descriptor.rawValue
    do throws(SystemError) {
      // Non-blocking, because opening a pipe would otherwise wait for its other end.
      let flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
      return FileDescriptor(adopting: try system(.openIn) { ble_openat(folder, name, flags, FileStatus.ownerOnly) })
    } catch {
      switch error.number {
      case ENOENT: return nil
      case ELOOP: throw .isSymbolicLink
      case EISDIR, ENXIO: throw .isNotRegular
      default: throw .failed(error)
      }
    }
  }

  private func check(_ file: borrowing FileDescriptor) throws(FileRefusal) -> FileStatus {
    let status = try FileStatus(of: file, through: system)
    guard status.kind == .regular else { throw .isNotRegular }
    guard status.owner == user else { throw .isOwned(by: status.owner) }
    return status
  }

  private func setOwnerOnly(_ file: borrowing FileDescriptor) throws(FileRefusal) {
    let number = file.rawValue
    try system.file(.setPermissions) { fchmod(number, FileStatus.ownerOnly) }
  }
}

/// A lock that other programs respect, until it is released or goes out of scope.
package struct FileLock: ~Copyable {
  /// The clock that a wait for a lock uses. Tests have a clock that they move.
  package struct Clock: Sendable {
    package let now: @Sendable () -> Instant
    package let wait: @Sendable (Duration) -> Void

    package init(now: @escaping @Sendable () -> Instant, wait: @escaping @Sendable (Duration) -> Void) {
      (self.now, self.wait) = (now, wait)
    }

    /// The monotonic clock. The wait sleeps, because Linux has no descriptor that reports the end of another program's
    /// lock; only threads that read or save files wait.
    package static let system = {
      let clock = MonotonicClock()
      return Clock(now: { clock.now() }) { duration in
        let (seconds, attoseconds) = max(.zero, duration).components
        var time = timespec(tv_sec: Int(clamping: seconds), tv_nsec: Int(clamping: attoseconds / 1_000_000_000))
        _ = unsafe nanosleep(&time, nil)
      }
    }()
  }

  /// The time between two attempts.
  static let interval = Duration.milliseconds(5)

  private let file: FileDescriptor

  fileprivate init(_ file: consuming FileDescriptor) { self.file = file }

  /// Unlocks the file before its descriptor is closed. Closing the descriptor is not enough: a child process has a copy
  /// of it between `fork` and `exec`, and would hold the lock until then (flock(2)).
  deinit { _ = flock(file.rawValue, LOCK_UN) }

  package consuming func release() {}
}
