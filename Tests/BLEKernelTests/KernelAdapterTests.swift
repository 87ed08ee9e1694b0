import BLELinux
import BLEWire
import Glibc
import Testing

@testable import BLEKernel

@Suite struct KernelAdapterTests {
  /// LE Connection Complete: handle 0x0040, we are the peripheral, peer 00:AA:01:01:00:01.
  static let connectionComplete: [UInt8] = [
    0x04, 0x3E, 0x13, 0x01, 0x00, 0x40, 0x00, 0x01, 0x00, 0x01, 0x00, 0x01, 0x01, 0xAA, 0x00, 0x28, 0x00, 0x00, 0x00,
    0x58, 0x02, 0x00,
  ]
  /// Disconnection Complete: handle 0x0040, remote user terminated connection.
  static let disconnectionComplete: [UInt8] = [0x04, 0x05, 0x04, 0x00, 0x40, 0x00, 0x13]
  /// An Exchange MTU Request of 517, bare and as the host sees it on handle 0x0040.
  static let request: [UInt8] = [0x02, 0x05, 0x02]
  static let requestPacket: [UInt8] = [0x02, 0x40, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x02, 0x05, 0x02]
  /// The answer, as the host sends it.
  static let response: [UInt8] = [0x03, 0x05, 0x02]
  static let responsePacket: [UInt8] = [0x02, 0x40, 0x00, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x03, 0x05, 0x02]
  static func completed(_ count: UInt8) -> [UInt8] { [0x04, 0x13, 0x05, 0x01, 0x40, 0x00, count, 0x00] }

  /// What the adapter hands out in one round.
  static func round(_ played: inout PlayedAdapter) throws -> [[UInt8]] { try played.received() }

  @Test func passesCommandsAndEvents() throws {
    var played = try PlayedAdapter()
    try played.send([0x01, 0x01, 0x10, 0x00])
    #expect(try played.events.sent() == [0x01, 0x01, 0x10, 0x00])
    let event: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x01, 0x10, 0x00]
    try played.events.say(event)
    #expect(try Self.round(&played) == [event])
    #expect(try Self.round(&played) == [])
  }

  @Test(
    arguments: [
      // LE Read Buffer Size: 27 octets, 8 packets become 2,054 and 32.
      ([0x04, 0x0E, 0x07, 0x01, 0x02, 0x20, 0x00, 0x1B, 0x00, 0x08], [0x06, 0x08, 0x20]),
      // LE Read Buffer Size [v2].
      ([0x04, 0x0E, 0x0A, 0x01, 0x60, 0x20, 0x00, 0xFB, 0x00, 0x01, 0x00, 0x00, 0x00], [0x06, 0x08, 0x20]),
      // LE Read Buffer Size [v2], refused.
      ([0x04, 0x0E, 0x0A, 0x01, 0x60, 0x20, 0x01, 0xFB, 0x00, 0x01, 0x00, 0x00, 0x00], [0xFB, 0x00, 0x01]),
    ] as [([UInt8], [UInt8])])
  func reportsBuffersForWholeFrames(event: [UInt8], buffers: [UInt8]) throws {
    var played = try PlayedAdapter()
    try played.events.say(event)
    var expected = event
    expected.replaceSubrange(7..<10, with: buffers)
    #expect(try Self.round(&played) == [expected])
  }

  /// The kernel answers requests for keys and for connection parameters itself.
  @Test(
    arguments: [
      [0x04, 0x3E, 0x0D, 0x05, 0x40, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      [0x04, 0x3E, 0x0B, 0x06, 0x40, 0x00, 0x06, 0x00, 0x0C, 0x00, 0x00, 0x00, 0xC8, 0x00],
    ] as [[UInt8]])
  func withholdsRequestsThatTheKernelAnswers(event: [UInt8]) throws {
    var played = try PlayedAdapter()
    try played.events.say(event)
    #expect(try Self.round(&played) == [])
  }

  @Test func translatesPDUsAndPackets() throws {
    var played = try PlayedAdapter()
    try played.events.say(Self.connectionComplete)
    #expect(try Self.round(&played) == [Self.connectionComplete])
    let (pair, announced) = try played.link(0x0040)
    #expect(announced.isEmpty, "its event has told already")
    try pair.say(Self.request)
    #expect(try Self.round(&played) == [Self.requestPacket])
    try played.send(Self.responsePacket)
    #expect(try pair.sent() == Self.response)
    let owes1 = played.adapter.hasPendingInput
    #expect(owes1)
    #expect(try Self.round(&played) == [Self.completed(1)])
  }

  @Test func announcesALinkThatWasUpBefore() throws {
    var played = try PlayedAdapter()
    let (_, packets) = try played.link(0x0040)
    #expect(packets == [Self.connectionComplete])
  }

  @Test func keepsFramesUntilTheLinkHasASocket() throws {
    var played = try PlayedAdapter()
    try played.events.say(Self.connectionComplete)
    _ = try played.received()
    try played.send(Self.responsePacket, Self.responsePacket)
    #expect(try Self.round(&played) == [], "not sent yet")
    let (pair, _) = try played.link(0x0040)
    #expect(try pair.sent() == Self.response)
    #expect(try Self.round(&played) == [Self.completed(2)])
  }

  @Test func dropsFramesPastTheBuffers() throws {
    var played = try PlayedAdapter()
    try played.events.say(Self.connectionComplete)
    _ = try played.received()
    for _ in 0..<KernelTranslator.bufferCount { try played.send(Self.responsePacket) }
    let owes2 = played.adapter.hasPendingInput
    #expect(!owes2)
    try played.send(Self.responsePacket)
    #expect(try Self.round(&played) == [Self.completed(1)])
  }

  @Test func completesNoFrameThatAFullSocketRejects() throws {
    var played = try PlayedAdapter()
    let (pair, _) = try played.link(0x0040)
    _ = try played.received()
    // Until the pair's buffer is full, each frame is completed at once.
    var sent = 0
    while sent < 10_000 {
      try played.send(Self.responsePacket)
      sent += 1
      guard played.adapter.hasPendingInput else { break }
      _ = try played.received()
    }
    let owes3 = played.adapter.hasPendingInput
    #expect(!owes3, "\(sent) frames went and the socket still took more")
    var taken = 0
    while try pair.sent() != nil { taken += 1 }
    #expect(taken == sent - 1)
    #expect(try Self.round(&played) == [Self.completed(1)])
    #expect(try pair.sent() == Self.response)
  }

  @Test func handsOverPDUsBeforeTheEndOfTheLink() throws {
    var played = try PlayedAdapter()
    let (pair, _) = try played.link(0x0040)
    try pair.say(Self.request)
    try pair.say(Self.request)
    try played.events.say(Self.disconnectionComplete)
    #expect(try Self.round(&played) == [Self.requestPacket, Self.requestPacket, Self.disconnectionComplete])
    try played.send(Self.responsePacket)
    let owes4 = played.adapter.hasPendingInput
    #expect(!owes4, "the link is gone, and its credits with it")
    #expect(throws: SystemError.self) { try pair.far.send(Self.request.span) }
  }

  /// A socket with an error tells that first, and what came before it afterwards; so does a local one whose other end
  /// leaves something unread.
  @Test func readsWhatCameBeforeAnError() throws {
    for linkEnds in [false, true] {
      var played = try PlayedAdapter()
      var pair = Optional(try played.link(0x0040).pair)
      try played.send(Self.responsePacket)
      _ = try played.received()
      try pair?.say(Self.request)
      try pair?.say(Self.request)
      pair = nil
      if linkEnds { try played.events.say(Self.disconnectionComplete) }
      let ends = linkEnds ? [Self.disconnectionComplete] : []
      #expect(try Self.round(&played) == [Self.requestPacket, Self.requestPacket] + ends)
    }
  }

  @Test func completesFramesForASocketThatEnded() throws {
    var played = try PlayedAdapter()
    var pair = Optional(try played.link(0x0040).pair)
    pair = nil
    _ = pair
    #expect(try Self.round(&played) == [])
    try played.send(Self.responsePacket)
    #expect(try Self.round(&played) == [Self.completed(1)])
    try played.events.say(Self.disconnectionComplete)
    #expect(try Self.round(&played) == [Self.disconnectionComplete])
  }

  /// The listener is opened anew, which here fails as it is told to.
  @Test func replacesTheListenerWhereALinkGetsNoSocket() throws {
    let listener = try MessagePair()
    var played = try PlayedAdapter(
      listener: listener.near, through: SystemCalls { $0 == .bind || $0 == .socket ? EADDRINUSE : nil })
    played.adapter.translator.acceptPatience = .zero
    try played.events.say(Self.connectionComplete)
    #expect(try Self.round(&played) == [Self.connectionComplete])
    try played.adapter.poller.wait(until: nil, on: MonotonicClock())
    var thrown: TransportError?
    do { _ = try played.received() } catch let error as TransportError { thrown = error }
    #expect(thrown?.kind == .busy)
  }

  @Test func completesFramesOfTheKernelsChannels() throws {
    var played = try PlayedAdapter()
    let (pair, _) = try played.link(0x0040)
    try played.send([0x02, 0x40, 0x00, 0x06, 0x00, 0x02, 0x00, 0x06, 0x00, 0x0B, 0x01])
    #expect(try pair.sent() == nil)
    #expect(try Self.round(&played) == [Self.completed(1)])
  }

  @Test(
    arguments: [
      // New Settings without powered; Index Removed.
      ([0x06, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x02, 0x00, 0x00], TransportError.Kind.poweredOff),
      ([0x05, 0x00, 0x00, 0x00, 0x00, 0x00], .closed),
    ] as [([UInt8], TransportError.Kind)])
  func reportsThatTheAdapterIsOffOrGone(news: [UInt8], kind: TransportError.Kind) throws {
    var played = try PlayedAdapter()
    // The same of another adapter does not matter.
    var other = news
    other[2] = 1
    try played.management.say(other)
    #expect(try Self.round(&played) == [])
    try played.management.say(news)
    var thrown: TransportError?
    do { _ = try played.received() } catch let error as TransportError { thrown = error }
    #expect(thrown?.kind == kind)
  }

  @Test(
    arguments: [[0x04], [0x04, 0x3E], [0x04, 0x3E, 0x01, 0x01], [0x02, 0x00, 0x00, 0x00], [0x04, 0x05, 0x01, 0x00]]
      as [[UInt8]])
  func takesShortMessages(message: [UInt8]) throws {
    var played = try PlayedAdapter()
    try played.events.say(message)
    _ = try played.received()
  }
}
