import BLEHCI
import BLEWire
import Testing

@testable import BLEHost

/// Links that other programs of this machine make on an adapter that the kernel runs.
@Suite struct ForeignLinkTests {
  private static let device = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)

  private func bench() -> Bench {
    var configuration = HostConfiguration()
    configuration.ownership = .sharedWithKernel
    return Bench(configuration: configuration)
  }

  private func foreign(_ events: [HostEvent]) -> [String] {
    events.compactMap { event in
      if case .foreignLink(let device, let isUp) = event { "\(device) \(isUp)" } else { nil }
    }
  }

  @Test func aLinkOfAnotherProgramIsReportedAndNotUsed() {
    var bench = bench()
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.device))
    #expect(foreign(bench.events) == ["C0:11:22:33:44:55 (random) true"])
    #expect(!bench.events.contains { if case .connected = $0 { true } else { false } } && bench.core.linkCount == 0)
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(foreign(bench.events) == ["C0:11:22:33:44:55 (random) true", "C0:11:22:33:44:55 (random) false"])
    bench.receive(ScriptedController.disconnected(0x40))
    #expect(foreign(bench.events).count == 2)
  }

  /// The list of links and the event of a new one may name it both.
  @Test func aLinkThatIsReportedTwiceIsOne() {
    var bench = bench()
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.device))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.device))
    #expect(foreign(bench.events).count == 1)
  }

  @Test func anOwnerThatAttachesLaterLearnsOfIt() {
    var bench = bench()
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.device))
    let before = bench.events.count
    bench.attach(OwnerID(rawValue: 9))
    #expect(foreign(Array(bench.events.dropFirst(before))) == ["C0:11:22:33:44:55 (random) true"])
    #expect(bench.recipients.last == .owner(OwnerID(rawValue: 9)))
  }

  @Test func theirNumberIsBounded() {
    var links = ForeignLinks()
    for number in 0..<UInt64(ForeignLinks.limit + 1) {
      let device = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
      let event = links.added(ConnectionHandle(rawValue: UInt16(number)), to: device)
      #expect((event != nil) == (number < ForeignLinks.limit))
    }
    #expect(links.events.count == ForeignLinks.limit)
  }

  @Test func aLinkToUsIsOurs() {
    var bench = bench()
    bench.receive(ScriptedController.connected(0x40))
    #expect(foreign(bench.events) == [] && bench.core.linkCount == 1)
  }
}
