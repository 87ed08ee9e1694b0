import BLEHCI
import BLEHost
import BLELinux
import BLEWire
import Synchronization
import Testing

@testable import BLEAdapter

@Suite struct AdapterHubTests {
  private static let link = LinkID(rawValue: 7)
  private static let device = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)

  /// A line has its category, the adapter, and the link and the device that it is about while the link is up.
  @Test func linesNameTheirPlace() {
    let lines = Mutex<[BluetoothLog.Line]>([])
    let hub = AdapterHub(
      BondStorage(MemoryBondStore(), log: { _ in }), name: "virtual:7",
      log: { line in lines.withLock { $0.append(line) } })
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    #expect(hub.counters == AdapterCounters())
    hub.receive([
      .connected(ConnectedLink(peer: Self.link, address: Self.device, role: .central, timing: timing)),
      .diagnostic(Diagnostic(.peer, "a PDU is malformed", peer: Self.link)),
      .diagnostic(Diagnostic(.controller, "an event is malformed")), .refused(.notConnected),
    ])
    #expect(hub.counters.links == 1)
    hub.receive([
      .link(Self.link, .disconnected(.connectionTimeout)),
      .diagnostic(Diagnostic(.peer, "2 more suppressed", peer: Self.link)),
    ])
    #expect(hub.counters.links == 0)
    let place = ["adapter": "virtual:7", "link": "7"]
    #expect(
      lines.withLock { $0 } == [
        .notice(
          "peer (link 7): a PDU is malformed", .peer,
          metadata: place.merging(["device": "C0:11:22:33:44:55 (random)"]) { $1 }),
        .notice("controller: an event is malformed", .controller, metadata: ["adapter": "virtual:7"]),
        .notice("\(HostError.notConnected)", metadata: ["adapter": "virtual:7"]),
        .notice("peer (link 7): 2 more suppressed", .peer, metadata: place),
      ])
  }
}
