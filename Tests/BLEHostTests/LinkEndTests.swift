import BLEHCI
import BLEHost
import BLEWire
import Testing

/// A link ends by our own clock, whatever the controller reports.
@Suite("The end of a link") struct LinkEndTests {
  private static let address = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
  private static let peer = LinkID(rawValue: 1)

  /// A central with a link of the handle 0x0040.
  private func linked() -> Bench {
    var bench = Bench()
    bench.perform(.initiating(.connect(ConnectID(rawValue: 1), Self.address, ConnectionParameters())))
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.address))
    _ = bench.takeEvents()
    bench.controller.commands = []
    return bench
  }

  private func ends(_ events: [HostEvent]) -> [HCIErrorCode] {
    events.compactMap { if case .link(_, .disconnected(let reason)) = $0 { reason } else { nil } }
  }

  private func lines(_ events: [HostEvent]) -> [String] {
    events.compactMap { if case .diagnostic(let line) = $0 { line.text } else { nil } }
  }

  private func opcodes(_ bench: Bench) -> [HCIOpcode] { bench.controller.commands.map(\.opcode) }

  @Test func aLinkThatWasAskedToEndEndsForItsOwnersAfterASecond() {
    var bench = linked()
    bench.perform(.link(Self.peer, .disconnect(.remoteUserTerminatedConnection)))
    bench.run(for: .milliseconds(999))
    #expect(ends(bench.events).isEmpty)
    bench.run(for: .milliseconds(1))
    #expect(ends(bench.takeEvents()) == [.terminatedByLocalHost])
    #expect(bench.core.linkCount == 0)
    // The report of the controller is no second end.
    bench.receive(ScriptedController.disconnected(0x40, .terminatedByLocalHost))
    #expect(bench.takeEvents().isEmpty)
    bench.run(for: .seconds(60))
    #expect(bench.takeEvents().isEmpty)
  }

  /// A controller refuses a second link to a device that it has one to.
  @Test func theNextConnectionWaitsForTheEndAtTheController() {
    var bench = linked()
    bench.perform(.link(Self.peer, .disconnect(.remoteUserTerminatedConnection)))
    bench.run(for: .seconds(1))
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), Self.address, ConnectionParameters())))
    #expect(opcodes(bench) == [.disconnect])
    bench.receive(ScriptedController.disconnected(0x40, .connectionTimeout))
    #expect(opcodes(bench) == [.disconnect, .leCreateConnection])
  }

  /// The supervision timeout of the link is 5 s: then the controller has to have ended it.
  @Test func aControllerThatNeverReportsTheEndIsReset() {
    var bench = linked()
    bench.perform(.link(Self.peer, .disconnect(.remoteUserTerminatedConnection)))
    bench.perform(.initiating(.connect(ConnectID(rawValue: 2), Self.address, ConnectionParameters())))
    bench.run(for: .milliseconds(7_999))
    #expect(!opcodes(bench).contains(.reset))
    bench.run(for: .milliseconds(1))
    let all = opcodes(bench)
    #expect(all.contains(.reset) && all.last == .leCreateConnection, "what was declared is restored")
    #expect(bench.core.state == .poweredOn)
    #expect(lines(bench.events).contains { $0.contains("does not report the end of the link with the handle 0x0040") })
    bench.receive(ScriptedController.connectedAsCentral(0x40, to: Self.address))
    #expect(bench.core.linkCount == 1, "another link is served")
  }

  /// A reset would end the other link.
  @Test func theResetWaitsForTheOtherLinks() {
    var bench = linked()
    bench.receive(ScriptedController.connected(0x41))
    bench.perform(.link(Self.peer, .disconnect(.remoteUserTerminatedConnection)))
    bench.run(for: .seconds(60))
    #expect(bench.core.linkCount == 1 && !opcodes(bench).contains(.reset))
    bench.receive(ScriptedController.disconnected(0x41))
    #expect(opcodes(bench).contains(.reset))
  }

  @Test func aRejectedDisconnectIsSentAgain() {
    var bench = linked()
    bench.controller.refusals[.disconnect] = .commandDisallowed
    bench.perform(.link(Self.peer, .disconnect(.remoteUserTerminatedConnection)))
    #expect(lines(bench.events).contains { $0.contains("Command Disallowed") })
    bench.controller.refusals = [:]
    bench.run(for: .seconds(1))
    #expect(opcodes(bench) == [.disconnect, .disconnect])
    #expect(ends(bench.events) == [.terminatedByLocalHost])
  }

  /// With the link ended after a second, the host does not wait longer than that for its answers.
  @Test func theShutdownOfAHostWhoseControllerIsSilentIsShort() {
    var bench = linked()
    bench.controller.silent = [.disconnect]
    bench.perform(.link(Self.peer, .disconnect(.remoteUserTerminatedConnection)))
    bench.run(for: .seconds(1))
    #expect(bench.core.linkCount == 0)
    bench.shutdown()
    bench.run(for: .milliseconds(799))
    #expect(!bench.core.isShutDown)
    bench.run(for: .milliseconds(1))
    #expect(bench.core.isShutDown)
  }
}
