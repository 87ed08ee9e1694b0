import BLELinux
import BLEWire
import Foundation
import Testing

@testable import BLERuntime

/// Losing the pipe, coming back, and leaving.
@Suite struct HostLoopEndTests {
  typealias Loop = HostLoop<ToyMachine, H4Transport>

  /// A client's loop, and the server that plays the controller.
  func withServer(
    _ machine: ToyMachine = ToyMachine(), _ options: LoopOptions = LoopOptions(),
    _ body: (HostMailbox<ToyMachine.Command, ToyMachine.Event>, EventLog<ToyMachine.Event>, inout StreamPort) throws ->
      Void
  ) throws {
    let folder = try TemporaryFolder()
    var server = StreamPort(.unixServer(path: folder.file("hci")))
    try server.open()
    var transport = H4Transport(.unixClient(path: folder.file("hci")))
    try transport.open(patience: patience)
    let mailbox = try Loop.start(machine, on: transport, options: options)
    let log = EventLog<ToyMachine.Event>()
    _ = mailbox.attach(log.sink)
    try body(mailbox, log, &server)
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
  }

  static let impatient = {
    var options = LoopOptions()
    options.reconnectionInterval = .milliseconds(1)
    options.shutdownPatience = .milliseconds(1)
    return options
  }()

  func failures(_ log: EventLog<ToyMachine.Event>) -> [TransportError] {
    log.events.compactMap { if case .failed(let error) = $0 { error } else { nil } }
  }

  @Test(
    arguments: [
      // A whole packet, then the end: nothing is cut.
      ([0x04, 0x01, 0x01, 0x01], TransportError.Kind.closed, "closed the connection"),
      // Inside the header, inside the load.
      ([0x04, 0x01, 0x01, 0x01, 0x04, 0x0E], .closed, "2 octets into a packet"),
      ([0x02, 0x40, 0x20, 0x03, 0x00, 0xAA], .closed, "6 octets into a packet"),
      // No packet type is 0x7F: the stream is out of step.
      ([0x04, 0x01, 0x01, 0x01, 0x7F], .inputOutput, "0x7F"),
    ] as [([UInt8], TransportError.Kind, String)])
  func reportsALossWithItsReasonAndReconnects(
    _ octets: [UInt8], _ kind: TransportError.Kind, _ part: String
  ) throws {
    try withServer(ToyMachine(), Self.impatient) { (mailbox, log, server) throws in
      do {
        let far = try server.waitForStream()
        #expect(try far.readAll(4) == ToyMachine.hello)
        #expect(try far.write(octets.span) == octets.count)
        if kind == .inputOutput { log.wait(for: .state(0)) }
      }
      let again = try server.waitForStream()
      #expect(try again.readAll(4) == ToyMachine.hello, "the machine is started anew")
      log.wait(for: .state(2))
      let failure = try #require(failures(log).first)
      #expect(failure.kind == kind)
      #expect(failure.what.contains(part), "\(failure)")
      #expect(failure.place.hasPrefix("unix-client:"))
      let whole = log.events.contains(.received([0x04, 0x01, 0x01, 0x01]))
      #expect(whole == (octets[0] == 0x04), "what was whole before the loss was heard")
      #expect(try again.write([0x04, 0x02, 0x00].span) == 3)
      log.wait(for: .received([0x04, 0x02, 0x00]))
    }
  }

  @Test func logsARepeatedFailureOnce() throws {
    let folder = try TemporaryFolder()
    var server: StreamPort? = StreamPort(.unixServer(path: folder.file("hci")))
    try server?.open()
    var transport = H4Transport(.unixClient(path: folder.file("hci")))
    try transport.open(patience: patience)
    let mailbox = try Loop.start(ToyMachine(), on: transport, options: Self.impatient)
    let log = EventLog<ToyMachine.Event>()
    _ = mailbox.attach(log.sink)
    do { _ = try server?.waitForStream() }
    let wasThere = server.take() != nil
    #expect(wasThere)
    log.wait { $0.contains { if case .loop(.notice) = $0 { true } else { false } } }
    var back = StreamPort(.unixServer(path: folder.file("hci")))
    try back.open()
    let far = try back.waitForStream()
    #expect(try far.readAll(4) == ToyMachine.hello)
    let notices = log.events.filter { if case .loop(.notice) = $0 { true } else { false } }
    #expect(Set(notices.map { "\($0)" }).count == notices.count, "no reason is told twice in a row")
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
  }

  @Test(arguments: [true, false]) func acceptsTheNextControllerAfterALoss(_ isTerminal: Bool) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("hci")
    var transport = H4Transport(isTerminal ? .pseudoTerminal(path: path) : .unixServer(path: path))
    try transport.open(patience: patience)
    let mailbox = try Loop.start(ToyMachine(), on: transport, options: Self.impatient)
    let log = EventLog<ToyMachine.Event>()
    _ = mailbox.attach(log.sink)
    for round in 1...3 {
      var controller = StreamPort(
        isTerminal ? .serial(path: path, SerialSettings(flowControl: .none)) : .unixClient(path: path))
      try controller.open()
      let far = try controller.waitForStream()
      #expect(try far.readAll(4) == ToyMachine.hello)
      log.wait(for: .state(round))
      _ = consume far
      log.wait { $0.count { $0 == .state(0) } == round }
    }
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
    #expect(!folder.has("hci"))
  }

  @Test func sendsThePacketsOfTheShutdown() throws {
    try withServer { (mailbox, log, server) throws in
      let far = try server.waitForStream()
      #expect(try far.readAll(4) == ToyMachine.hello)
      mailbox.shutDown()
      #expect(try far.readAll(5) == ToyMachine.farewell)
      #expect(try far.isEnded())
      #expect(mailbox.waitUntilEnded(atMost: patience))
      #expect(log.events.last == .shutDown)
      #expect(!mailbox.post(.mark(1)), "nobody is there any more")
    }
  }

  @Test func shutdownWaitsForTheAnswerOfTheController() throws {
    try withServer(ToyMachine(shutdownNeedsAnswer: true)) { (mailbox, log, server) throws in
      let far = try server.waitForStream()
      #expect(try far.readAll(4) == ToyMachine.hello)
      mailbox.shutDown()
      #expect(try far.readAll(5) == ToyMachine.farewell)
      #expect(!mailbox.waitUntilEnded(atMost: .zero))
      #expect(try far.write([0x04, 0x0E, 0x00].span) == 3)
      #expect(mailbox.waitUntilEnded(atMost: patience))
      #expect(log.events.last == .received([0x04, 0x0E, 0x00]))
    }
  }

  @Test func boundsTheWaitForAControllerAtShutdown() throws {
    try withServer(ToyMachine(shutdownNeedsAnswer: true), Self.impatient) { (mailbox, _, server) throws in
      let far = try server.waitForStream()
      mailbox.shutDown()
      #expect(mailbox.waitUntilEnded(atMost: patience))
      #expect(try far.readAll(9) == ToyMachine.hello + ToyMachine.farewell)
    }
  }
}

/// A folder of a test's own, gone with the test.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = "/tmp/ble-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }
  func has(_ name: String) -> Bool { (try? FileManager.default.attributesOfItem(atPath: file(name))) != nil }
}
