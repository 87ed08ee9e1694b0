import Dispatch
import Glibc
import Synchronization
import Testing

@testable import BLELinux

@Suite struct BluetoothLogTests {
  /// In a process of its own: its standard error is replaced.
  @Test func aLineIsDroppedWhereStandardErrorIsClosed() async {
    await #expect(processExitsWith: .success) {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO)
      close(ends[0])
      BluetoothLog.write(.notice("nobody reads this"))
      try #require(LineOutput.standardError.flush())
      close(STDERR_FILENO)
      BluetoothLog.write(.notice("nor this"))
      try #require(LineOutput.standardError.flush())
    }
  }

  /// Nobody reads standard error: more lines than the queue has room for do not block, nor does the end of the process.
  @Test func aFullStandardErrorBlocksNothing() async {
    await #expect(processExitsWith: .exitCode(0)) { BluetoothLogTests.fillStandardError(flags: 0) }
    await #expect(processExitsWith: .exitCode(0)) { BluetoothLogTests.fillStandardError(flags: O_NONBLOCK) }
  }

  /// Ends the process: with 0 if everything is as expected. An expectation would be written to standard error.
  private static func fillStandardError(flags: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0, dup2(ends[1], STDERR_FILENO) == STDERR_FILENO, fcntl(STDERR_FILENO, F_SETFL, flags) == 0
    else { exit(1) }
    let letters = "abcdefghijklmnopqrstuvwxyz".map(String.init)
    // Different words: the limit of one kind is another test.
    for letter in letters { BluetoothLog.write(.notice(String(repeating: letter, count: 32_768))) }
    guard LineOutput.standardError.waitingOctets <= LineOutput.queueLimit else { exit(2) }
    exit(LineOutput.standardError.flush() ? 3 : 0)
  }

  @Test func linesBeforeTheEndOfTheProcessAreWritten() async {
    let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardErrorContent]) {
      for number in 1...LogLimiter.lineLimit + 2 { BluetoothLog.write(.notice("line \(number)")) }
      exit(3)
    }
    let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
    let passed = (1...LogLimiter.lineLimit).map { "[BluetoothLE] line \($0)" }
    #expect(lines.map(String.init) == passed + ["[BluetoothLE] line 10 (2 more lines like this one in 10 s)"])
  }

  /// A handler may use the log itself, and one that is slow keeps no other thread from it. In a process of its own: the
  /// handler is that of the process.
  @Test func theHandlerIsCalledUnderNoLock() async {
    await #expect(processExitsWith: .success) {
      let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let lines = Mutex<[String]>([])
      BluetoothLog.setHandler { line in
        let text = line.text
        if text == "slow" {
          begun.signal()
          mayEnd.wait()
        }
        if text == "again" { BluetoothLog.setHandler { line in lines.withLock { $0.append("second \(line.text)") } } }
        lines.withLock { $0.append(text) }
      }
      let ended = DispatchGroup()
      DispatchQueue(label: "slow").async(group: ended) { BluetoothLog.write(.notice("slow")) }
      waitFor(begun)
      BluetoothLog.write(.notice("again"))
      BluetoothLog.write(.notice("last"))
      mayEnd.signal()
      waitFor(ended)
      #expect(lines.withLock { $0 } == ["again", "second last", "slow"])
    }
  }
}

/// Not in the asynchronous body of the test, where a wait is an error.
private func waitFor(_ semaphore: DispatchSemaphore) { semaphore.wait() }
private func waitFor(_ group: DispatchGroup) { group.wait() }
