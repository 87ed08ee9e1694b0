import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLELinux
import BLEWire
import Glibc
import Testing

@testable import BLEKernel

/// The sockets of credit-based channels.
@Suite struct KernelAdapterChannelTests {
  static let handle: UInt16 = 0x0040

  /// The answer of the host to the request with this identifier: CID 0x0050, MTU 64, MPS 64, 2 credits.
  static let response = KernelChannelTests.fromHost([0x15, 1, 10, 0, 0x50, 0, 64, 0, 64, 0, 2, 0, 0, 0])
  static func credits(_ count: UInt8) -> [UInt8] {
    KernelChannelTests.fromHost([0x16, 7, 4, 0, 0x50, 0, count, 0])
  }

  static func frame(_ sdu: UInt8) -> [UInt8] { KernelChannelTests.fromPeer([1, 0, sdu], on: 0x0050) }

  /// A link, and a channel that its peer opened; the test has the other end of its socket.
  static func channel(in played: inout PlayedAdapter) throws -> (far: MessageSocket, link: MessagePair) {
    let (link, _) = try played.link(handle)
    var pair = try MessagePair()
    let near = try #require(pair.near)
    pair.near = nil
    let name = played.adapter.translator.takeChannelSocket(on: ConnectionHandle(rawValue: handle))
    let id = try #require(name)
    let channel = AcceptedChannel(spsm: KernelChannelTests.spsm, mode: .leCreditBased, remoteMTU: 64)
    try played.adapter.add(near, id, channel, mtu: 64)
    _ = try played.received()
    try played.send(response)
    _ = try played.received()
    return (pair.far, link)
  }

  /// Input that is there, without waiting for more.
  static func input(_ played: inout PlayedAdapter) throws -> [[UInt8]] {
    let packets = try played.received()
    return packets.filter { $0[0] == HCIPacketType.aclData.rawValue }
  }

  static func next(_ socket: MessageSocket) throws -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 100)
    return try socket.receive(into: &buffer).map { Array(buffer[..<$0]) }
  }

  @Test func carriesSDUsInBothDirections() throws {
    var played = try PlayedAdapter()
    let (far, link) = try Self.channel(in: &played)
    try #require(try far.send([9, 8].span))
    #expect(try Self.input(&played) == [KernelChannelTests.fromPeer([2, 0, 9, 8], on: 0x0050)])
    try played.send(KernelChannelTests.fromHost([2, 0, 1, 2], on: 0x0040))
    #expect(try Self.next(far) == [1, 2])
    try played.events.say(KernelAdapterTests.disconnectionComplete)
    _ = try played.received()
    #expect(played.adapter.channelCount == 0)
    _ = link
  }

  @Test func leavesSDUsInTheSocketWhileTheHostHasNoCredits() throws {
    var played = try PlayedAdapter()
    let (far, link) = try Self.channel(in: &played)
    for number in 1...6 as ClosedRange<UInt8> { try #require(try far.send([number].span)) }
    #expect(try Self.input(&played) == [Self.frame(1), Self.frame(2)])
    #expect(try Self.input(&played) == [])
    #expect(try played.adapter.poller.wait(until: .start, on: MonotonicClock()) == 0, "the socket is not watched")
    try played.send(Self.credits(3))
    #expect(try Self.input(&played) == [Self.frame(3), Self.frame(4), Self.frame(5)])
    _ = link
  }

  /// The end of a socket is reported again and again, unless it is not watched.
  @Test func reportsTheEndAfterTheLastSDU() throws {
    var played = try PlayedAdapter()
    var channel = Optional(try Self.channel(in: &played))
    for number in 1...3 as ClosedRange<UInt8> { try #require(try channel?.far.send([number].span) == true) }
    let link = channel?.link
    channel = nil
    #expect(try Self.input(&played) == [Self.frame(1), Self.frame(2)])
    #expect(try Self.input(&played) == [])
    #expect(try played.adapter.poller.wait(until: .start, on: MonotonicClock()) == 0)
    try played.send(Self.credits(1))
    // The last one, then Disconnection Request.
    #expect(
      try Self.input(&played) + Self.input(&played) == [
        Self.frame(3), KernelChannelTests.signalling([0x06, 2, 4, 0, 0x50, 0, 0x40, 0]),
      ])
    #expect(played.adapter.channelCount == 0)
    _ = link
  }

  @Test func waitsForASocketThatIsFull() throws {
    var played = try PlayedAdapter()
    let (far, link) = try Self.channel(in: &played)
    var (sent, taken) = (0, 0)
    // Credits come back while the socket takes SDUs.
    while sent < 10_000, played.adapter.translator.channelsTakeFrames {
      try played.send(KernelChannelTests.fromHost([1, 0, UInt8(truncatingIfNeeded: sent)], on: 0x0040))
      _ = try played.received()
      sent += 1
    }
    #expect(sent < 10_000)
    while let sdu = try Self.next(far) {
      #expect(sdu == [UInt8(truncatingIfNeeded: taken)])
      taken += 1
      _ = try played.received()
    }
    #expect(taken == sent)
    _ = link
  }

  @Test func refusesAChannelWhoseSocketCannotBeMade() throws {
    var played = try PlayedAdapter(through: SystemCalls { $0 == .socket ? EMFILE : nil })
    let (pair, _) = try played.link(Self.handle)
    try played.send(KernelChannelTests.fromHost(KernelChannelTests.request))
    #expect(try Self.input(&played) == [KernelChannelTests.signalling(KernelChannelTests.refusal(0x04))])
    _ = pair
  }

  @Test func logsThatAServiceHasNoListener() throws {
    var played = try PlayedAdapter(through: SystemCalls { $0 == .bind ? EADDRINUSE : nil })
    try played.adapter.perform([.listen(KernelChannelTests.spsm, level: .none, mtu: 64)])
    #expect(played.adapter.takeNotices().count == 1)
  }
}

extension KernelAdapter {
  fileprivate var channelCount: Int { channels.count }
}

extension KernelTranslator {
  /// No SDU of a host waits for a socket.
  fileprivate var channelsTakeFrames: Bool {
    channels.values.allSatisfy { $0.channels.values.allSatisfy(\.sdus.isEmpty) }
  }
}
