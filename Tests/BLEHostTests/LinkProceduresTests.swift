import BLEGATT
import BLEHCI
import BLEHost
import BLESMP
import BLEWire
import Testing

/// Procedures of the link layer that the controller accepts, and whose end it never reports.
@Suite("Procedures that never end at the controller") struct LinkProceduresTests {
  private let peer = LinkID(rawValue: 1)

  private func bench() -> Bench {
    var controller = ScriptedController()
    controller.leFeatures = [.encryption, .le2MPHY, .dataPacketLengthExtension]
    controller.supported = .all
    controller.maximumDataLength = (251, 2120)
    var bench = Bench(controller)
    let device = DeviceAddress(octets: BD_ADDR(0xC000_0000_0001), kind: .random)
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), device, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: device))
    for packet in bench.data { bench.receive(ScriptedController.completedPackets(UInt16(packet[1]), 1)) }
    // The answer to Exchange MTU: a server that does not answer ends the link before.
    _ = bench.att(0x40, [0x03, 0x17, 0x00])
    _ = bench.takeEvents()
    return bench
  }

  private func lines(_ bench: Bench) -> [String] {
    bench.events.compactMap { if case .diagnostic(let line) = $0 { line.text } else { nil } }
  }

  @Test func aChangeOfTheTimingFailsAfterTheTimeout() {
    var bench = bench()
    bench.perform(.link(peer, .updateConnection(ConnectionParameters(interval: 12...12))))
    bench.run(for: HostConfiguration().procedureTimeout)
    let failures = bench.events.compactMap { event -> HostError? in
      if case .link(_, .connectionUpdateRefused(let error)) = event { error } else { nil }
    }
    #expect(failures == [.controller(.leConnectionUpdate, .linkLayerResponseTimeout)])
    #expect(lines(bench).contains { $0.contains("\(HCIOpcode.leConnectionUpdate)") })
  }

  @Test func aChangeOfThePHYFailsAfterTheTimeout() {
    var bench = bench()
    bench.perform(.link(peer, .setPHY(PHYPreference(transmit: .le2M, receive: .le2M))))
    bench.run(for: HostConfiguration().procedureTimeout)
    let failures = bench.events.compactMap { event -> HostError? in
      if case .link(_, .phy(.failure(let error))) = event { error } else { nil }
    }
    #expect(failures == [.controller(.leSetPHY, .linkLayerResponseTimeout)])
  }

  /// The steps of a priority follow each other, however they end.
  @Test func aPriorityReachesItsLastStep() {
    var bench = bench()
    bench.perform(.link(peer, .prioritize(.throughput)))
    #expect(bench.controller.commands.last?.opcode == .leReadRemoteFeatures)
    bench.run(for: HostConfiguration().procedureTimeout)
    #expect(bench.controller.commands.suffix(2).map(\.opcode) == [.leSetDataLength, .leSetPHY])
    bench.run(for: HostConfiguration().procedureTimeout)
    #expect(bench.controller.commands.last?.opcode == .leConnectionUpdate)
    bench.run(for: HostConfiguration().procedureTimeout)
    #expect(lines(bench).filter { $0.contains("does not report the end") }.count == 3)
    #expect(bench.core.linkCount == 1)
  }

  @Test func anEventThatComesInTimeEndsTheProcedure() {
    var bench = bench()
    bench.perform(.link(peer, .updateConnection(ConnectionParameters(interval: 12...12))))
    var updated: [UInt8] = []
    updated.append(
      hci: HCI.LEConnectionUpdateComplete {
        ($0.connectionHandle, $0.connectionInterval, $0.supervisionTimeout) = (
          ConnectionHandle(rawValue: 0x40), 12, 500
        )
      })
    bench.receive(updated)
    bench.run(for: .seconds(29))
    #expect(lines(bench).isEmpty)
  }

  /// A peripheral has given the key, and the controller says nothing.
  @Test func anEncryptionEndsAfterTheTimeout() {
    var configuration = HostConfiguration()
    (configuration.pairing, configuration.bonds) = (.with(), [EncryptionTests.bond])
    var bench = Bench(configuration: configuration)
    bench.receive(ScriptedController.connected(0x40, from: "\(EncryptionTests.bond.identity.octets)"))
    bench.receive([0x04, 0x3E, 13, 0x05, 0x40, 0] + [UInt8](repeating: 0, count: 10))
    #expect(bench.controller.commands.last?.opcode == .leLongTermKeyRequestReply)
    bench.run(for: configuration.procedureTimeout)
    #expect(lines(bench) == ["it does not report the outcome of an encryption"] && bench.core.linkCount == 1)
    // An encryption of another key than one that the host waits for proves nothing.
    bench.receive([0x04, 0x08, 4, 0, 0x40, 0, 1])
    let isSecured = bench.events.contains {
      if case .link(_, .security(let security)) = $0 { security.level != .none } else { false }
    }
    #expect(!isSecured)
  }
}
