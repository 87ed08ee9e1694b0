import BLEATT
import BLECrypto
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLEVirtual
import BLEWire
import Foundation
import Testing

@Suite("Streams over credit-based channels") struct ChannelStreamTests {
  /// Octets that no two places of 64 KiB have alike.
  private func octet(_ place: Int) -> UInt8 { UInt8(truncatingIfNeeded: (place &* 2_654_435_761) >> 13) }

  /// A megabyte from one host to the other through both controllers. The sender has 64 KiB in the queue of the channel
  /// at most, the receiver the SDUs that it has given credits for, and the link one frame. `STREAM_OCTETS` sets another
  /// number; `make test-long` has 10 MB.
  @Test(arguments: [0, 1]) func aMegabyteArrives(sender: Int) throws {
    let total = ProcessInfo.processInfo.environment["STREAM_OCTETS"].flatMap { Int($0) } ?? 1_000_000
    let window = 65_536
    var pair = try ChannelPair()
    pair.open(.init(spsm: ChannelPair.service))
    let channels = [try #require(pair.openedChannels(0).first), try #require(pair.openedChannels(1).first)]
    let mtu = channels[sender].remoteMTU
    var (queued, left, arrived, unread) = (0, 0, 0, 0)
    var isIntact = true
    while arrived < total {
      var commands: [HostCommand] = []
      while queued < total, queued - left < window {
        let count = min(mtu, total - queued)
        commands.append(.channel(channels[sender].id, .send((queued..<queued + count).map(octet))))
        queued += count
      }
      pair.couple.world.ask(sender, commands)
      for event in pair.couple.world.takeHeard(sender) {
        switch event {
        case .channel(_, .sent(let octets)): left += octets
        case .channel(_, .closed), .refused: Issue.record("\(event)")
        default: break
        }
      }
      commands = []
      unread = 0
      for case .channel(_, .received(let sdu)) in pair.couple.world.takeHeard(1 - sender) {
        for (place, found) in sdu.enumerated() where found != octet(arrived + place) { isIntact = false }
        arrived += sdu.count
        unread += 1
        commands.append(.channel(channels[1 - sender].id, .didRead))
      }
      #expect(unread <= 16, "no more than the credits allow")
      guard !commands.isEmpty else { break }
      pair.couple.world.ask(1 - sender, commands)
      pair.couple.world.forgetPackets()
    }
    #expect(arrived == total)
    #expect(isIntact)
    #expect(pair.couple.world.complaints.isEmpty)
  }

  /// A stream of channel frames does not delay a request: the link has one such frame in its queue.
  @Test func aRequestIsNotBehindAStream() throws {
    var configuration = VirtualControllerConfiguration()
    configuration.totalNumACLDataPackets = 2
    var pair = try ChannelPair(
      ChannelService(spsm: ChannelPair.service, parameters: .init(initialCredits: 1000)),
      couple: Couple(controller: configuration, pacing: .connectionEvents(packetsPerEvent: 1)))
    pair.open()
    let ours = try #require(pair.openedChannels(1).first)
    for _ in 1...30 { pair.ask(1, .channel(ours.id, .send([UInt8](repeating: 7, count: 2000)))) }
    let before = pair.frames(of: 1, on: UInt16(0x40)).count
    let handle = try #require(pair.couple.handles[Couple.plain])
    pair.ask(1, .link(pair.link(1), .client(.init(id: .init(rawValue: 900), .read(handle)))))
    var after = 0
    for _ in 1...1000 where pair.frames(of: 1, on: 4).last?.hasPrefix("0a") != true {
      pair.couple.world.run(for: .milliseconds(1))
      after = pair.frames(of: 1, on: UInt16(0x40)).count
    }
    #expect(pair.frames(of: 1, on: 4).last?.hasPrefix("0a") == true)
    #expect(after - before <= 2, "one that waits, and one that is being sent")
    pair.couple.world.run(for: .seconds(60))
    #expect(pair.received(0).count == 16 || pair.received(0).count == 30)
  }

  /// The controllers report no length of packets, because it does not change: a frame fills whole packets of 27 octets
  /// from the first on.
  @Test func framesFillThePacketsOfALinkWithoutDataLengthExtension() throws {
    var configuration = VirtualControllerConfiguration()
    configuration.features.remove(.dataPacketLengthExtension)
    var pair = try ChannelPair(couple: Couple(controller: configuration))
    pair.open()
    let ours = try #require(pair.openedChannels(1).first)
    let before = pair.couple.world.sent[1].count
    pair.ask(1, .channel(ours.id, .send([UInt8](repeating: 7, count: 2000))))
    // The controller divides them.
    let lengths = pair.couple.world.sent[1].dropFirst(before).filter { $0[0] == 2 }.map { $0.count - 5 }
    #expect(lengths.reduce(0, +) > 2000 && lengths.dropLast().allSatisfy { $0 % 27 == 0 }, "\(lengths)")
  }

  @Test func aStreamGoesOnBesideABusyClient() throws {
    var pair = try ChannelPair()
    pair.open()
    let ours = try #require(pair.openedChannels(1).first)
    let handle = try #require(pair.couple.handles[Couple.plain])
    var commands: [HostCommand] = []
    for number in 1...50 {
      commands.append(
        .link(pair.link(1), .client(.init(id: .init(rawValue: 100 + UInt32(number)), .write(handle, [1])))))
      commands += Array(repeating: HostCommand.channel(ours.id, .send([UInt8](repeating: 7, count: 20))), count: 4)
    }
    pair.couple.world.ask(1, commands)
    pair.couple.world.run(for: .seconds(1))
    #expect(pair.received(0).count == 128, "the credits are used up")
  }
}

@Suite("Hostile peers on credit-based channels") struct HostileChannelTests {
  /// Vol 3, Part A, 4.22 and 4.23; CVE-2022-42896: no PSM, PSM in use, channel numbers out of range or in use.
  @Test(arguments: [
    ("14050a00000041000002f7000100", "0200"), ("14050a00810041000002f7000100", "0200"),
    ("14050a00800000000002f7000100", "0900"), ("14050a0080003f000002f7000100", "0900"),
    ("14050a008000ffff0002f7000100", "0900"), ("14050a00800040000002f7000100", "0a00"),
    ("14050a00800041001600f7000100", "0b00"), ("14050a008000410000021600" + "0100", "0b00"),
  ]) func refusesARequest(pdu: String, result: String) throws {
    var pair = try ChannelPair()
    pair.open()
    #expect(pair.openedChannels(0).count == 1)
    try pair.forge(pdu, on: 5, from: 1)
    #expect(pair.frames(of: 0, on: 5).last == "15050a0000000000000000" + "00" + result)
    #expect(pair.openedChannels(0).count == 1)
  }

  /// CVE-2026-23395: many requests with one identifier. Each has its response, and the channels are limited.
  @Test func requestsOfOneIdentifierAreBounded() throws {
    var pair = try ChannelPair()
    for number in 0..<64 {
      let channel = String(UInt8(0x40 + number % 64), radix: 16)
      try pair.forge("17050a008000400040000100\(channel)00", on: 5, from: 1)
    }
    #expect(pair.openedChannels(0).count == 32)
    #expect(pair.frames(of: 0, on: 5).suffix(32).allSatisfy { $0.hasSuffix("04000000") }, "No resources available")
  }

  /// CVE-2026-43062: responses without a request, too short and too long.
  @Test(arguments: [
    "1a0502000000", "1a050000", "1a05010000", "1a0508000000000000000000", "18050a000000000000000000" + "4000",
  ])
  func ignoresResponsesWithoutARequest(pdu: String) throws {
    var pair = try ChannelPair()
    pair.open()
    let before = pair.frames(of: 0, on: 5).count
    try pair.forge(pdu, on: 5, from: 1)
    #expect(pair.frames(of: 0, on: 5).count == before)
    #expect(pair.closed(0).isEmpty)
  }

  /// Each ends the channel, and not the link (Vol 3, Part A, 3.4.3 and 10.1).
  @Test(arguments: [
    ("ff0f01", CreditBasedChannel.Violation.sduTooLong(4095)), ("00", .noSDULength),
    ("010001" + "02", .moreThanSDULength),
  ]) func aFrameThatBreaksARuleClosesTheChannel(frame: String, violation: CreditBasedChannel.Violation) throws {
    var pair = try ChannelPair()
    pair.open()
    try pair.forge(frame, on: 0x40, from: 1)
    #expect(pair.closed(0) == [.violation(violation)])
    #expect(pair.closed(1) == [.peer])
    #expect(!pair.couple.events(0).contains { if case .link(_, .disconnected) = $0 { true } else { false } })
  }

  @Test func aPeerThatOverrunsItsCreditsLosesTheChannel() throws {
    var pair = try ChannelPair(
      ChannelService(spsm: ChannelPair.service, parameters: .init(initialCredits: 2)))
    pair.open()
    for _ in 1...3 { try pair.forge("0100aa", on: 0x40, from: 1) }
    #expect(pair.received(0).count == 2)
    #expect(pair.closed(0) == [.violation(.noCredit)])
  }

  @Test func tooManyCreditsCloseTheChannel() throws {
    var pair = try ChannelPair()
    pair.open()
    try pair.forge("160904004000ffff", on: 5, from: 1)
    #expect(pair.closed(0) == [.violation(.tooManyCredits)])
  }

  @Test func framesOfNoChannelAreIgnored() throws {
    var pair = try ChannelPair()
    for channel in [0x0001, 0x0003, 0x003F, 0x0040, 0x007F, 0x0080, 0xFFFF] as [UInt16] {
      try pair.forge("0100aa", on: channel, from: 1)
    }
    #expect(pair.frames(of: 0, on: 5).isEmpty)
    pair.open()
    #expect(pair.openedChannels(0).count == 1)
  }

  /// Requests and closings in a loop leave nothing behind.
  @Test func channelsAreOpenedAndClosedWithoutEnd() throws {
    var pair = try ChannelPair()
    for round in 0..<200 {
      let identifier = [UInt8(round % 254 + 1)].hexadecimal
      try pair.forge("14\(identifier)0a0080004000" + "0002f7000100", on: 5, from: 1)
      // The host gives its numbers in turn.
      let number = [UInt8(0x40 + round % 64)].hexadecimal
      try pair.forge("06\(identifier)0400" + "\(number)004000", on: 5, from: 1)
    }
    #expect(pair.openedChannels(0).count == 200)
    #expect(pair.closed(0).count == 200)
    pair.open()
    #expect(pair.openedChannels(0).count == 201)
  }

  @Test func randomSignallingLeavesTheLinkUp() throws {
    var pair = try ChannelPair()
    pair.open()
    var random = RandomSource.seeded(5)
    for _ in 0..<2000 {
      let code = UInt8(truncatingIfNeeded: random.next() % 0x1C)
      let count = Int(random.next() % 16)
      let data = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() % 0x50) }
      let pdu = [code, UInt8(truncatingIfNeeded: random.next() | 1), UInt8(count), 0] + data
      try pair.forge(pdu.hexadecimal, on: random.next() % 4 == 0 ? 0x40 : 5, from: 1)
    }
    #expect(!pair.couple.events(0).contains { if case .link(_, .disconnected) = $0 { true } else { false } })
  }
}
