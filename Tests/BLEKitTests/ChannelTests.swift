import BLEHCI
import BLEHost
import BLEKit
import BLEL2CAP
import BLEWire
import TestSupport
import Testing

/// Credit-based channels as sequences, over a scripted host (Vol 3, Part A, 10).
@Suite struct ChannelTests {
  private static let id = L2CAPChannelID(rawValue: 4)
  private let host = ScriptedHost()

  /// A device that has connected, and the adapter.
  private func connect() async throws -> (Adapter, RemoteDevice) {
    let adapter = try await host.open()
    let connections = adapter.connections
    host.connect()
    for await device in connections { return (adapter, device) }
    throw CancellationError()
  }

  private func opened(_ request: OpenChannelID?, mtu: Int = 10) -> HostEvent {
    .channels(
      .opened(
        OpenedChannel(
          id: Self.id, peer: ScriptedHost.client, spsm: SPSM(rawValue: 0x80), isIncoming: request == nil,
          request: request, localMTU: 2048, remoteMTU: mtu)))
  }

  private func nextOpening() async throws -> (OpenChannelID, ChannelRequest) {
    while true {
      if case .channels(.open(let id, _, let request)) = try await host.next() { return (id, request) }
    }
  }

  /// A channel that the host has opened for us.
  private func open(_ device: RemoteDevice, mtu: Int = 10) async throws -> LEChannel {
    async let channel = device.openChannel(psm: 0x80)
    let (id, _) = try await nextOpening()
    host.say(opened(id, mtu: mtu))
    return try await channel
  }

  private func sent() -> [[UInt8]] {
    host.commands.compactMap { if case .channel(Self.id, .send(let sdu)) = $0 { sdu } else { nil } }
  }

  @Test func theElementsAreSDUs() async throws {
    let (_, device) = try await connect()
    let channel = try await open(device)
    #expect(channel.psm == 0x80 && channel.maximumLength == 10 && channel.isOpen && channel.device == device)
    host.say(
      .channel(Self.id, .received([1, 2])), .channel(Self.id, .received([3])), .channel(Self.id, .closed(.peer)))
    var elements: [[UInt8]] = []
    for try await element in channel { elements.append(element) }
    #expect(elements == [[1, 2], [3]] && !channel.isOpen)
  }

  @Test func aReaderWaitsForAnSDU() async throws {
    let (_, device) = try await connect()
    let channel = try await open(device)
    async let first = { () async throws -> [UInt8]? in
      var iterator = channel.makeAsyncIterator()
      return try await iterator.next()
    }()
    host.say(.channel(Self.id, .received([9])))
    #expect(try await first == [9])
  }

  @Test(arguments: [
    (ChannelCloseReason.linkEnded(.connectionTimeout), BLEError.Kind.disconnected),
    (.violation(.noCredit), .invalidResponse),
    (.keyRevoked, .security),
  ])
  func anEndThatMayHaveLostOctetsIsThrown(_ reason: ChannelCloseReason, _ kind: BLEError.Kind) async throws {
    let (_, device) = try await connect()
    let channel = try await open(device)
    host.say(.channel(Self.id, .received([1])), .channel(Self.id, .closed(reason)))
    var iterator = channel.makeAsyncIterator()
    #expect(try await iterator.next() == [1])
    await expectThrows(kind) { _ = try await iterator.next() }
    await expectThrows(.disconnected) { try await channel.write([1]) }
  }

  @Test func octetsAreCutIntoSDUsOfTheDevice() async throws {
    let (_, device) = try await connect()
    let channel = try await open(device)
    try await channel.write(Array(0..<25))
    try await channel.write([])
    try await channel.write([7])
    #expect(sent() == [Array(0..<10), Array(10..<20), Array(20..<25), [7]])
  }

  @Test func aWriterWaitsForRoomAndWritersKeepTheirOrder() async throws {
    let (_, device) = try await connect()
    let channel = try await open(device, mtu: 32_768)
    let block = [UInt8](repeating: 1, count: 65_536)
    try await channel.write(block)
    let second = Task { try await channel.write(block) }
    let done = Notes<Bool>()
    Task {
      try await second.value
      done.note(true)
    }
    await Task.yield()
    #expect(sent().count == 2 && done.all.isEmpty)
    host.say(.channel(Self.id, .sent(octets: 65_536)))
    try await second.value
    #expect(sent().count == 4)
  }

  @Test func aCancelledWriterSendsNoMore() async throws {
    let (_, device) = try await connect()
    let channel = try await open(device, mtu: 32_768)
    try await channel.write([UInt8](repeating: 1, count: 65_536))
    let blocked = Task { try await channel.write([UInt8](repeating: 2, count: 10)) }
    blocked.cancel()
    await expectThrows(.cancelled) { try await blocked.value }
    host.say(.channel(Self.id, .sent(octets: 65_536)))
    try await channel.write([3])
    #expect(sent().last == [3] && sent().count == 3)
  }

  @Test func aCancelledReaderTakesNothing() async throws {
    let (_, device) = try await connect()
    let channel = try await open(device)
    let reader = Task {
      var iterator = channel.makeAsyncIterator()
      _ = try await iterator.next()
    }
    reader.cancel()
    await expectThrows(.cancelled) { try await reader.value }
    host.say(.channel(Self.id, .received([1])))
    var iterator = channel.makeAsyncIterator()
    #expect(try await iterator.next() == [1])
  }

  @Test func closeWaitsUntilAllIsSent() async throws {
    let (_, device) = try await connect()
    let channel = try await open(device)
    try await channel.write([1, 2])
    let closing = Task { await channel.close() }
    try await until { !channel.isOpen }
    #expect(!host.commands.contains { if case .channel(_, .close) = $0 { true } else { false } })
    host.say(.channel(Self.id, .sent(octets: 2)))
    await closing.value
    guard case .channel(Self.id, .close) = host.commands.last else { return #expect(Bool(false)) }
    await channel.close()
    var iterator = channel.makeAsyncIterator()
    #expect(try await iterator.next() == nil)
  }

  @Test func aReleasedChannelIsClosed() async throws {
    let (_, device) = try await connect()
    do { _ = try await open(device) }
    while true {
      if case .channel(Self.id, .close) = try await host.next() { break }
    }
  }

  @Test func aRequestDemandsALevel() async throws {
    let (_, device) = try await connect()
    async let channel = device.openChannel(psm: 0x25, level: .authenticated)
    let (id, request) = try await nextOpening()
    #expect(request.spsm == SPSM(rawValue: 0x25) && request.demand?.level == .authenticated)
    host.say(opened(id))
    #expect(try await channel.psm == 0x80)
  }

  @Test(
    arguments: [
      (.channelRefused(.spsmNotSupported), .notFound), (.channelRefused(.noResources), .limitExceeded),
      (.channelRefused(.insufficientAuthentication), .security), (.notSecured("no pairing"), .security),
      (.channelRefused(.unacceptableParameters), .invalidResponse), (.notConnected, .disconnected),
    ] as [(HostError, BLEError.Kind)])
  func aRefusalIsThrown(_ error: HostError, _ kind: BLEError.Kind) async throws {
    let (_, device) = try await connect()
    let opening = Task { try await device.openChannel(psm: 0x80) }
    let (id, _) = try await nextOpening()
    host.say(.channels(.openFailed(id, error)))
    await expectThrows(kind) { _ = try await opening.value }
  }

  @Test func aRequestFailsWithItsLink() async throws {
    let (_, device) = try await connect()
    let opening = Task { try await device.openChannel(psm: 0x80) }
    _ = try await nextOpening()
    host.say(.link(ScriptedHost.client, .disconnected(.connectionTimeout)))
    await expectThrows(.disconnected) { _ = try await opening.value }
  }

  @Test func aChannelForACancelledTaskIsClosed() async throws {
    let (_, device) = try await connect()
    let opening = Task { try await device.openChannel(psm: 0x80) }
    let (id, _) = try await nextOpening()
    opening.cancel()
    await expectThrows(.cancelled) { _ = try await opening.value }
    host.say(opened(id))
    while true {
      if case .channel(Self.id, .close) = try await host.next() { break }
    }
  }

  // MARK: - Publishing

  private func publish(_ adapter: Adapter, psm: UInt16? = nil) async throws -> ChannelPublication {
    async let publication = adapter.publishChannel(psm: psm, security: .encrypted)
    while true {
      guard case .channels(.listen(let id, let service)) = try await host.next() else { continue }
      #expect(service.spsm?.rawValue == psm && service.requirement == .encrypted)
      host.say(.channels(.listening(id, .success(SPSM(rawValue: 0x80)))))
      return try await publication
    }
  }

  @Test(arguments: [nil, 0x80] as [UInt16?]) func incomingChannelsAreASequence(_ psm: UInt16?) async throws {
    let (adapter, device) = try await connect()
    let publication = try await publish(adapter, psm: psm)
    #expect(publication.psm == 0x80)
    host.say(opened(nil), .channel(Self.id, .received([5])))
    for await channel in publication {
      #expect(channel.device == device)
      for try await octets in channel {
        #expect(octets == [5])
        break
      }
      break
    }
  }

  @Test func aRemovedPublicationEndsItsSequence() async throws {
    let adapter = try await host.open()
    let publication = try await publish(adapter)
    let reader = Task {
      for await _ in publication {}
    }
    let removal = Task { await publication.remove() }
    while true {
      if case .channels(.stopListening) = try await host.next() { break }
    }
    host.say(.channels(.stoppedListening(SPSM(rawValue: 0x80))))
    await removal.value
    await reader.value
    await publication.remove()
  }

  @Test func aReleasedPublicationIsWithdrawn() async throws {
    let adapter = try await host.open()
    do { _ = try await publish(adapter) }
    while true {
      if case .channels(.stopListening(SPSM(rawValue: 0x80))) = try await host.next() { break }
    }
    withExtendedLifetime(adapter) {}
  }

  /// A channel that a device opens.
  private func incoming(_ number: UInt32, of peer: LinkID = ScriptedHost.client) -> HostEvent {
    .channels(
      .opened(
        OpenedChannel(
          id: L2CAPChannelID(rawValue: number), peer: peer, spsm: SPSM(rawValue: 0x80), isIncoming: true, request: nil,
          localMTU: 2048, remoteMTU: 10)))
  }

  private func nextClosing() async throws -> L2CAPChannelID {
    while true { if case .channel(let id, .close) = try await host.next() { return id } }
  }

  @Test func aChannelPastTheShareOfItsLinkIsClosed() async throws {
    let (adapter, _) = try await connect()
    let publication = try await publish(adapter, psm: 0x80)
    for number in 1...33 as ClosedRange<UInt32> { host.say(incoming(number)) }
    #expect(try await nextClosing() == L2CAPChannelID(rawValue: 33))
    // One that is taken makes room for another.
    var iterator = publication.makeAsyncIterator()
    let first = try #require(await iterator.next())
    host.say(incoming(34), incoming(35))
    #expect(try await nextClosing() == L2CAPChannelID(rawValue: 35))
    for _ in 0..<32 {
      let channel = await iterator.next()
      #expect(channel != nil)
    }
    withExtendedLifetime(first) {}
  }

  /// One device opens as many channels as its link may have, and nobody takes them: a channel of another device waits
  /// all the same.
  @Test func aLinkLeavesRoomForTheChannelsOfOthers() async throws {
    let (adapter, _) = try await connect()
    let publication = try await publish(adapter, psm: 0x80)
    let other = LinkID(rawValue: 8)
    host.connect(other)
    for number in 1...33 as ClosedRange<UInt32> { host.say(incoming(number)) }
    host.say(incoming(34, of: other))
    #expect(try await nextClosing() == L2CAPChannelID(rawValue: 33))
    var channels: [LEChannel] = []
    for await channel in publication {
      channels.append(channel)
      if channels.count == 33 { break }
    }
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0008), kind: .random)
    #expect(channels.last?.device.address == address)
  }

  @Test func aChannelPastTheLimitOfAllLinksIsClosed() async throws {
    let (adapter, _) = try await connect()
    let publication = try await publish(adapter, psm: 0x80)
    var number: UInt32 = 0
    for link in 8..<24 as Range<UInt32> {
      let peer = LinkID(rawValue: link)
      host.connect(peer)
      for _ in 0..<32 {
        number += 1
        host.say(incoming(number, of: peer))
      }
    }
    #expect(number == 512)
    host.say(incoming(513))
    #expect(try await nextClosing() == L2CAPChannelID(rawValue: 513))
    withExtendedLifetime(publication) {}
  }

  @Test func aPSMThatIsTakenIsAnError() async throws {
    let adapter = try await host.open()
    let publishing = Task { try await adapter.publishChannel(psm: 0x80) }
    while true {
      guard case .channels(.listen(let id, _)) = try await host.next() else { continue }
      host.say(.channels(.listening(id, .failure(.invalidParameters("the SPSM is in use")))))
      break
    }
    await expectThrows(.invalidArgument) { _ = try await publishing.value }
  }
}
