import BLEHCI
import BLEL2CAP
import BLEWire
import Glibc
import TestSupport
import Testing

@testable import BLEKernel

/// SDUs, credits and ends of channels (Docs/Decisions/kernel.md#channels).
@Suite struct KernelChannelDataTests {
  static let id = KernelChannelTests.first

  /// A K-frame of the host with one whole SDU, on the channel of `KernelChannelTests.open()`.
  static func frame(_ sdu: [UInt8]) -> [UInt8] {
    KernelChannelTests.fromHost([UInt8(sdu.count), 0] + sdu, on: 0x0040)
  }

  static let closeRequest = KernelChannelTests.fromHost([0x06, 9, 4, 0, 0x40, 0, 0x40, 0])
  static let closeResponse = KernelChannelTests.signalling([0x07, 9, 4, 0, 0x40, 0, 0x40, 0])

  @Test func sendsSDUsOneAtATime() {
    var stage = KernelChannelTests.open()
    let first = stage.send(Self.frame([1, 2]))
    #expect(first.actions == [.channel(.send(Self.id))] && first.messages == [[1, 2]])
    #expect(stage.completed() == [TranslatorStage.completed(1)], "credits limit it, not buffers")
    #expect(stage.send(Self.frame([3])).actions.isEmpty)
    #expect(stage.channel(Self.id, .sent).messages == [[3]])
    #expect(stage.channel(Self.id, .sent).isEmpty)
  }

  @Test func putsAnSDUTogether() {
    var stage = KernelChannelTests.open()
    #expect(stage.send(KernelChannelTests.fromHost([4, 0, 1, 2], on: 0x0040)).actions.isEmpty)
    #expect(stage.send(KernelChannelTests.fromHost([3, 4], on: 0x0040)).messages == [[1, 2, 3, 4]])
  }

  /// The host has 32 credits; each half of them is given back when the socket has taken the SDUs.
  @Test func givesCreditsAsTheSocketTakesSDUs() {
    var stage = KernelChannelTests.open()
    for _ in 0..<20 { _ = stage.send(Self.frame([1])) }
    for number in 1...16 {
      let packets = stage.channel(Self.id, .sent).packets
      #expect(packets == (number == 16 ? [KernelChannelTests.signalling([0x16, 1, 4, 0, 0x40, 0, 16, 0])] : []))
    }
  }

  @Test func endsAChannelWhoseHostExceedsItsCredits() {
    var stage = KernelChannelTests.open()
    for _ in 0..<32 { _ = stage.send(Self.frame([1])) }
    let result = stage.send(Self.frame([1]))
    #expect(result.packets == [KernelChannelTests.signalling([0x06, 1, 4, 0, 0x40, 0, 0x40, 0])])
    #expect(result.actions == [.channel(.close(Self.id))])
  }

  @Test func waitsForASocketThatIsFull() {
    var stage = KernelChannelTests.open()
    _ = stage.send(Self.frame([1]))
    #expect(stage.channel(Self.id, .full).isEmpty)
    #expect(stage.send(Self.frame([2])).actions.isEmpty)
    #expect(stage.channel(Self.id, .writable).messages == [[1]])
    #expect(stage.channel(Self.id, .sent).messages == [[2]])
  }

  /// The host has given two credits. The SDU that has none is the last one that is read.
  @Test func readsTheSocketWhileTheHostGivesCredits() {
    var stage = KernelChannelTests.open()
    for number in 1...2 as ClosedRange<UInt8> {
      #expect(stage.sdu([number], on: Self.id).packets == [KernelChannelTests.fromPeer([1, 0, number], on: 0x0040)])
      #expect(stage.translator.reads(Self.id))
    }
    #expect(stage.sdu([3], on: Self.id).isEmpty)
    #expect(!stage.translator.reads(Self.id))
    #expect(stage.sdu([4], on: Self.id).isEmpty, "a driver that reads on loses it")
    // Flow Control Credit Indication: CID 0x0040, one credit.
    let credited = stage.send(KernelChannelTests.fromHost([0x16, 2, 4, 0, 0x40, 0, 1, 0]))
    #expect(credited.packets == [KernelChannelTests.fromPeer([1, 0, 3], on: 0x0040)])
    #expect(credited.actions == [.channel(.read(Self.id))] && stage.translator.reads(Self.id))
  }

  /// The MPS of the host is 247, so an SDU of 300 octets has two frames.
  @Test func dividesSDUsAsTheHostDemands() {
    var stage = KernelChannelTests.open()
    let sdu = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
    #expect(
      stage.sdu(sdu, on: Self.id).packets == [
        KernelChannelTests.fromPeer([0x2C, 0x01] + sdu[..<245], on: 0x0040),
        KernelChannelTests.fromPeer(Array(sdu[245...]), on: 0x0040),
      ])
  }

  /// The longest frame is longer than an ACL packet.
  @Test func fragmentsLongFrames() {
    var output = KernelOutput()
    let payload = [UInt8](repeating: 7, count: 65_533)
    output.append(frame: payload[...], channel: ChannelID(rawValue: 0x0040), on: KernelChannelTests.handle)
    let packets = (0..<output.input.octets.count).map { Array(output.input.octets[$0]) }
    #expect(
      packets.map { Array($0.prefix(5)) } == [
        [0x02, 0x40, 0x20, 0xFF, 0xFF], [0x02, 0x40, 0x10, 0x02, 0x00],
      ])
    #expect(packets.flatMap { $0.dropFirst(5) } == [0xFD, 0xFF, 0x40, 0x00] + payload)
  }

  @Test func closesTheHostsChannelAtTheEndOfTheSocket() {
    var stage = KernelChannelTests.open()
    let ended = stage.channel(Self.id, .ended)
    #expect(ended.packets == [KernelChannelTests.signalling([0x06, 1, 4, 0, 0x40, 0, 0x40, 0])])
    #expect(ended.actions == [.channel(.close(Self.id))])
    #expect(!stage.translator.reads(Self.id))
    #expect(stage.send(KernelChannelTests.fromHost([0x07, 1, 4, 0, 0x40, 0, 0x40, 0])).isEmpty)
  }

  @Test func closesTheSocketWhenTheKernelHasSentEverything() {
    var stage = KernelChannelTests.open()
    _ = stage.send(Self.frame([1]))
    let closed = stage.send(Self.closeRequest)
    #expect(closed.packets == [Self.closeResponse])
    #expect(closed.actions.isEmpty && !stage.translator.reads(Self.id))
    #expect(stage.channel(Self.id, .sent).actions == [.channel(.readQueue(Self.id))])
    #expect(stage.channel(Self.id, .queue(isEmpty: false)).isEmpty)
    #expect(stage.translator.deadline == stage.now + KernelChannels.queueInterval)
    #expect(stage.tick(after: KernelChannels.queueInterval).actions == [.channel(.readQueue(Self.id))])
    #expect(stage.channel(Self.id, .queue(isEmpty: true)).actions == [.channel(.close(Self.id))])
    #expect(stage.translator.deadline == nil)
  }

  @Test func closesTheSocketOfAPeerThatTakesNothing() {
    var stage = KernelChannelTests.open()
    _ = stage.send(Self.frame([1]))
    _ = stage.channel(Self.id, .full)
    _ = stage.send(Self.closeRequest)
    #expect(stage.tick(after: KernelChannels.closePatience - .milliseconds(1)).isEmpty)
    #expect(stage.tick(after: .milliseconds(1)).actions == [.channel(.close(Self.id))])
  }

  @Test(arguments: [ChannelEvent.failed, .ended]) func closesAClosedChannelWhoseSocketEnds(_ event: ChannelEvent) {
    var stage = KernelChannelTests.open()
    _ = stage.send(Self.frame([1]))
    _ = stage.send(Self.closeRequest)
    let ended = stage.channel(Self.id, event)
    #expect(ended.actions == [.channel(.close(Self.id))] && ended.packets.isEmpty)
  }

  @Test func endsTheOldestOfTooManyChannelsThatClose() {
    var stage = TranslatorStage()
    stage.link()
    var ended: [SocketAction] = []
    for number in 1...KernelChannels.closingLimit + 1 {
      _ = stage.send(KernelChannelTests.fromHost(KernelChannelTests.request))
      let id = ChannelSocketID(handle: KernelChannelTests.handle, number: UInt32(number))
      _ = stage.channel(id, .connected(remoteMTU: 100))
      // The far end gives its numbers in turn.
      let channel = 0x0040 + UInt8((number - 1) % 64)
      _ = stage.send(KernelChannelTests.fromHost([1, 0, 1], on: UInt16(channel)))
      ended += stage.send(KernelChannelTests.fromHost([0x06, 9, 4, 0, channel, 0, 0x40, 0])).actions
    }
    #expect(ended == [.channel(.close(Self.id))])
  }

  /// What the peer has sent before counts, after an error of the socket, too.
  @Test func readsOnAfterASocketTakesNoMore() {
    var stage = KernelChannelTests.open()
    _ = stage.send(Self.frame([1]))
    #expect(stage.channel(Self.id, .failed).actions.isEmpty)
    #expect(stage.send(Self.frame([2])).actions.isEmpty)
    #expect(stage.translator.reads(Self.id))
    #expect(stage.sdu([5], on: Self.id).packets.count == 1)
  }

  @Test func readsTheSocketsOfALinkThatEnds() {
    var stage = KernelChannelTests.open()
    let ended = stage.event(KernelTranslatorTests.disconnection())
    #expect(ended.actions == [.channel(.drain(Self.id)), .drain(KernelChannelTests.handle)])
    #expect(stage.sdu([5], on: Self.id).packets.count == 1)
    let drained = stage.socket(.drained(KernelChannelTests.handle))
    #expect(drained.actions == [.channel(.close(Self.id)), .close(KernelChannelTests.handle)])
    #expect(drained.packets == [KernelTranslatorTests.octets(KernelTranslatorTests.disconnection())])
    #expect(stage.channel(Self.id, .ended).isEmpty)
  }

  /// Any frames of a host and any events of sockets: nothing traps, and what is kept stays bounded.
  @Test func takesRandomFramesAndEvents() {
    var random = SplitMix64(seed: 1)
    var stage = KernelChannelTests.open()
    for _ in 0..<20_000 {
      let id = ChannelSocketID(handle: KernelChannelTests.handle, number: .random(in: 0...40, using: &random))
      let channel = AcceptedChannel(
        spsm: KernelChannelTests.spsm, mode: .enhancedCreditBased, remoteMTU: .random(in: 0...200, using: &random))
      let events: [ChannelEvent] = [
        .accepted(channel), .connected(remoteMTU: channel.remoteMTU), .refused(ECONNREFUSED), .sent, .full, .writable,
        .failed, .ended, .queue(isEmpty: true), .queue(isEmpty: false),
      ]
      let number = UInt8.random(in: 0x3F...0x80, using: &random)
      let identifier = UInt8.random(in: 0...40, using: &random)
      let commands: [[UInt8]] = [
        [0x14, identifier, 10, 0, 0x80, 0, number, 0, 0, 2, 247, 0, 2, 0],
        [0x17, identifier, 12, 0, 0x80, 0, 64, 0, 64, 0, 1, 0, number, 0, 0x41, 0],
        [0x15, identifier, 10, 0, number, 0, 0, 2, 247, 0, 2, 0, 0, 0], [0x16, 1, 4, 0, number, 0, 1, 0],
        [0x06, identifier, 4, 0, number, 0, number, 0], [0x07, identifier, 4, 0, number, 0, number, 0],
        (0..<10).map { _ in .random(in: 0...0x20, using: &random) },
      ]
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1: _ = stage.send(KernelChannelTests.fromHost(commands.randomElement(using: &random) ?? []))
      case 2: _ = stage.send(KernelChannelTests.fromHost([1, 0, 7], on: UInt16(number)))
      case 3: _ = stage.sdu([UInt8](repeating: 1, count: .random(in: 0...600, using: &random)), on: id)
      case 4: _ = stage.socket(.security(KernelChannelTests.handle, nil))
      default: if let event = events.randomElement(using: &random) { _ = stage.channel(id, event) }
      }
      if Int.random(in: 0..<32, using: &random) == 0 { _ = stage.tick(after: .milliseconds(500)) }
      _ = stage.completed()
      guard let kept = stage.translator.channels[KernelChannelTests.handle] else { continue }
      #expect(kept.openings.count <= KernelChannels.openingLimit && kept.offers.count <= KernelChannels.offerLimit)
      #expect(kept.channels.count <= 64 + KernelChannels.closingLimit)
      #expect(kept.channels.values.allSatisfy { $0.sdus.count <= KernelChannels.creditLimits.upperBound })
    }
  }

  @Test func closesTheSocketsThatAreNotOpenWithTheLink() throws {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.send(KernelChannelTests.fromHost(KernelChannelTests.request))
    let accepted = try stage.channelSocket()
    let channel = AcceptedChannel(spsm: KernelChannelTests.spsm, mode: .leCreditBased, remoteMTU: 100)
    _ = stage.channel(accepted, .accepted(channel))
    _ = stage.event(KernelTranslatorTests.disconnection())
    let drained = stage.socket(.drained(KernelChannelTests.handle))
    #expect(drained.actions.prefix(2) == [.channel(.close(Self.id)), .channel(.close(accepted))])
    #expect(stage.translator.deadline == nil)
  }
}
