import BLEWire
import Testing

@testable import BLEHost

@Suite("The log, alone") struct DiagnosticLogTests {
  private let peer = LinkID(rawValue: 1)
  private func later(_ seconds: Int) -> Instant { .start + .seconds(seconds) }

  private func log(links: LinkID...) -> DiagnosticLog {
    var log = DiagnosticLog(limits: DiagnosticLimits())
    for link in links { log.linkAdded(link) }
    return log
  }

  /// How many of `count` lines about the link are within the limits.
  private func admitted(_ count: Int, by log: inout DiagnosticLog, at seconds: Int) -> Int {
    (0..<count).count { _ in log.admits(.peer, peer: peer, now: later(seconds)) }
  }

  private func lines(_ effects: [Effect<Never>]) -> [String] {
    effects.compactMap { if case .event(.diagnostic(let line), to: .everyone) = $0 { "\(line)" } else { nil } }
  }

  @Test func theApplicationsLinesAreNotLimited() {
    var log = log()
    var effects: [Effect<Never>] = []
    for _ in 0..<100 { log.report(Diagnostic(.application, "x"), now: .start, into: &effects) }
    #expect(effects.count == 100 && log.deadline == nil)
  }

  @Test func aSummaryIsDueAtTheEndOfThePeriod() {
    var log = log(links: peer)
    #expect(admitted(8, by: &log, at: 0) == 8 && log.deadline == nil)
    #expect(admitted(1, by: &log, at: 1) == 0)
    #expect(log.deadline == later(10))
    var effects: [Effect<Never>] = []
    log.tick(now: later(9), into: &effects)
    #expect(effects.isEmpty)
    log.tick(now: later(10), into: &effects)
    #expect(lines(effects) == ["peer (link 1): 1 more suppressed"] && log.deadline == nil)
  }

  @Test func linesOfAnUnknownLinkCountForAllLinks() {
    var log = log()
    #expect(admitted(33, by: &log, at: 0) == 32)
  }

  @Test func whatIsLeftOutOfALinkThatEndsIsCountedWithAll() {
    var log = log(links: peer)
    #expect(admitted(10, by: &log, at: 0) == 8)
    log.linkEnded(peer)
    #expect(log.deadline == later(10))
    var effects: [Effect<Never>] = []
    log.tick(now: later(10), into: &effects)
    #expect(lines(effects) == ["peer: 2 more suppressed"])
  }
}
