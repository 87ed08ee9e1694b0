import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire
import Glibc
import Testing

@testable import BLEKernel

/// Credit-based channels of a link (Docs/Decisions/kernel.md#channels).
@Suite struct KernelChannelTests {
  static let handle = TranslatorStage.handle
  static let spsm = SPSM(rawValue: 0x0080)
  static let first = ChannelSocketID(handle: handle, number: 1)
  static let connection = ChannelConnection(
    spsm: spsm, mode: .leCreditBased, mtu: 512, peer: TranslatorStage.peer)

  /// A PDU of the signalling channel, as an ACL packet of the peer.
  static func signalling(_ pdu: [UInt8]) -> [UInt8] { fromPeer(pdu, on: 0x0005) }

  static func fromPeer(_ payload: [UInt8], on channel: UInt16) -> [UInt8] {
    var packet: [UInt8] = [0x02, 0x40, 0x20]
    packet.append(littleEndian: UInt16(4 + payload.count))
    packet.append(littleEndian: UInt16(payload.count))
    packet.append(littleEndian: channel)
    return packet + payload
  }

  static func fromHost(_ payload: [UInt8], on channel: UInt16 = 0x0005) -> [UInt8] {
    TranslatorStage.packet(payload, channel: channel)
  }

  /// LE Credit Based Connection Request: identifier 1, SPSM 0x0080, CID 0x0040, MTU 512, MPS 247, 2 credits.
  static let request: [UInt8] = [0x14, 1, 10, 0, 0x80, 0, 0x40, 0, 0x00, 0x02, 247, 0, 2, 0]
  /// Its response: CID 0x0040, MTU 100, MPS 2,050, 32 credits.
  static let response: [UInt8] = [0x15, 1, 10, 0, 0x40, 0, 100, 0, 0x02, 0x08, 32, 0, 0, 0]
  static func refusal(_ result: UInt8) -> [UInt8] { [0x15, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, result, 0] }

  /// A link, and a channel that the host has opened: 0x0040 at both ends, MTU 512 at the host and 100 at the peer.
  static func open() -> TranslatorStage {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.send(fromHost(request))
    _ = stage.channel(first, .connected(remoteMTU: 100))
    _ = stage.completed()
    return stage
  }

  @Test func connectsASocketForARequestOfTheHost() {
    var stage = TranslatorStage()
    stage.link()
    let asked = stage.send(Self.fromHost(Self.request))
    #expect(asked.actions == [.channel(.connect(Self.first, Self.connection))])
    #expect(asked.packets.isEmpty && stage.completed() == [TranslatorStage.completed(1)])
    let opened = stage.channel(Self.first, .connected(remoteMTU: 100))
    #expect(opened.packets == [Self.signalling(Self.response)])
    #expect(opened.actions == [.channel(.read(Self.first))])
  }

  /// The kernel makes a second link for a socket of a link that it does not have yet
  /// (Docs/Decisions/kernel.md#translation).
  @Test func connectsNoSocketBeforeTheKernelHasTheLink() {
    var stage = TranslatorStage()
    _ = stage.send(HCI.LECreateConnection())
    _ = stage.event(TranslatorStage.connection(.central))
    #expect(stage.send(Self.fromHost(Self.request)).actions.isEmpty)
    _ = stage.management(KernelTranslatorTests.connected)
    #expect(stage.socket(.eventsRead).actions == [.connect(Self.handle, to: TranslatorStage.peer)])
    #expect(stage.socket(.writable(Self.handle)).actions == [.channel(.connect(Self.first, Self.connection))])
  }

  @Test(
    arguments: [
      (ECONNREFUSED, 0x02), (EACCES, 0x05), (EKEYREJECTED, 0x05), (EINVAL, 0x0B), (ENOMEM, 0x04), (EBUSY, 0x04),
      (EMFILE, 0x04), (ETIMEDOUT, 0x04), (EHOSTDOWN, 0x04),
    ] as [(Int32, UInt8)])
  func translatesErrorsOfConnecting(number: Int32, result: UInt8) {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.send(Self.fromHost(Self.request))
    let refused = stage.channel(Self.first, .refused(number))
    #expect(refused.packets == [Self.signalling(Self.refusal(result))])
    #expect(refused.actions.isEmpty, "the driver has closed it")
    // The number of the host's end is free again.
    #expect(!stage.send(Self.fromHost([0x14, 2] + Self.request.dropFirst(2))).actions.isEmpty)
  }

  @Test func endsASocketThatDoesNotConnectBeforeTheTimerOfTheHost() {
    var stage = TranslatorStage()
    stage.link()
    _ = stage.send(Self.fromHost(Self.request))
    #expect(stage.translator.deadline == .start + .seconds(29))
    let late = stage.tick(after: .seconds(29))
    #expect(late.actions == [.channel(.close(Self.first))])
    #expect(late.packets.isEmpty, "the host's own timer ends the request")
    #expect(stage.translator.deadline == nil)
    #expect(stage.channel(Self.first, .connected(remoteMTU: 100)).packets.isEmpty)
  }

  @Test func opensEachChannelOfAnEnhancedRequest() {
    var stage = TranslatorStage()
    stage.link()
    // SPSM 0x0027, MTU 64, MPS 64, 1 credit, CIDs 0x0040 to 0x0042.
    let asked = stage.send(
      Self.fromHost([0x17, 1, 14, 0, 0x27, 0, 64, 0, 64, 0, 1, 0, 0x40, 0, 0x41, 0, 0x42, 0]))
    let sockets = (1...3 as ClosedRange<UInt32>).map { ChannelSocketID(handle: Self.handle, number: $0) }
    let connection = ChannelConnection(
      spsm: .enhancedATT, mode: .enhancedCreditBased, mtu: 64, peer: TranslatorStage.peer)
    #expect(asked.actions == sockets.map { .channel(.connect($0, connection)) })
    #expect(stage.channel(sockets[0], .connected(remoteMTU: 128)).isEmpty)
    #expect(stage.channel(sockets[1], .refused(ECONNREFUSED)).isEmpty)
    let opened = stage.channel(sockets[2], .connected(remoteMTU: 100))
    #expect(
      opened.packets == [
        // The least MTU; all three are accepted, and the one without a socket ends.
        Self.signalling([0x18, 1, 14, 0, 100, 0, 0x02, 0x08, 32, 0, 0, 0, 0x40, 0, 0x41, 0, 0x42, 0]),
        Self.signalling([0x06, 1, 4, 0, 0x41, 0, 0x41, 0]),
      ])
    #expect(opened.actions == [.channel(.read(sockets[0])), .channel(.read(sockets[2]))])
  }

  @Test func offersAChannelOfThePeerWithTheLevelOfTheLink() throws {
    var stage = TranslatorStage()
    stage.link()
    let id = try stage.channelSocket()
    let accepted = AcceptedChannel(spsm: Self.spsm, mode: .leCreditBased, remoteMTU: 100)
    #expect(stage.channel(id, .accepted(accepted)).actions == [.readSecurity(Self.handle)])
    let offered = stage.socket(.security(Self.handle, SocketSecurity(level: .medium, keySize: 16)))
    #expect(offered.reports == [.level(handle: 0x0040, SocketSecurity(level: .medium, keySize: 16).strength)])
    #expect(
      offered.packets == [Self.signalling([0x14, 1, 10, 0, 0x80, 0, 0x40, 0, 100, 0, 0x02, 0x08, 32, 0])])
    #expect(offered.actions.isEmpty, "not read before the host has answered")
    let opened = stage.send(Self.fromHost([0x15, 1, 10, 0, 0x41, 0, 0x00, 0x02, 247, 0, 1, 0, 0, 0]))
    #expect(opened.actions == [.channel(.read(id))])
    #expect(stage.translator.reads(id))
  }

  @Test func closesAChannelThatTheHostRefuses() throws {
    var stage = TranslatorStage()
    stage.link()
    let id = try stage.channelSocket()
    _ = stage.channel(id, .accepted(AcceptedChannel(spsm: Self.spsm, mode: .leCreditBased, remoteMTU: 100)))
    _ = stage.socket(.security(Self.handle, nil))
    #expect(stage.send(Self.fromHost(Self.refusal(0x08))).actions == [.channel(.close(id))])
  }

  @Test func offersNoMoreChannelsThanTheLimit() throws {
    var stage = TranslatorStage()
    stage.link()
    let accepted = AcceptedChannel(spsm: Self.spsm, mode: .leCreditBased, remoteMTU: 100)
    for number in 1...KernelChannels.offerLimit + 1 {
      let id = try stage.channelSocket()
      let isPast = number > KernelChannels.offerLimit
      let actions = stage.channel(id, .accepted(accepted)).actions
      #expect(actions.contains(.channel(.close(id))) == isPast)
    }
    #expect(stage.socket(.security(Self.handle, nil)).packets.count == KernelChannels.offerLimit)
  }

  @Test func namesNoSocketOfALinkThatTheHostDoesNotHave() {
    var stage = TranslatorStage()
    let socket = stage.translator.takeChannelSocket(on: Self.handle)
    #expect(socket == nil)
  }

  @Test func listensAsTheHostDirects() {
    var stage = TranslatorStage()
    #expect(
      stage.perform(.listen(Self.spsm, level: .authenticated, mtu: 512)).actions == [
        .channel(.listen(Self.spsm, .high, mtu: 512))
      ])
    #expect(stage.perform(.stopListening(Self.spsm)).actions == [.channel(.stopListening(Self.spsm))])
  }

  @Test func logsWhyAServiceHasNoListener() {
    var stage = TranslatorStage()
    #expect(stage.socket(.listeningFailed(Self.spsm, EADDRINUSE)).notices.first?.contains("another program") == true)
    let notices = stage.socket(.listeningFailed(SPSM(rawValue: 0x0025), EACCES)).notices
    #expect(notices.first?.contains("cap_net_bind_service") == true)
  }
}
