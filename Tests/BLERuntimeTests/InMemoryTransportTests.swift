import BLECrypto
import BLEHost
import BLELinux
import BLEVirtual
import BLEWire
import Synchronization
import Testing

@testable import BLERuntime

/// The loop over a transport of a test's own: `Docs/Transports.md` shows it as the example.
@Suite struct InMemoryTransportTests {
  func start<Machine: HostMachine>(
    _ machine: Machine, _ controller: ScriptedController, tracedBy trace: consuming PacketTrace? = nil
  ) throws -> HostMailbox<Machine.Command, Machine.Event> {
    var transport = InMemoryTransport(to: controller)
    try transport.open(patience: .zero)
    return try HostLoop.start(machine, on: transport, tracedBy: trace, options: LoopOptions())
  }

  @Test func passesPacketsBothWays() throws {
    let command: [UInt8] = [0x01, 0x01, 0x10, 0x00]
    let answer: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x01, 0x10, 0x00]
    let controller = try ScriptedController { $0 == command ? [answer] : [] }
    let mailbox = try start(ToyMachine(), controller)
    let log = EventLog<ToyMachine.Event>()
    _ = mailbox.attach(log.sink)
    #expect(mailbox.post(.send(1, command)))
    log.wait(for: .received(answer))
    controller.send(.packet([0x04, 0x01, 0x00]), .packet([0x04, 0x02, 0x00]))
    log.wait(for: .received([0x04, 0x02, 0x00]))
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
    #expect(controller.sent == [ToyMachine.hello, command, ToyMachine.farewell])
  }

  @Test func handsOverReportsAndNoticesAndTracesCommandsOfTheTransport() throws {
    let folder = try TemporaryFolder()
    let controller = try ScriptedController()
    let mailbox = try start(ToyMachine(), controller, tracedBy: PacketTrace(at: folder.file("t.btsnoop")))
    let log = EventLog<ToyMachine.Event>()
    _ = mailbox.attach(log.sink)
    let report = KernelReport.failed(DeviceAddress(octets: BD_ADDR(1), kind: .public))
    controller.log("a line")
    controller.send(.report(report), .sentCommand([0x01, 0x06, 0x04, 0x00]), .packet([0x04, 0x01, 0x00]))
    log.wait(for: .loop(.notice("a line")))
    log.wait(for: .received([0x04, 0x01, 0x00]))
    #expect(log.events.contains(.reported(report)))
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
    let traced = try TraceReader(folder.file("t.btsnoop")).records.map(\.octets)
    #expect(traced == [ToyMachine.hello, [0x01, 0x06, 0x04, 0x00], [0x04, 0x01, 0x00], ToyMachine.farewell])
  }

  @Test func startsAnewAfterALoss() throws {
    let controller = try ScriptedController()
    let mailbox = try start(ToyMachine(), controller)
    let log = EventLog<ToyMachine.Event>()
    _ = mailbox.attach(log.sink)
    log.wait(for: .state(1))
    controller.isConnected = false
    log.wait(for: .state(0))
    controller.isConnected = true
    log.wait(for: .state(2))
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
    #expect(controller.sent == [ToyMachine.hello, ToyMachine.hello, ToyMachine.farewell])
  }

  @Test func throwsWhereTheFirstOpeningFails() throws {
    let controller = try ScriptedController()
    controller.isConnected = false
    let error = #expect(throws: TransportError.self) { _ = try start(ToyMachine(), controller) }
    #expect(error?.kind == .unavailable)
  }

  /// The host of the package, over a controller that a machine plays: no socket, no second thread.
  @Test func bringsTheHostUpOnAVirtualController() throws {
    let radio = Mutex(VirtualRadio(seed: 1))
    let id = radio.withLock { $0.attach(now: .start) }
    let controller = try ScriptedController { packet in
      radio.withLock { radio in
        var (output, following) = (VirtualRadioOutput(), [[UInt8]]())
        radio.receive(packet.span, from: id, now: .start, into: &output)
        output.forEach { following.append([UInt8](copying: $1)) }
        return following
      }
    }
    let mailbox = try start(
      HostCore(configuration: HostConfiguration(), cryptography: LibCrypto(), random: .system), controller)
    let log = EventLog<String>()
    let sink = log.sink
    _ = mailbox.attach { events in
      sink(events.compactMap { if case .state(let state, _) = $0 { "\(state)" } else { nil } })
    }
    log.wait(for: "\(AdapterState.poweredOn)")
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
  }
}
