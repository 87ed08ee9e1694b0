import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Testing

/// Links whose packets stay in the controller, because their peers do not acknowledge them, and links that need a
/// buffer.
@Suite("Links that keep the controller's buffers") struct StalledLinkTests {
  private static let silent: [UInt16] = [0x40, 0x41, 0x42, 0x43]
  private static let honest: UInt16 = 0x50
  /// Exchange MTU Request, and its response.
  private static let (request, response): ([UInt8], [UInt8]) = ([0x02, 0x17, 0x00], [0x03, 0x05, 0x02])

  /// As many silent links as there are buffers, and an honest one.
  private func bench() -> Bench {
    var bench = Bench()
    bench.completesPackets = false
    for (number, handle) in (Self.silent + [Self.honest]).enumerated() {
      bench.receive(ScriptedController.connected(handle, from: "C0:00:00:00:00:0\(number)"))
    }
    // What the host sends by itself.
    for packet in bench.data { bench.receive(ScriptedController.completedPackets(UInt16(packet[1]), 1)) }
    for handle in Self.silent { #expect(bench.att(handle, Self.request) == [Self.response]) }
    return bench
  }

  private func ended(_ bench: Bench) -> [UInt16] {
    bench.controller.commands.compactMap { command in
      var parameters = command.parameters
      guard command.opcode == .disconnect else { return nil }
      return try? HCI.Disconnect(decodingPrefixOf: &parameters).connectionHandle.rawValue
    }
  }

  @Test func endAfterTenSecondsAndTheOtherLinkIsServed() {
    var bench = bench()
    #expect(bench.att(Self.honest, Self.request).isEmpty, "no buffer is free")
    bench.run(for: .seconds(9))
    #expect(ended(bench).isEmpty)
    let before = bench.data.count
    bench.run(for: .seconds(1))
    #expect(ended(bench) == Self.silent)
    for handle in Self.silent { bench.receive(ScriptedController.disconnected(handle, .terminatedByLocalHost)) }
    #expect(bench.attPayloads(from: before) == [Self.response])
    bench.receive(ScriptedController.completedPackets(Self.honest, 1))
    bench.run(for: .seconds(60))
    #expect(bench.core.linkCount == 1)
    let lines = bench.takeEvents().compactMap { if case .diagnostic(let line) = $0 { "\(line)" } else { nil } }
    #expect(lines.count == 4 && lines.allSatisfy { $0.contains("its packets are not acknowledged") })
  }

  /// None of their packets is completed for longer than any supervision timeout: the controller does not report it, or
  /// the peer acknowledges nothing.
  @Test func stayForThirtyFiveSecondsWhileNoOtherNeedsABuffer() {
    var bench = bench()
    bench.run(for: .seconds(35) - .nanoseconds(1))
    #expect(ended(bench).isEmpty && bench.core.linkCount == 5)
    bench.run(for: .seconds(37))
    #expect(ended(bench) == Self.silent && bench.core.linkCount == 1)
  }

  @Test func stayIfTheirPacketsAreCompletedSlowly() {
    var bench = bench()
    let before = bench.data.count
    #expect(bench.att(Self.honest, Self.request).isEmpty)
    for handle in Self.silent {
      bench.run(for: .seconds(2))
      bench.receive(ScriptedController.completedPackets(handle, 1))
    }
    #expect(bench.attPayloads(from: before) == [Self.response])
    bench.run(for: .seconds(60))
    #expect(ended(bench).isEmpty)
  }
}
