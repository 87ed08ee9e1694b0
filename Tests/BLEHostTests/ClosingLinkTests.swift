import BLEATT
import BLEHCI
import BLEHost
import BLEWire
import Testing

/// Links that are asked to end while the controller has packets of them.
struct ClosingLinkTests {
  private static let handle: UInt16 = 0x40
  /// Exchange MTU Request, and its response.
  private static let (request, response): ([UInt8], [UInt8]) = ([0x02, 0x17, 0x00], [0x03, 0x05, 0x02])

  /// A link with one packet in the controller, that was asked to end.
  private func closing() -> Bench {
    var bench = Bench()
    bench.completesPackets = false
    bench.receive(ScriptedController.connected(Self.handle))
    // What the host sends by itself.
    for _ in bench.data { bench.receive(ScriptedController.completedPackets(Self.handle, 1)) }
    #expect(bench.att(Self.handle, Self.request) == [Self.response])
    bench.perform(.link(bench.peers[0], .disconnect(.remoteUserTerminatedConnection)))
    return bench
  }

  private func disconnects(_ bench: Bench) -> Int { bench.controller.commands.count { $0.opcode == .disconnect } }

  @Test func endWhenTheirPacketsHaveLeft() {
    var bench = closing()
    bench.run(for: .milliseconds(300))
    #expect(disconnects(bench) == 0)
    // Nothing more is sent meanwhile.
    #expect(bench.att(Self.handle, Self.request).isEmpty)
    bench.receive(ScriptedController.completedPackets(Self.handle, 1))
    #expect(disconnects(bench) == 1)
    bench.run(for: .milliseconds(300))
    #expect(disconnects(bench) == 1)
  }

  @Test func doNotWaitForAPeerThatAcknowledgesNothing() {
    var bench = closing()
    bench.run(for: .milliseconds(500) - .nanoseconds(1))
    #expect(disconnects(bench) == 0)
    bench.run(for: .nanoseconds(1))
    #expect(disconnects(bench) == 1)
  }

  @Test func mayEndByThemselvesMeanwhile() {
    var bench = closing()
    bench.receive(ScriptedController.disconnected(Self.handle, .connectionTimeout))
    bench.run(for: .seconds(10))
    #expect(disconnects(bench) == 0 && bench.core.linkCount == 0)
  }

  /// The owners are told after a second, whatever the controller does.
  @Test func haveEndedForTheirOwnersInTime() {
    var bench = closing()
    bench.run(for: .seconds(1))
    #expect(bench.core.linkCount == 0)
  }
}
