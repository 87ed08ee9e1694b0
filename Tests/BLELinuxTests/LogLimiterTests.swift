import BLEWire
import Testing

@testable import BLELinux

@Suite struct LogLimiterTests {
  /// A limiter whose functions an expectation can call.
  private final class Limiter {
    private var limits = LogLimiter()
    var deadline: Instant? { limits.deadline }
    func admits(_ level: BluetoothLog.Level, _ text: String, now: Instant) -> Bool {
      limits.admits(BluetoothLog.Line(level, .peer, text), now: now)
    }
    func takeSummaries(now: Instant) -> [String] { limits.takeSummaries(now: now).map(\.text) }
  }

  private let limiter = Limiter()
  private let end = Instant.start + LogLimiter.period

  /// As many lines of one kind as the limit pass, and the next one does not; the number of those that did not follows.
  @Test(arguments: [0, 1, 1_992]) func linesOfOneKindAreLimited(more: Int) {
    let count = LogLimiter.lineLimit + more
    let passed = (0..<count).filter {
      limiter.admits(.notice, "C0:11:22:33:44:55: value 0x\(String($0, radix: 16)) dropped", now: .start)
    }
    #expect(passed == Array(0..<LogLimiter.lineLimit))
    #expect(limiter.deadline == (more > 0 ? end : nil))
    #expect(limiter.takeSummaries(now: .start + (LogLimiter.period - .nanoseconds(1))).isEmpty)
    let last = "C0:11:22:33:44:55: value 0x\(String(count - 1, radix: 16)) dropped"
    let text: [String] =
      switch more {
      case 0: []
      case 1: ["\(last) (1 more line like this one in 10 s)"]
      default: ["\(last) (\(more) more lines like this one in 10 s)"]
      }
    #expect(limiter.takeSummaries(now: end) == text)
    #expect(limiter.deadline == nil && limiter.takeSummaries(now: end).isEmpty)
    #expect(limiter.admits(.notice, "C0:11:22:33:44:55: value 0x0 dropped", now: end))
  }

  /// The summary has the place of the last line that was left out.
  @Test func aSummaryKeepsTheCategoryAndTheMetadata() {
    var limits = LogLimiter()
    func line(_ number: Int) -> BluetoothLog.Line {
      BluetoothLog.Line(.notice, .controller, "event \(number)", metadata: ["link": "\(number)"])
    }
    for number in 0...LogLimiter.lineLimit { _ = limits.admits(line(number), now: .start) }
    let last = line(LogLimiter.lineLimit)
    let text = "\(last.text) (1 more line like this one in 10 s)"
    #expect(limits.takeSummaries(now: end) == [.init(.notice, .controller, text, metadata: last.metadata)])
  }

  /// Without a line that was left out, the period ends by itself.
  @Test func aSlowSequenceIsNotLimited() {
    for number in 0..<100 {
      let now = Instant.start + .seconds(2) * number
      #expect(limiter.admits(.notice, "line \(number)", now: now))
    }
    #expect(limiter.deadline == nil)
  }

  /// Another peer, another text and another level are of another kind.
  @Test func eachKindHasItsOwnLimit() {
    for _ in 0..<100 { _ = limiter.admits(.notice, "C0:11:22:33:44:55: dropped", now: .start) }
    for text in ["C0:11:22:33:44:56: dropped", "C0:11:22:33:44:55: refused", "dropped"] {
      #expect(limiter.admits(.notice, text, now: .start))
    }
    #expect(limiter.admits(.misuse, "C0:11:22:33:44:55: dropped", now: .start))
  }

  @Test(arguments: [
    ("ATT: handle 0x0021 rejected (0x0E)", "ATT: handle # rejected (#)"),
    ("C0:11:22:33:44:5a-random: 7 octets", "C0:11:22:33:44:5a-random: # octets"),
    ("C0:11:22:33:44:5A: the device “Lamp 7” is", "C0:11:22:33:44:5A: the device \"\" is"),
    ("C0:11:22:33:44:5AF is no address", "# is no address"),
    ("peer (link 12): PDU of 40 octets", "peer (link 12): PDU of # octets"),
    ("no numbers", "no numbers"), ("", ""), ("a quote \" without its end", "a quote \""),
  ])
  func aKindIsTheTextWithoutNumbersAndQuotes(text: String, kind: String) {
    #expect(LogLimiter.kind(of: text) == kind)
  }

  /// A peer that makes a kind of each line does not make the table grow: kinds beyond the limit share one.
  @Test(arguments: [0, 1]) func theNumberOfKindsIsLimited(more: Int) {
    func word(_ number: Int) -> String { String((0..<number + 1).map { _ in "x" }) }
    for number in 0..<LogLimiter.kindLimit - 1 + more {
      #expect(limiter.admits(.notice, word(number), now: .start))
    }
    let passed = (0..<100).filter { limiter.admits(.notice, word(1_000 + $0), now: .start) }
    #expect(passed.count == (more == 0 ? 1 + LogLimiter.lineLimit : LogLimiter.lineLimit))
    let omitted = 100 - passed.count
    #expect(
      limiter.takeSummaries(now: end) == [
        "\(word(1_099)) (\(omitted) more lines of several kinds in 10 s)"
      ])
    // The kinds of the period that is over make room.
    #expect(limiter.admits(.notice, word(5_000), now: end))
  }
}
