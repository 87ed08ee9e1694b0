import BLELinux
import Glibc
import Synchronization
import Testing

/// Sockets that only one user may connect to.
@Suite struct ListenerTests {
  /// In a process of its own, because the mask for new files belongs to the process.
  @Test func aPrivateSocketHasItsModeFromItsFirstMomentOn() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let path = folder.file("answers")
      umask(0)
      for attempt in 1...2 {
        // Before each call: what another program would find there.
        let modes = Mutex<[mode_t]>([])
        let system = SystemCalls { _ in
          var status = stat()
          if unsafe lstat(path, &status) == 0 { modes.withLock { $0.append(status.st_mode & 0o777) } }
          return nil
        }
        let listener = try Listener(unixPath: path, isPrivate: true, through: system)
        try #require(modes.withLock { !$0.isEmpty && Set($0) == [0o600] }, "attempt \(attempt)")
        _ = try? listener.accept(through: system)
        _ = consume listener
      }
    }
  }
}
