import BLELinux
import BLEWire
import Foundation
import Testing

@testable import BLERuntime

/// Losing the pipe, coming back, and leaving.
@Suite struct HostLoopEndTests {
  typealias Loop = HostLoop<ToyCore>

  /// A client's loop, and the server that plays the controller.
  func withServer(
    _ core: ToyCore = ToyCore(), _ options: LoopOptions = LoopOptions(),
    _ body: (HostDesk<ToyCore.Command, ToyCore.Event>, Hearing<ToyCore.Event>, inout StreamPort) throws -> Void
  ) throws {
    let folder = try TemporaryFolder()
    var server = StreamPort(.unixServer(path: folder.file("hci")))
    try server.open()
    let pipe = try Pipe.open(.stream(.unixClient(path: folder.file("hci"))), patience: patience)
    let desk = try Loop.start(core, pipe, nil, options, at: "toy")
    let hearing = Hearing<ToyCore.Event>()
    _ = desk.attach(hearing.sink)
    try body(desk, hearing, &server)
    desk.shutDown()
    #expect(desk.waitUntilEnded(atMost: patience))
  }

  static let impatient = {
    var options = LoopOptions()
    options.reconnectionInterval = .milliseconds(1)
    options.shutdownPatience = .milliseconds(1)
    return options
  }()

  func failures(_ hearing: Hearing<ToyCore.Event>) -> [TransportError] {
    hearing.events.compactMap { if case .failed(let error) = $0 { error } else { nil } }
  }

  @Test(
    arguments: [
      // A whole packet, then the end: nothing is cut.
      ([0x04, 0x01, 0x01, 0x01], TransportError.Kind.closed, "closed the connection"),
      // Inside the header, inside the load.
      ([0x04, 0x01, 0x01, 0x01, 0x04, 0x0E], .closed, "2 octets into a packet"),
      ([0x02, 0x40, 0x20, 0x03, 0x00, 0xAA], .closed, "6 octets into a packet"),
      // No packet type is 0x7F: the stream is out of step.
      ([0x04, 0x01, 0x01, 0x01, 0x7F], .inputOutput, "0x7f"),
    ] as [([UInt8], TransportError.Kind, String)])
  func aLossIsToldWithItsReasonAndTheControllerComesBack(
    _ octets: [UInt8], _ kind: TransportError.Kind, _ part: String
  ) throws {
    try withServer(ToyCore(), Self.impatient) { (desk, hearing, server) throws in
      do {
        let far = try server.waitForStream()
        #expect(try far.readAll(4) == ToyCore.hello)
        #expect(try far.write(octets.span) == octets.count)
        if kind == .inputOutput { #expect(hearing.wait(for: .state(0))) }
      }
      let again = try server.waitForStream()
      #expect(try again.readAll(4) == ToyCore.hello, "the core is started anew")
      #expect(hearing.wait(for: .state(2)))
      let failure = try #require(failures(hearing).first)
      #expect(failure.kind == kind)
      #expect(failure.what.contains(part), "\(failure)")
      #expect(failure.place.hasPrefix("unix-client:"))
      let whole = hearing.events.contains(.received([0x04, 0x01, 0x01, 0x01]))
      #expect(whole == (octets[0] == 0x04), "what was whole before the loss was heard")
      #expect(try again.write([0x04, 0x02, 0x00].span) == 3)
      #expect(hearing.wait(for: .received([0x04, 0x02, 0x00])), "the beginning of the lost packet is forgotten")
    }
  }

  @Test func whileNobodyAnswersTheReasonIsToldOnce() throws {
    let folder = try TemporaryFolder()
    var server: StreamPort? = StreamPort(.unixServer(path: folder.file("hci")))
    try server?.open()
    let pipe = try Pipe.open(.stream(.unixClient(path: folder.file("hci"))), patience: patience)
    let desk = try Loop.start(ToyCore(), pipe, nil, Self.impatient, at: "toy")
    let hearing = Hearing<ToyCore.Event>()
    _ = desk.attach(hearing.sink)
    do { _ = try server?.waitForStream() }
    let wasThere = server.take() != nil
    #expect(wasThere)
    #expect(hearing.wait { $0.contains { if case .notice = $0 { true } else { false } } })
    var back = StreamPort(.unixServer(path: folder.file("hci")))
    try back.open()
    let far = try back.waitForStream()
    #expect(try far.readAll(4) == ToyCore.hello)
    let notices = hearing.events.filter { if case .notice = $0 { true } else { false } }
    #expect(Set(notices.map { "\($0)" }).count == notices.count, "no reason is told twice in a row")
    desk.shutDown()
    #expect(desk.waitUntilEnded(atMost: patience))
  }

  @Test(arguments: [true, false]) func aServerAndATerminalTakeTheNextOne(_ isTerminal: Bool) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("hci")
    let pipe = try Pipe.open(
      .stream(isTerminal ? .pseudoTerminal(path: path) : .unixServer(path: path)), patience: patience)
    let desk = try Loop.start(ToyCore(), pipe, nil, Self.impatient, at: "toy")
    let hearing = Hearing<ToyCore.Event>()
    _ = desk.attach(hearing.sink)
    for round in 1...3 {
      var controller = StreamPort(
        isTerminal ? .serial(path: path, SerialSettings(flowControl: .none)) : .unixClient(path: path))
      try controller.open()
      let far = try controller.waitForStream()
      #expect(try far.readAll(4) == ToyCore.hello)
      #expect(hearing.wait(for: .state(round)))
      _ = consume far
      #expect(hearing.wait { $0.count { $0 == .state(0) } == round })
    }
    desk.shutDown()
    #expect(desk.waitUntilEnded(atMost: patience))
    #expect(!folder.has("hci"))
  }

  @Test func theFarewellIsSentBeforeTheEnd() throws {
    try withServer { (desk, hearing, server) throws in
      let far = try server.waitForStream()
      #expect(try far.readAll(4) == ToyCore.hello)
      desk.shutDown()
      #expect(try far.readAll(5) == ToyCore.farewell)
      #expect(try far.isEnded())
      #expect(desk.waitUntilEnded(atMost: patience))
      #expect(hearing.events.last == .shutDown)
      #expect(!desk.post(.mark(1)), "nobody is there any more")
    }
  }

  @Test func theEndWaitsForTheAnswerOfTheController() throws {
    try withServer(ToyCore(shutdownNeedsAnswer: true)) { (desk, hearing, server) throws in
      let far = try server.waitForStream()
      #expect(try far.readAll(4) == ToyCore.hello)
      desk.shutDown()
      #expect(try far.readAll(5) == ToyCore.farewell)
      #expect(!desk.waitUntilEnded(atMost: .zero))
      #expect(try far.write([0x04, 0x0E, 0x00].span) == 3)
      #expect(desk.waitUntilEnded(atMost: patience))
      #expect(hearing.events.last == .received([0x04, 0x0E, 0x00]))
    }
  }

  @Test func aControllerThatDoesNotAnswerIsNotWaitedForLong() throws {
    try withServer(ToyCore(shutdownNeedsAnswer: true), Self.impatient) { (desk, _, server) throws in
      let far = try server.waitForStream()
      desk.shutDown()
      #expect(desk.waitUntilEnded(atMost: patience))
      #expect(try far.readAll(9) == ToyCore.hello + ToyCore.farewell)
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
