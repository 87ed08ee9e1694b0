import Glibc
import Testing

@testable import BLEEngine

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
}
