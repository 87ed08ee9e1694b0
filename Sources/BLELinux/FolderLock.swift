import BLEWire
internal import CLinux
internal import Glibc

/// A lock of the folder of a path, for as long as it exists: programs of this package make and remove sockets there one
/// after the other.
///
/// It needs no file of its own. A folder that cannot be read, or that another program keeps locked, is not locked.
struct FolderLock: ~Copyable {
  /// The open folder; -1 without a lock.
  private let number: Int32

  /// - Parameters:
  ///   - path: of a file in the folder.
  ///   - patience: the longest wait for another program.
  init(
    of path: String, waiting patience: Duration, on clock: FileLock.Clock = .system, through system: SystemCalls
  ) {
    let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    number = (try? system(.open) { ble_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK, 0) }) ?? -1
    if number >= 0 { Self.lock(number, until: clock.now() + patience, on: clock, through: system) }
  }

  /// It is unlocked before it is closed, as for ``FileLock``.
  deinit {
    guard number >= 0 else { return }
    _ = flock(number, LOCK_UN)
    _ = close(number)
  }

  private static func lock(
    _ number: Int32, until end: Instant, on clock: FileLock.Clock, through system: SystemCalls
  ) {
    while true {
      do throws(SystemError) {
        try system(.lock) { flock(number, LOCK_EX | LOCK_NB) }
        return
      } catch {
        guard error.number == EWOULDBLOCK, clock.now() < end else { return }
        clock.wait(FileLock.interval)
      }
    }
  }
}
