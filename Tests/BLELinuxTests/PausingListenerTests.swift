import BLEWire
import Glibc
import Testing

@testable import BLELinux

/// The pauses of a listener.
@Suite struct PausingListenerTests {
  @Test func aFailureIsReportedOnceAndTheConnectionWaits() throws {
    let opened = try Listener(tcpHost: "127.0.0.1", port: 0)
    let bound = opened.port
    let port = try #require(bound)
    var listener = PausingListener(opened, token: 1)
    var poller = try Poller()
    try listener.watch(on: poller)
    var client = StreamPort(.tcpClient(host: "127.0.0.1", port: port))
    try client.open()
    let stream = try client.waitForStream()
    let full = SystemCalls { $0 == .accept ? EMFILE : nil }
    var reports: [SystemError] = []
    var now = Instant.start
    for _ in 0..<100 {
      let isAccepted = listener.accept(now: now, on: poller, through: full) { reports.append($0) } != nil
      #expect(!isAccepted)
      // It does not wake the thread.
      let ready = try poller.wait(until: .start, on: MonotonicClock())
      #expect(ready == 0)
      let deadline = listener.deadline
      now = try #require(deadline)
      let early = listener.accept(now: now, on: poller) { reports.append($0) } != nil
      #expect(!early, "it pauses")
      listener.resume(now: now, on: poller)
    }
    #expect(reports == [SystemError(.accept, EMFILE)])
    let ready = try poller.wait(until: nil, on: MonotonicClock())
    #expect(ready == 1)
    let isAccepted = listener.accept(now: now, on: poller) { reports.append($0) } != nil
    #expect(isAccepted)
    // The next one, when it has passed.
    now = now + .seconds(61)
    let isAcceptedLater = listener.accept(now: now, on: poller, through: full) { reports.append($0) } != nil
    #expect(!isAcceptedLater && reports.count == 2)
    _ = consume stream
  }

  @Test func connectionsWithoutAPlaceEndInAPause() throws {
    var listener = PausingListener(try Listener(tcpHost: "127.0.0.1", port: 0), token: 1)
    let poller = try Poller()
    try listener.watch(on: poller)
    for number in 1..<PausingListener.refusalLimit {
      listener.refused(now: .start + .microseconds(number), on: poller)
      let deadline = listener.deadline
      #expect(deadline == nil)
    }
    listener.refused(now: .start + .milliseconds(50), on: poller)
    let deadline = listener.deadline
    let end = try #require(deadline)
    #expect(end > .start + .milliseconds(50) && end <= .start + .milliseconds(101))
    listener.resume(now: end, on: poller)
    // The next period.
    for _ in 1..<PausingListener.refusalLimit { listener.refused(now: end, on: poller) }
    let nextDeadline = listener.deadline
    #expect(nextDeadline == nil)
  }
}
