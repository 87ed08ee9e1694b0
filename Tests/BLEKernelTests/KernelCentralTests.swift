import BLELinux
import BLEWire
import Glibc
import Synchronization
import Testing

@testable import BLEKernel

/// What scanning and connecting past the kernel takes, so that the kernel keeps up.
@Suite struct KernelCentralTests {
  /// LE Extended Create Connection; only its opcode matters here.
  static let create: [UInt8] = [0x01, 0x43, 0x20, 0x02, 0x00, 0x00]
  /// LE Connection Complete: handle 0x0040, we are the central, peer 00:AA:01:01:00:01.
  static let connectionComplete: [UInt8] = [
    0x04, 0x3E, 0x13, 0x01, 0x00, 0x40, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x01, 0xAA, 0x00, 0x28, 0x00, 0x00, 0x00,
    0x58, 0x02, 0x00,
  ]
  /// Management: Device Connected, public, locally initiated, no advertising data.
  static let connected: [UInt8] = [
    0x0B, 0x00, 0x00, 0x00, 0x0D, 0x00, 0x01, 0x00, 0x01, 0x01, 0xAA, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
  ]
  /// An Exchange MTU Request of 517 as the host sends it on handle 0x0040, and bare.
  static let requestPacket: [UInt8] = [0x02, 0x40, 0x00, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x02, 0x05, 0x02]
  static let request: [UInt8] = [0x02, 0x05, 0x02]
  static let completed: [UInt8] = [0x04, 0x13, 0x05, 0x01, 0x40, 0x00, 0x01, 0x00]

  /// A socket connected before the kernel knows of the link would begin a link of its own.
  @Test func connectsASocketWhenTheKernelHasTheLink() throws {
    let sockets = Counter()
    var played = try PlayedAdapter(
      through: SystemCalls { call in
        guard call == .socket else { return nil }
        sockets.count()
        return EMFILE
      })
    try played.send(Self.create)
    try played.events.say(Self.connectionComplete)
    #expect(try played.received() == [Self.connectionComplete])
    try played.send(Self.requestPacket)
    #expect(try played.received() == [], "what is sent meanwhile waits")
    #expect(sockets.value == 0)
    try played.management.say(Self.connected)
    #expect(try played.received() == [])
    #expect(sockets.value == 1)
    #expect(try played.received() == [Self.completed], "without a socket it goes nowhere, and counts as sent")
  }

  /// The controller's event is read first although the management socket was ready before it.
  @Test func readsEventsBeforeTheKernelsReport() throws {
    let sockets = Counter()
    var played = try PlayedAdapter(
      through: SystemCalls { call in
        guard call == .socket else { return nil }
        sockets.count()
        return EMFILE
      })
    try played.send(Self.create)
    try played.management.say(Self.connected)
    try played.events.say(Self.connectionComplete)
    #expect(try played.received() == [Self.connectionComplete])
    #expect(sockets.value == 1)
  }

  /// The kernel gives the link to whoever listens; that is us, so the socket comes by the listener.
  @Test func acceptsALinkOfItsOwnFromTheListener() throws {
    var listening = try MessagePair()
    let near = try #require(listening.near)
    listening.near = nil
    var played = try PlayedAdapter(listener: near, through: SystemCalls { $0 == .socket ? EBUSY : nil })
    try played.send(Self.create)
    try played.events.say(Self.connectionComplete)
    try played.management.say(Self.connected)
    #expect(try played.received() == [Self.connectionComplete])
    try played.send(Self.requestPacket)
    let (pair, packets) = try played.link(0x0040)
    #expect(packets == [])
    #expect(try pair.sent() == Self.request)
    #expect(try played.received() == [Self.completed])
  }

  static func scan(_ on: UInt8) -> [UInt8] { [0x01, 0x42, 0x20, 0x06, on, 0x00, 0x00, 0x00, 0x00, 0x00] }
  static let scanAnswer: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x42, 0x20, 0x00]
  /// LE Read Local Supported Features: none.
  static let probeAnswer: [UInt8] = [0x04, 0x0E, 0x0C, 0x01, 0x03, 0x20, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]
  static let discovering: [UInt8] = [0x13, 0x00, 0x00, 0x00, 0x02, 0x00, 0x06, 0x01]
  static let stopDiscovery: [UInt8] = [0x24, 0x00, 0x00, 0x00, 0x01, 0x00, 0x06]

  /// An active scan is a discovery for the kernel, which goes on for it when the scan has ended.
  @Test func stopsTheDiscoveryAfterAScan() throws {
    var played = try PlayedAdapter()
    for _ in 0..<2 {
      try played.send(Self.scan(1))
      try played.events.say(Self.scanAnswer)
      _ = try played.received()
      try played.management.say(Self.discovering)
      _ = try played.received()
      #expect(try played.management.sent() == nil)
      try played.send(Self.scan(0))
      _ = try played.received()
      #expect(try played.management.sent() == nil, "not before the scan has ended")
      try played.events.say(Self.scanAnswer)
      _ = try played.received()
      #expect(try played.management.sent() == nil, "not before the kernel has seen that")
      try Self.answerProbe(&played)
      #expect(try played.management.sent() == Self.stopDiscovery)
    }
    try played.management.say(Self.discovering)
    _ = try played.received()
    #expect(try played.management.sent() == nil, "another program's")
  }

  @Test func stopsADiscoveryThatIsReportedLate() throws {
    var played = try PlayedAdapter()
    try played.send(Self.scan(1), Self.scan(0))
    for _ in 0..<2 { try played.events.say(Self.scanAnswer) }
    _ = try played.received()
    try played.management.say(Self.discovering)
    _ = try played.received()
    try Self.answerProbe(&played)
    #expect(try played.management.sent() == Self.stopDiscovery)
  }

  /// The kernel, which discovers already, does not say so again.
  @Test func keepsTheDiscoveryOfAScanThatStartsAgain() throws {
    var played = try PlayedAdapter()
    try played.send(Self.scan(1))
    try played.management.say(Self.discovering)
    _ = try played.received()
    try played.send(Self.scan(0))
    try played.events.say(Self.scanAnswer)
    _ = try played.received()
    try played.send(Self.scan(1))
    try played.events.say(Self.probeAnswer)
    _ = try played.received()
    #expect(try played.management.sent() == nil, "we scan")
    try played.send(Self.scan(0))
    try played.events.say(Self.scanAnswer)
    _ = try played.received()
    try played.events.say(Self.probeAnswer)
    _ = try played.received()
    #expect(try played.management.sent() == Self.stopDiscovery)
  }

  @Test func finishWaitsForTheEndOfADiscovery() throws {
    var played = try PlayedAdapter()
    try played.send(Self.scan(1), Self.scan(0))
    try played.management.say(Self.discovering)
    for answer in [Self.scanAnswer, Self.scanAnswer, Self.probeAnswer] { try played.events.say(answer) }
    _ = try played.received()
    try played.events.say(Self.probeAnswer)
    played.adapter.finish()
    #expect(try played.management.sent() == Self.stopDiscovery)
  }

  /// The adapter asked something of the controller, which answers.
  private static func answerProbe(_ played: inout PlayedAdapter) throws {
    var last: [UInt8]?
    while let sent = try played.events.sent() { last = sent }
    let probe: [UInt8] = [0x01, 0x03, 0x20, 0x00]
    #expect(last == probe)
    #expect(played.takeSentCommands() == [probe])
    try played.events.say(probeAnswer)
    #expect(try played.received() == [probeAnswer])
  }
}

/// How often something was done.
private final class Counter: Sendable {
  private let number = Mutex(0)
  var value: Int { number.withLock { $0 } }
  func count() { number.withLock { $0 += 1 } }
}
