import Synchronization
import TestSupport
import Testing

@testable import BLEAdapter

/// The octets of a channel between a program and the host (Vol 3, Part A, 3.4.3 and 10.1).
@Suite struct ChannelStreamTests {
  /// The host of one channel: notes commands, and events of the stream.
  private final class Sink: Sendable {
    let commands = Mutex<[ChannelStream.Command]>([])
    let events = Mutex<[ChannelStream.Event]>([])
    let timers = Mutex<[@Sendable () -> Void]>([])

    func take() -> [ChannelStream.Command] {
      commands.withLock { commands in
        defer { commands = [] }
        return commands
      }
    }
    func takeEvents() -> [ChannelStream.Event] {
      events.withLock { events in
        defer { events = [] }
        return events
      }
    }
    /// What was sent, and the number of SDUs.
    func sent() -> ([UInt8], count: Int) {
      let sdus = take().compactMap { if case .send(let sdu) = $0 { sdu } else { nil } }
      return (sdus.flatMap { $0 }, sdus.count)
    }
  }

  private static func limits(_ octets: Int = 64, _ sdus: Int = 4) -> ChannelStream.Limits {
    var limits = ChannelStream.Limits()
    (limits.outstandingOctets, limits.outstandingSDUs) = (octets, sdus)
    return limits
  }

  private func open(mtu: Int = 8, _ limits: ChannelStream.Limits = limits()) -> (ChannelStream, Sink) {
    let sink = Sink()
    let stream = ChannelStream(
      maximumLength: mtu, limits: limits, later: { _, body in sink.timers.withLock { $0.append(body) } },
      post: { command in sink.commands.withLock { $0.append(command) } })
    stream.observe { event in sink.events.withLock { $0.append(event) } }
    return (stream, sink)
  }

  private func octets(_ range: Range<Int>) -> [UInt8] { range.map { UInt8(truncatingIfNeeded: $0) } }

  @Test func sendsLongerSDUsAfterThePeerAcceptsThem() {
    let (stream, sink) = open(mtu: 8)
    #expect(!stream.send(octets(0..<9)))
    stream.resized(20)
    #expect(stream.maximumLength == 20)
    #expect(stream.send(octets(0..<9)) && sink.take() == [.send(octets(0..<9))])
    #expect(stream.write(octets(0..<20)) == 20 && sink.take() == [.send(octets(0..<20))])
  }

  @Test func readsAcrossTheLimitsOfSDUs() {
    let (stream, sink) = open()
    stream.received([1, 2, 3])
    stream.received([4, 5])
    #expect(sink.takeEvents() == [.readable] && stream.unreadOctets == 5)
    #expect(stream.read(atMost: 2) == [1, 2] && sink.take() == [])
    #expect(stream.read(atMost: 2) == [3, 4] && sink.take() == [.didRead])
    #expect(stream.read(atMost: 9) == [5] && sink.take() == [.didRead])
    #expect(stream.read(atMost: 9) == [] && stream.unreadOctets == 0)
  }

  @Test func readsWholeSDUs() {
    let (stream, sink) = open()
    stream.received([1, 2, 3])
    stream.received([4, 5])
    #expect(stream.readSDU() == [1, 2, 3] && stream.readSDU() == [4, 5] && stream.readSDU() == nil)
    #expect(sink.take() == [.didRead, .didRead])
  }

  @Test func theRestOfAnSDUIsReadAfterAPartOfIt() {
    let (stream, sink) = open()
    stream.received([1, 2, 3])
    #expect(stream.read(atMost: 1) == [1] && stream.readSDU() == [2, 3] && sink.take() == [.didRead])
  }

  @Test func readableIsReportedOnceUntilAllIsRead() {
    let (stream, sink) = open()
    stream.received([1])
    stream.received([2])
    _ = stream.read(atMost: 9)
    stream.received([3])
    #expect(sink.takeEvents() == [.readable, .readable])
  }

  @Test func anEmptySDUGivesItsCreditBack() {
    let (stream, sink) = open()
    stream.received([])
    #expect(sink.take() == [.didRead] && sink.takeEvents() == [])
  }

  @Test func cutsWritesIntoSDUsOfThePeersMTU() {
    let (stream, sink) = open()
    #expect(stream.write(octets(0..<20)) == 20)
    #expect(sink.take() == [.send(octets(0..<8)), .send(octets(8..<16)), .send(octets(16..<20))])
  }

  /// SDUs whose frames are all full: with the SDU Length, the octets of a multiple of the peer's MPS.
  @Test(arguments: [
    (8, 4, 6), (8, 10, 8), (8, 11, 8), (10, 4, 10), (2_048, 247, 1_974), (2_221, 247, 2_221), (8, 0, 8),
  ])
  func cutsWritesIntoSDUsThatFillFrames(mtu: Int, mps: Int, expected: Int) {
    let sink = Sink()
    let stream = ChannelStream(maximumLength: mtu, frameLength: mps, limits: Self.limits(5_000)) { command in
      sink.commands.withLock { $0.append(command) }
    }
    #expect(stream.fillingLength == expected)
    #expect(stream.write(octets(0..<2 * expected)) == 2 * expected)
    #expect(sink.take() == [.send(octets(0..<expected)), .send(octets(expected..<2 * expected))])
    // A program that sends an SDU itself has the whole MTU.
    #expect(stream.send([UInt8](repeating: 0, count: min(mtu, 500))))
  }

  @Test(arguments: [(64, 64), (65, 64), (200, 64)])
  func acceptsWhatTheWindowHolds(_ count: Int, _ accepted: Int) {
    let (stream, sink) = open(mtu: 16)
    #expect(stream.write(octets(0..<count)) == accepted && stream.room == 0)
    #expect(stream.write([1]) == 0)
    #expect(sink.sent() == (octets(0..<64), 4))
  }

  @Test func reportsRoomWhenHalfOfTheWindowIsFree() {
    let (stream, sink) = open(mtu: 16)
    #expect(stream.write(octets(0..<64)) == 64)
    stream.sent(31)
    #expect(sink.takeEvents() == [] && stream.room == 31)
    stream.sent(1)
    #expect(sink.takeEvents() == [.writable])
    stream.sent(16)
    #expect(sink.takeEvents() == [])
  }

  /// A stream that is written to until half of the window is used is reported as writable again, too.
  @Test func reportsRoomAfterAWriteThatWasAcceptedAsAWhole() {
    let (stream, sink) = open(mtu: 16)
    #expect(stream.write(octets(0..<40)) == 40)
    stream.sent(40)
    #expect(sink.takeEvents() == [.writable])
  }

  @Test func smallWritesShareAnSDUWhileTheHostHasEnough() {
    let (stream, sink) = open()
    for octet in octets(0..<10) { #expect(stream.write([octet]) == 1) }
    #expect(sink.take() == [.send([0]), .send([1]), .send([2]), .send([3])])
    stream.sent(1)
    #expect(sink.take() == [.send([4, 5, 6, 7, 8, 9])])
  }

  @Test func aReportMayCoverAPartOfAnSDU() {
    let (stream, _) = open()
    #expect(stream.write(octets(0..<16)) == 16)
    stream.sent(3)
    #expect(stream.room == 51)
    stream.sent(7)
    #expect(stream.room == 58)
    stream.sent(100)
    #expect(stream.room == 64)
  }

  @Test func noOctetIsLostOrReordered() {
    let (stream, sink) = open(mtu: 7, Self.limits(50, 3))
    let all = octets(0..<10_000)
    var random = SplitMix64(seed: 1)
    var written = 0
    var received: [UInt8] = []
    var owed = 0
    while received.count < all.count {
      let end = min(all.count, written + Int.random(in: 0..<40, using: &random))
      written += stream.write(Array(all[written..<end]))
      let sdus = sink.sent().0
      owed += sdus.count
      received += sdus
      let part = Int.random(in: 0...owed, using: &random)
      stream.sent(part)
      owed -= part
    }
    #expect(received == all)
  }

  @Test func sendsAnSDUIfThereIsRoomForAllOfIt() {
    let (stream, sink) = open(mtu: 40)
    #expect(stream.send(octets(0..<40)) && !stream.send(octets(0..<30)) && stream.send(octets(0..<24)))
    #expect(sink.sent().count == 2)
    stream.sent(40)
    #expect(sink.takeEvents() == [.writable] && stream.send(octets(0..<40)))
  }

  @Test(arguments: [0, 9]) func rejectsAnSDUOfAWrongLength(_ count: Int) {
    let (stream, sink) = open()
    #expect(!stream.send(octets(0..<count)) && sink.take() == [])
  }

  @Test func sendsAtMostItsNumberOfSDUs() {
    let (stream, sink) = open()
    for _ in 0..<4 { #expect(stream.send([1])) }
    #expect(!stream.send([1]) && sink.sent().count == 4)
    stream.sent(1)
    #expect(stream.send([1]))
  }

  @Test func receivedOctetsAreReadAfterTheEnd() {
    let (stream, sink) = open()
    stream.received([1, 2])
    stream.ended(.closedByPeer)
    #expect(sink.takeEvents() == [.readable, .ended(.closedByPeer), .finished] && stream.end == .closedByPeer)
    #expect(stream.read(atMost: 9) == [1, 2] && sink.take() == [])
    #expect(stream.write([1]) == 0 && !stream.send([1]) && sink.take() == [])
  }

  @Test func onlyTheFirstEndIsReported() {
    let (stream, sink) = open()
    stream.ended(.linkEnded(.connectionTimeout))
    stream.ended(.closedByPeer)
    stream.close()
    #expect(
      sink.takeEvents() == [.ended(.linkEnded(.connectionTimeout)), .finished]
        && stream.end == .linkEnded(.connectionTimeout) && sink.take() == [])
  }

  @Test func closesAtOnceWhenNothingWaits() {
    let (stream, sink) = open()
    stream.received([1])
    stream.close()
    #expect(sink.take() == [.close] && stream.end == .closed && stream.unreadOctets == 0)
    #expect(sink.takeEvents() == [.readable, .ended(.closed), .finished] && sink.timers.withLock { $0.count } == 0)
    stream.received([1])
    #expect(stream.unreadOctets == 0)
  }

  @Test func closesWhenTheAcceptedOctetsHaveLeft() {
    let (stream, sink) = open()
    #expect(stream.write(octets(0..<40)) == 40 && sink.sent().count == 4)
    stream.close()
    #expect(sink.take() == [] && stream.write([1]) == 0 && sink.takeEvents() == [.ended(.closed)])
    stream.sent(32)
    #expect(sink.take() == [.send(octets(32..<40))] && sink.takeEvents() == [])
    stream.sent(8)
    #expect(sink.take() == [.close] && sink.takeEvents() == [.finished])
    for timer in sink.timers.withLock({ $0 }) { timer() }
    #expect(sink.take() == [])
  }

  @Test func closesWithoutThemAfterALimitedTime() {
    let (stream, sink) = open()
    #expect(stream.write(octets(0..<16)) == 16)
    _ = sink.take()
    stream.close()
    for timer in sink.timers.withLock({ $0 }) { timer() }
    #expect(sink.take() == [.close])
    stream.sent(16)
    #expect(sink.take() == [] && sink.takeEvents() == [.ended(.closed), .finished])
  }

  @Test func aLinkThatEndsWhileItClosesNeedsNoCommand() {
    let (stream, sink) = open()
    #expect(stream.write([1]) == 1)
    stream.close()
    _ = sink.take()
    stream.ended(.linkEnded(.connectionTimeout))
    stream.abort()
    #expect(sink.take() == [] && stream.end == .closed)
  }

  @Test func aReaderThatStopsGivesTheCreditsBack() {
    let (stream, sink) = open()
    stream.received([1])
    stream.received([2])
    stream.stopReading()
    stream.received([3])
    #expect(sink.take() == [.didRead, .didRead, .didRead] && stream.read(atMost: 9) == [])
    #expect(stream.write([1]) == 1)
  }

  @Test func aLateObserverIsToldWhatIsTheCase() {
    let (stream, sink) = open()
    stream.observe(nil)
    stream.received([1])
    stream.ended(.linkEnded(.connectionTimeout))
    stream.observe { event in sink.events.withLock { $0.append(event) } }
    #expect(sink.takeEvents() == [.readable, .ended(.linkEnded(.connectionTimeout)), .finished])
  }

  @Test func aHandlerMayCallTheStream() {
    let (stream, sink) = open()
    stream.observe { [weak stream] event in
      guard event == .readable, let stream else { return }
      _ = stream.write(stream.read(atMost: 9))
    }
    stream.received([1, 2])
    #expect(sink.take() == [.didRead, .send([1, 2])])
  }
}
