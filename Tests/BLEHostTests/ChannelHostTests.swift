import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLEVirtual
import BLEWire
import Testing

/// A peripheral, host 0, that listens, and a central, host 1, with a link to it.
struct ChannelPair {
  static let service = SPSM(rawValue: 0x0080)

  var couple: Couple
  private var opened: UInt32 = 0

  init(
    _ listening: ChannelService? = ChannelService(spsm: service), couple: Couple? = nil,
    configure: (Int, inout HostConfiguration) -> Void = { _, _ in }
  ) throws {
    self.couple = couple ?? Couple(configure: configure)
    if let listening { self.couple.world.ask(0, .channels(.listen(ListenID(rawValue: 1), listening))) }
    try self.couple.connect()
  }

  /// The link as a host names it.
  func link(_ host: Int) -> LinkID {
    let link = couple.links[1]
    return (host == 0 ? link?.peripheral : link?.central) ?? LinkID(rawValue: 0)
  }

  mutating func ask(_ host: Int, _ command: HostCommand, from owner: OwnerID = .process) {
    couple.world.ask(host, command, from: owner)
  }

  @discardableResult mutating func open(
    from host: Int = 1, _ request: ChannelRequest = ChannelRequest(spsm: service), owner: OwnerID = .process
  ) -> OpenChannelID {
    opened += 1
    let id = OpenChannelID(rawValue: opened)
    ask(host, .channels(.open(id, link(host), request)), from: owner)
    couple.world.run(for: .milliseconds(500))
    return id
  }

  func openedChannels(_ host: Int) -> [OpenedChannel] {
    couple.events(host).compactMap { if case .channels(.opened(let channel)) = $0 { channel } else { nil } }
  }

  func failures(_ host: Int) -> [HostError] {
    couple.events(host).compactMap { if case .channels(.openFailed(_, let error)) = $0 { error } else { nil } }
  }

  func closed(_ host: Int) -> [ChannelCloseReason] {
    couple.events(host).compactMap { if case .channel(_, .closed(let reason)) = $0 { reason } else { nil } }
  }

  func received(_ host: Int) -> [[UInt8]] {
    couple.events(host).compactMap { if case .channel(_, .received(let sdu)) = $0 { sdu } else { nil } }
  }

  func sent(_ host: Int) -> Int {
    couple.events(host).reduce(0) { if case .channel(_, .sent(let octets)) = $1 { $0 + octets } else { $0 } }
  }

  func listening(_ host: Int) -> [Result<SPSM, HostError>] {
    couple.events(host).compactMap { if case .channels(.listening(_, let result)) = $0 { result } else { nil } }
  }

  /// The frames that a host has sent on a channel, in hexadecimal digits, from their payload on.
  func frames(of host: Int, on channel: UInt16) -> [String] {
    couple.world.sent[host].compactMap { packet in
      guard packet.count >= 9, packet[0] == 2, UInt16(packet[7]) | UInt16(packet[8]) << 8 == channel else { return nil }
      return packet[9...].hexadecimal
    }
  }

  /// Sends a frame to the peer of a host that the host knows nothing of.
  mutating func forge(_ payload: String, on channel: UInt16, from host: Int) throws {
    let octets = try #require([UInt8](hexadecimal: payload))
    let last = couple.world.sent[host].last { $0[0] == 2 && $0.count > 2 }
    let head = try #require(last)
    var packet: [UInt8] = [2, head[1], head[2] & 0x0F]
    packet.append(littleEndian: UInt16(octets.count + 4))
    packet.append(littleEndian: UInt16(octets.count))
    packet.append(littleEndian: channel)
    couple.world.forge(packet + octets, from: host)
  }
}

@Suite("Credit-based channels of a host") struct ChannelHostTests {
  @Test func opensAChannelToAService() throws {
    var pair = try ChannelPair()
    #expect(pair.listening(0) == [.success(ChannelPair.service)])
    let id = pair.open(.init(spsm: ChannelPair.service, parameters: .init(mtu: 500)))
    let (theirs, ours) = (pair.openedChannels(0), pair.openedChannels(1))
    #expect(ours.count == 1)
    #expect(ours.first?.request == id)
    #expect(ours.first?.isIncoming == false)
    #expect(ours.first?.peer == pair.link(1))
    #expect(ours.first?.spsm == ChannelPair.service)
    #expect(ours.first.map { [$0.localMTU, $0.remoteMTU] } == [500, 2221])
    #expect(theirs.first?.isIncoming == true)
    #expect(theirs.first?.request == nil)
    #expect(theirs.first.map { [$0.localMTU, $0.remoteMTU] } == [2221, 500])
    #expect(pair.couple.world.complaints.isEmpty)
  }

  @Test(arguments: [CreditBasedChannel.Mode.leCreditBased, .enhancedCreditBased])
  func carriesSDUsInBothDirections(mode: CreditBasedChannel.Mode) throws {
    var pair = try ChannelPair()
    pair.open(.init(spsm: ChannelPair.service, mode: mode))
    let (theirs, ours) = (try #require(pair.openedChannels(0).first), try #require(pair.openedChannels(1).first))
    let sdu = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
    pair.ask(1, .channel(ours.id, .send(sdu)))
    pair.ask(0, .channel(theirs.id, .send([1, 2, 3])))
    pair.ask(0, .channel(theirs.id, .send([])))
    #expect(pair.received(0) == [sdu])
    #expect(pair.received(1) == [[1, 2, 3], []])
    #expect(pair.sent(1) == 1000)
    #expect(pair.sent(0) == 3)
  }

  /// Vol 3, Part A, 4.27: a larger MTU of the peer is reported once, and SDUs of that length are accepted.
  @Test(arguments: [0, 1]) func reportsALargerMTUOfThePeer(end: Int) throws {
    var pair = try ChannelPair()
    pair.open(.init(spsm: ChannelPair.service, parameters: .init(mtu: 2221), mode: .enhancedCreditBased))
    let opened = try #require(pair.openedChannels(end).first)
    #expect(opened.remoteMTU == 2221)
    func sizes() -> [Int] {
      pair.couple.events(end).compactMap {
        if case .channel(opened.id, .resized(let mtu)) = $0 { mtu } else { nil }
      }
    }
    // The same MTU and another MPS: nothing that the owner uses has changed.
    try pair.forge("19090600ad080004" + "4000", on: 5, from: 1 - end)
    #expect(sizes().isEmpty)
    for _ in 1...2 { try pair.forge("190a0600b80b0004" + "4000", on: 5, from: 1 - end) }
    #expect(sizes() == [3000])
    pair.ask(end, .channel(opened.id, .send([UInt8](repeating: 1, count: 3000))))
    #expect(!pair.couple.events(end).contains { if case .refused = $0 { true } else { false } })
  }

  /// The host, not the application, gives a service without a number one of 0x0080 to 0x00FF.
  @Test func assignsFreeNumbersToServices() throws {
    var pair = try ChannelPair(ChannelService())
    pair.ask(0, .channels(.listen(ListenID(rawValue: 2), ChannelService())))
    pair.ask(0, .channels(.listen(ListenID(rawValue: 3), ChannelService(spsm: SPSM(rawValue: 0x0025)))))
    #expect(
      pair.listening(0) == [
        .success(.init(rawValue: 0x80)), .success(.init(rawValue: 0x81)), .success(.init(rawValue: 0x25)),
      ])
  }

  @Test(arguments: [0x0000, 0x0027, 0x0080, 0x0100, 0xFFFF] as [UInt16])
  func refusesAServiceNumber(number: UInt16) throws {
    var pair = try ChannelPair()
    pair.ask(0, .channels(.listen(ListenID(rawValue: 2), ChannelService(spsm: SPSM(rawValue: number)))))
    guard case .failure(.invalidParameters)? = pair.listening(0).last else { Issue.record("accepted"); return }
  }

  @Test(arguments: [
    CreditBasedChannel.Parameters(mtu: 22), .init(mps: 22), .init(mps: 65_534), .init(initialCredits: 0),
  ]) func refusesParametersOfAService(parameters: CreditBasedChannel.Parameters) throws {
    let pair = try ChannelPair(ChannelService(parameters: parameters))
    guard case .failure(.invalidParameters)? = pair.listening(0).last else { Issue.record("accepted"); return }
  }

  @Test func theNumberOfServicesIsLimited() throws {
    var pair = try ChannelPair(nil)
    for number in 0...128 { pair.ask(0, .channels(.listen(ListenID(rawValue: UInt32(number)), ChannelService()))) }
    let results = pair.listening(0)
    #expect(results.count { if case .success = $0 { true } else { false } } == 128)
    #expect(results.last == .failure(.tooMany("channel services", limit: 128)))
  }

  @Test func aServiceThatNobodyOffersIsRefused() throws {
    var pair = try ChannelPair()
    pair.open(.init(spsm: SPSM(rawValue: 0x0081)))
    #expect(pair.failures(1) == [.channelRefused(.spsmNotSupported)])
    pair.open(.init(spsm: SPSM(rawValue: 0x0000)))
    guard case .invalidParameters? = pair.failures(1).last else { Issue.record("sent"); return }
  }

  @Test(arguments: [0, 1]) func eachEndMayCloseAChannel(end: Int) throws {
    var pair = try ChannelPair()
    pair.open()
    let channels = [try #require(pair.openedChannels(0).first), try #require(pair.openedChannels(1).first)]
    pair.ask(end, .channel(channels[end].id, .close))
    #expect(pair.closed(end) == [.local])
    #expect(pair.closed(1 - end) == [.peer])
    pair.ask(end, .channel(channels[end].id, .close))
    pair.ask(end, .channel(channels[end].id, .send([1])))
    pair.ask(end, .channel(channels[end].id, .didRead))
    #expect(pair.closed(end) == [.local], "a command about a channel that is closed is ignored")
    #expect(!pair.couple.events(end).contains { if case .refused = $0 { true } else { false } })
  }

  @Test func theNamesOfChannelsAreNotUsedAgain() throws {
    var pair = try ChannelPair()
    for _ in 1...3 {
      pair.open()
      let id = try #require(pair.openedChannels(1).last?.id)
      pair.ask(1, .channel(id, .close))
    }
    for host in 0...1 { #expect(Set(pair.openedChannels(host).map(\.id)).count == 3) }
  }

  @Test func theEndOfTheServiceClosesItsChannels() throws {
    var pair = try ChannelPair()
    pair.open()
    pair.ask(0, .channels(.stopListening(ChannelPair.service)), from: OwnerID(rawValue: 7))
    #expect(pair.closed(0).isEmpty, "another owner has no say")
    pair.ask(0, .channels(.stopListening(ChannelPair.service)))
    #expect(pair.closed(0) == [.local])
    #expect(pair.closed(1) == [.peer])
    pair.open()
    #expect(pair.failures(1) == [.channelRefused(.spsmNotSupported)])
  }

  @Test func theEndOfTheLinkEndsChannelsAndRequests() throws {
    var pair = try ChannelPair()
    pair.open()
    pair.couple.disconnect()
    for (host, reason) in [HCIErrorCode.remoteUserTerminatedConnection, .terminatedByLocalHost].enumerated() {
      #expect(pair.closed(host) == [.linkEnded(reason)])
    }
    let id = OpenChannelID(rawValue: 9)
    pair.ask(1, .channels(.open(id, pair.link(1), ChannelRequest(spsm: ChannelPair.service))))
    #expect(pair.failures(1) == [.notConnected])
    // The service is declared for later links, too.
    try pair.couple.connect()
    pair.open()
    #expect(pair.openedChannels(0).count == 2)
  }

  @Test func aServiceSurvivesAReset() throws {
    var pair = try ChannelPair()
    pair.couple.world.reconnectTransport(of: 0)
    pair.couple.world.run(for: .seconds(10))
    try pair.couple.connect()
    pair.open()
    #expect(pair.openedChannels(0).count == 1)
  }

  @Test func aRequestOnALinkThatEndsFails() throws {
    var pair = try ChannelPair()
    pair.couple.world.claimed = { host, packet in
      // The request is lost: a command of the signalling channel becomes one of no kind.
      host == 1 && packet.count > 9 && packet[7] == 5 && packet[9] == 0x14
        ? Array(packet[..<9]) + [0x01] + packet[10...] : packet
    }
    pair.open()
    #expect(pair.failures(1).isEmpty)
    pair.couple.disconnect()
    #expect(pair.failures(1) == [.notConnected])
  }

  @Test func aRequestWithoutAResponseFailsAfter30Seconds() throws {
    var pair = try ChannelPair()
    pair.couple.world.claimed = { host, packet in
      host == 1 && packet.count > 9 && packet[7] == 5 && packet[9] == 0x14
        ? Array(packet[..<9]) + [0x01] + packet[10...] : packet
    }
    pair.open()
    pair.couple.world.run(for: .seconds(29))
    #expect(pair.failures(1).isEmpty)
    pair.couple.world.run(for: .seconds(1))
    guard case .peerRefused? = pair.failures(1).first else { Issue.record("still waits"); return }
  }

  @Test func theReaderGivesTheCreditsBack() throws {
    var pair = try ChannelPair(
      ChannelService(spsm: ChannelPair.service, parameters: .init(mtu: 100, mps: 102, initialCredits: 4)))
    pair.open()
    let (theirs, ours) = (try #require(pair.openedChannels(0).first), try #require(pair.openedChannels(1).first))
    for octet in 0..<10 { pair.ask(1, .channel(ours.id, .send([UInt8](repeating: UInt8(octet), count: 100)))) }
    #expect(pair.received(0).count == 4, "as many as the reader has room for")
    #expect(pair.sent(1) == 400)
    pair.ask(0, .channel(theirs.id, .didRead))
    #expect(pair.received(0).count == 5)
    for _ in 1...9 { pair.ask(0, .channel(theirs.id, .didRead)) }
    #expect(pair.received(0).map { $0[0] } == Array(0..<10))
    #expect(pair.sent(1) == 1000)
  }

  @Test func anSDULongerThanThePeerAcceptsIsRefused() throws {
    var pair = try ChannelPair()
    pair.open()
    let ours = try #require(pair.openedChannels(1).first)
    pair.ask(1, .channel(ours.id, .send([UInt8](repeating: 0, count: 2222))))
    guard case .refused(.invalidParameters)? = pair.couple.events(1).last else { Issue.record("accepted"); return }
    #expect(pair.closed(1).isEmpty)
  }

  @Test func theOctetsThatWaitAreLimited() throws {
    var pair = try ChannelPair(
      ChannelService(spsm: ChannelPair.service, parameters: .init(mtu: 1000, mps: 100, initialCredits: 1)))
    pair.open()
    let ours = try #require(pair.openedChannels(1).first)
    // The first one arrives, and has its credit until it is read.
    for _ in 1...67 { pair.ask(1, .channel(ours.id, .send([UInt8](repeating: 0, count: 1000)))) }
    #expect(!pair.couple.events(1).contains { if case .refused = $0 { true } else { false } })
    pair.ask(1, .channel(ours.id, .send([0])))
    guard case .refused(.invalidParameters)? = pair.couple.events(1).last else { Issue.record("accepted"); return }
  }

  @Test func theNumberOfChannelsOfALinkIsLimited() throws {
    var pair = try ChannelPair()
    for _ in 1...33 { pair.open() }
    #expect(pair.openedChannels(1).count == 32)
    #expect(pair.failures(1) == [.tooMany("channels on a link", limit: 32)])
  }

  @Test func twoCentralsHaveChannelsOfTheirOwn() throws {
    var pair = try ChannelPair(couple: Couple(centrals: 2))
    try pair.couple.connect(2)
    for central in 1...2 {
      let link = try #require(pair.couple.links[central]).central
      pair.ask(central, .channels(.open(.init(rawValue: 50), link, ChannelRequest(spsm: ChannelPair.service))))
      let id = try #require(pair.openedChannels(central).first?.id)
      pair.ask(central, .channel(id, .send([UInt8(central)])))
    }
    #expect(pair.received(0) == [[1], [2]])
    pair.couple.disconnect(1)
    #expect(pair.closed(0) == [.linkEnded(.remoteUserTerminatedConnection)])
    #expect(pair.closed(2).isEmpty)
  }
}

@Suite("Owners of channels") struct ChannelOwnerTests {
  private let first = OwnerID(rawValue: 1)
  private let second = OwnerID(rawValue: 2)

  @Test func eventsGoToTheOwnerAlone() throws {
    var pair = try ChannelPair(nil)
    pair.ask(0, .channels(.listen(ListenID(rawValue: 1), ChannelService(spsm: ChannelPair.service))), from: first)
    pair.ask(0, .channels(.listen(ListenID(rawValue: 1), ChannelService())), from: second)
    pair.open(owner: second)
    for host in 0...1 {
      let owner = host == 0 ? first : second
      for addressed in pair.couple.world.addressed[host] {
        switch addressed.event {
        case .channels(.opened): #expect(addressed.recipient == .owner(owner))
        default: break
        }
      }
    }
    let id = try #require(pair.openedChannels(1).first?.id)
    pair.ask(1, .channel(id, .close), from: first)
    pair.ask(1, .channel(id, .send([1])), from: first)
    #expect(pair.closed(1).isEmpty)
    #expect(pair.received(0).isEmpty, "a channel obeys its owner")
    pair.ask(1, .channel(id, .send([1])), from: second)
    #expect(pair.received(0) == [[1]])
  }

  @Test func servicesAndChannelsEndWithTheirOwner() throws {
    var pair = try ChannelPair(nil)
    pair.ask(0, .channels(.listen(ListenID(rawValue: 1), ChannelService(spsm: ChannelPair.service))), from: first)
    pair.ask(0, .channels(.listen(ListenID(rawValue: 1), ChannelService())), from: second)
    pair.open()
    pair.couple.world.detach(first, from: 0)
    #expect(pair.closed(1) == [.peer])
    pair.open()
    #expect(pair.failures(1) == [.channelRefused(.spsmNotSupported)])
    pair.open(.init(spsm: SPSM(rawValue: 0x81)))
    #expect(pair.openedChannels(1).count == 2)
    // The number is free for the next owner.
    pair.ask(0, .channels(.listen(ListenID(rawValue: 2), ChannelService(spsm: ChannelPair.service))), from: second)
    #expect(pair.listening(0).last == .success(ChannelPair.service))
  }

  /// The response comes after the owner has left: the channel is closed at once.
  @Test func aChannelThatOpensAfterItsOwnerHasDetachedIsClosed() throws {
    var pair = try ChannelPair()
    pair.couple.world.claimed = { host, packet in
      host == 1 && packet.count > 9 && packet[7] == 5 && packet[9] == 0x14
        ? Array(packet[..<9]) + [0x01] + packet[10...] : packet
    }
    // Another owner keeps the link.
    pair.ask(1, .link(pair.link(1), .client(.init(id: .init(rawValue: 70), .read(.init(rawValue: 1))))), from: second)
    pair.open(owner: first)
    pair.couple.world.detach(first, from: 1)
    let request = try #require(pair.frames(of: 1, on: 5).last)
    pair.couple.world.claimed = nil
    // The identifier of the request, and a channel at the peer.
    let identifier = request.dropFirst(2).prefix(2)
    try pair.forge("15\(identifier)0a0040000008f70010000000", on: 5, from: 0)
    #expect(pair.openedChannels(1).isEmpty)
    let last = try #require(pair.frames(of: 1, on: 5).last)
    #expect(last.hasPrefix("06"), "a Disconnection Request: \(last)")
  }
}
