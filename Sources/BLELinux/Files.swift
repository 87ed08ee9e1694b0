internal import CLinux
internal import Glibc

/// Files without secrets: those that users name for the programs of the package, and those of the kernel.
///
/// ``PrivateFolder`` and ``OutputFile`` are for files that no other user may read or exchange.
package enum Files {
  /// Returns the octets of a file from its beginning to its end. It waits for the end of a pipe.
  ///
  /// - Parameter limit: the maximum number of octets of the file. A longer file results in the error `EFBIG`.
  package static func octets(
    of path: String, atMost limit: Int = .max, through system: SystemCalls = .kernel
  ) throws(SystemError) -> [UInt8] {
    // This is not done by `FileDescriptor.open`, because its descriptors are non-blocking.
    let file = FileDescriptor(adopting: try system(.open) { ble_open(path, O_RDONLY | O_CLOEXEC, 0) })
    let number = file.rawValue
    var octets: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try system(.read) {
        unsafe part.withUnsafeMutableBytes { unsafe Int32(clamping: Glibc.read(number, $0.baseAddress, $0.count)) }
      }
      if count == 0 { return octets }
      octets += part.prefix(Int(count))
      guard octets.count <= limit else { throw SystemError(.read, EFBIG) }
    }
  }

  /// The absolute path of a file or folder without symbolic links; nil if there is none.
  package static func realPath(of path: String) -> String? {
    guard let found = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }

  /// Makes or replaces a file that everyone may read, unless the file mode mask of the process forbids it.
  package static func write(
    _ octets: some Sequence<UInt8>, to path: String, through system: SystemCalls = .kernel
  ) throws(SystemError) {
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
    let file = FileDescriptor(adopting: try system(.open) { ble_open(path, flags, 0o666) })
    try write(octets, to: file, through: system)
  }

  private static func write(
    _ octets: some Sequence<UInt8>, to file: borrowing FileDescriptor, through system: SystemCalls
  ) throws(SystemError) {
    let number = file.rawValue
    var rest = Array(octets)[...]
    while !rest.isEmpty {
      let count = try system(.write) {
        unsafe rest.withUnsafeBytes { unsafe Int32(clamping: Glibc.write(number, $0.baseAddress, $0.count)) }
      }
      rest = rest.dropFirst(Int(count))
    }
  }

  /// Makes a file that everyone may read, unless the file mode mask of the process forbids it. It never has a part of
  /// its content only.
  ///
  /// - Parameter isOwn: whether a file of this user that is there already may be replaced, by its first 64 KiB. No
  ///   other file is, nor a symbolic link.
  /// - Throws: `EEXIST` if another file has the path.
  package static func create(
    _ octets: some Sequence<UInt8>, at path: String, replacing isOwn: ([UInt8]) -> Bool,
    through system: SystemCalls = .kernel
  ) throws(SystemError) {
    let new = "\(path).\(getpid()).new"
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = FileDescriptor(adopting: try system(.open) { ble_open(new, flags, 0o666) })
    defer { _ = unlink(new) }
    try write(octets, to: file, through: system)
    do throws(SystemError) {
      try system(.link) { link(new, path) }
    } catch {
      guard error.number == EEXIST, contentOfOwnFile(path, through: system).map(isOwn) == true else { throw error }
      try system(.rename) { rename(new, path) }
    }
  }

  /// The first 64 KiB of a regular file of this user; nil for anything else.
  private static func contentOfOwnFile(_ path: String, through system: SystemCalls) -> [UInt8]? {
    let flags = O_RDONLY | O_NOFOLLOW
    guard let file = try? FileDescriptor.open(path, flags: flags, mode: 0, through: system),
      let status = try? FileStatus(of: file, through: system), status.kind == .regular, status.owner == geteuid()
    else { return nil }
    var octets = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe octets.withUnsafeMutableBytes { unsafe Glibc.read(file.rawValue, $0.baseAddress, $0.count) }
    return count >= 0 ? Array(octets.prefix(count)) : nil
  }

  /// The names in a folder, without `.` and `..`, in order; none if the folder cannot be read.
  package static func names(in folder: String) -> [String] {
    guard let stream = unsafe opendir(folder) else { return [] }
    return unsafe names(in: stream)
  }

  /// The names in an open folder.
  static func names(in folder: consuming FileDescriptor) -> [String] {
    let number = fcntl(folder.rawValue, F_DUPFD_CLOEXEC, 0)
    guard number >= 0 else { return [] }
    guard let stream = unsafe fdopendir(number) else {
      _ = close(number)
      return []
    }
    return unsafe names(in: stream)
  }

  /// Closes the stream.
  private static func names(in stream: OpaquePointer) -> [String] {
    defer { _ = unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Makes a folder, and missing folders above it.
  package static func makeFolder(
    _ path: String, permissions: UInt32 = 0o777, through system: SystemCalls = .kernel
  ) throws(SystemError) {
    var end = path.startIndex
    while end < path.endIndex {
      end = path[end...].dropFirst().firstIndex(of: "/") ?? path.endIndex
      let part = String(path[..<end])
      guard access(part, F_OK) != 0 else { continue }
      do throws(SystemError) {
        try system(.makeFolder) { mkdir(part, permissions) }
      } catch {
        // Another program has made it meanwhile.
        guard error.number == EEXIST else { throw error }
      }
    }
  }

  /// The time since 1970 at which the content of a file last changed; nil if there is no such file.
  package static func modificationTime(of path: String) -> Duration? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return .seconds(status.st_mtim.tv_sec) + .nanoseconds(status.st_mtim.tv_nsec)
  }
}
