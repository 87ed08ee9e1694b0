import BLELinux
import Dispatch
import Glibc
import Synchronization
import Testing

@Suite struct BluetoothLogTests {
  /// In a process of its own: its standard error is replaced.
  @Test func aLineIsDroppedWhereStandardErrorIsClosed() async {
    await #expect(processExitsWith: .success) {
      signal(SIGPIPE, SIG_IGN)
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO)
      close(ends[0])
      BluetoothLog.write(.notice, "nobody reads this")
      close(STDERR_FILENO)
      BluetoothLog.write(.notice, "nor this")
    }
  }

  /// A handler may use the log itself, and one that is slow keeps no other thread from it. In a process of its own: the
  /// handler is that of the process.
  @Test func theHandlerIsCalledUnderNoLock() async {
    await #expect(processExitsWith: .success) {
      let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let lines = Mutex<[String]>([])
      BluetoothLog.setHandler { _, text in
        if text == "slow" {
          begun.signal()
          mayEnd.wait()
        }
        if text == "again" { BluetoothLog.setHandler { _, text in lines.withLock { $0.append("second \(text)") } } }
        lines.withLock { $0.append(text) }
      }
      let ended = DispatchGroup()
      DispatchQueue(label: "slow").async(group: ended) { BluetoothLog.write(.notice, "slow") }
      waitFor(begun)
      BluetoothLog.write(.notice, "again")
      BluetoothLog.write(.notice, "last")
      mayEnd.signal()
      waitFor(ended)
      #expect(lines.withLock { $0 } == ["again", "second last", "slow"])
    }
  }
}

/// Not in the asynchronous body of the test, where a wait is an error.
private func waitFor(_ semaphore: DispatchSemaphore) { semaphore.wait() }
private func waitFor(_ group: DispatchGroup) { group.wait() }
