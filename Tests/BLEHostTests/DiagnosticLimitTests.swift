import BLEHost
import BLEWire
import Testing

/// Lines in the log that a peer or the controller can cause.
@Suite("Limits of diagnostics") struct DiagnosticLimitTests {
  /// A confirmation of an indication that was not sent: one line each.
  private static func fault(_ handle: UInt16) -> [UInt8] { ScriptedController.frame(handle, cid: 4, [0x1E]) }

  private func lines(_ bench: inout Bench) -> [String] {
    bench.takeEvents().compactMap { if case .diagnostic(let line) = $0 { "\(line)" } else { nil } }
  }

  private func bench(links: Int) -> Bench {
    var bench = Bench()
    for number in 0..<links {
      bench.receive(ScriptedController.connected(0x40 + UInt16(number), from: "C0:11:22:33:44:5\(number)"))
    }
    _ = bench.takeEvents()
    return bench
  }

  @Test func eightOfALinkInTenSeconds() {
    var bench = bench(links: 2)
    for _ in 0..<8 { bench.receive(Self.fault(0x40)) }
    let first = lines(&bench)
    #expect(first.count == 8)
    for _ in 0..<500 { bench.receive(Self.fault(0x40)) }
    bench.run(for: .seconds(9))
    #expect(lines(&bench).isEmpty)
    // Other links are not affected.
    bench.receive(Self.fault(0x41))
    #expect(lines(&bench).count == 1)
    bench.run(for: .seconds(1))
    #expect(lines(&bench) == ["peer (link 1): 500 more suppressed"])
    bench.receive(Self.fault(0x40))
    #expect(lines(&bench).count == 1)
    bench.run(for: .seconds(60))
    #expect(lines(&bench).isEmpty)
  }

  @Test func thirtyTwoOfAllLinksInTenSeconds() {
    var bench = bench(links: 6)
    for handle in 0x40..<0x46 as Range<UInt16> { for _ in 0..<7 { bench.receive(Self.fault(handle)) } }
    #expect(lines(&bench).count == 32)
    bench.run(for: .seconds(10))
    #expect(lines(&bench) == ["peer: 10 more suppressed"])
  }

  @Test func theFirstLineOfALinkIsNotHiddenByThoseOfOthers() {
    var bench = bench(links: 8)
    for _ in 0..<100 { for handle in 0x40..<0x46 as Range<UInt16> { bench.receive(Self.fault(handle)) } }
    #expect(lines(&bench).count == 30, "one is kept for each of the other two")
    for handle in [0x46, 0x47] as [UInt16] {
      bench.receive(Self.fault(handle))
      #expect(lines(&bench).count == 1)
      bench.receive(Self.fault(handle))
      #expect(lines(&bench).isEmpty)
    }
    // The next period is as the first one.
    bench.run(for: .seconds(10))
    _ = lines(&bench)
    for _ in 0..<100 { for handle in 0x42..<0x48 as Range<UInt16> { bench.receive(Self.fault(handle)) } }
    #expect(lines(&bench).count == 30)
  }

  /// A link that comes again and again is limited as all links are, and what it was refused is counted with theirs.
  @Test func aNewLinkIsNoWayRound() {
    var bench = Bench()
    for number in 0..<10 as Range<UInt16> {
      bench.receive(ScriptedController.connected(0x40 + number))
      for _ in 0..<10 { bench.receive(Self.fault(0x40 + number)) }
      bench.receive(ScriptedController.disconnected(0x40 + number))
    }
    #expect(lines(&bench).count == 32)
    bench.run(for: .seconds(10))
    #expect(lines(&bench) == ["peer: 68 more suppressed"])
  }

  @Test func aControllerIsLimitedToo() {
    var bench = Bench()
    _ = bench.takeEvents()
    for _ in 0..<100 { bench.receive([0x04, 0x13, 1, 9]) }
    #expect(lines(&bench).count == 32)
    bench.run(for: .seconds(10))
    #expect(lines(&bench) == ["controller: 68 more suppressed"])
  }
}
