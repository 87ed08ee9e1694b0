import AdapterFixtures
import BLEKit
import Testing

/// On the simulated radio. BLERuntimeTests has what each number counts.
@Suite(.usesRadio) struct CountersTests {
  @Test func anAdapterCountsItsLinksAndPackets() async throws {
    let air = try await OnTheAir()
    let before = air.central.counters
    #expect(before.links == 0 && before.sentPackets > 0 && before.receivedPackets > 0)
    let during = try await air.meet(LocalCharacteristic("2A29").value("Kit")) { _ in air.central.counters }
    #expect(during.links == 1 && during.sentPackets > before.sentPackets)
    #expect(during.receivedPackets > before.receivedPackets)
    #expect(during.refusedCommands == 0 && during.readingPauses == 0)
  }

  @Test func aClosedAdapterHasNone() async throws {
    let air = try await OnTheAir()
    air.central.close()
    #expect(air.central.counters == AdapterCounters())
  }
}
