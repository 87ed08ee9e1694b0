import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire
import Testing

@Suite("Security of credit-based channels") struct ChannelSecurityTests {
  private let encrypted = ChannelService(spsm: ChannelPair.service, requirement: .encrypted)

  private func pairingOnDemand(peripheral: PairingSettings? = .with()) -> Couple {
    Couple(peripheral: peripheral, central: { _ in .with { $0.pairsOnDemand = true } })
  }

  /// A pair whose central does not secure the link by itself.
  private func pair(_ service: ChannelService, _ io: IOCapability = .noInputNoOutput) throws -> ChannelPair {
    try ChannelPair(
      service,
      couple: Couple(peripheral: .with(io == .noInputNoOutput ? io : .displayOnly), central: { _ in .with(io) }))
  }

  /// Vol 3, Part C, 10.3.1.1: no key: Insufficient Authentication; with a bond: Insufficient Encryption.
  @Test func aServiceDemandsEncryption() throws {
    var pair = try pair(encrypted)
    pair.open()
    #expect(pair.failures(1) == [.channelRefused(.insufficientAuthentication)])
    pair.couple.secure()
    pair.open()
    #expect(pair.openedChannels(0).count == 1)
    let bond = try #require(pair.couple.bond(1))
    pair.couple.disconnect()
    try pair.couple.connectInTheClear(bond)
    pair.open()
    #expect(pair.failures(1).last == .channelRefused(.insufficientEncryption))
  }

  @Test func aServiceDemandsAuthentication() throws {
    var pair = try pair(ChannelService(spsm: ChannelPair.service, requirement: .authenticated))
    pair.couple.secure()
    pair.open()
    #expect(pair.failures(1) == [.channelRefused(.insufficientAuthentication)])
    pair = try self.pair(ChannelService(spsm: ChannelPair.service, requirement: .authenticated), .keyboardOnly)
    pair.couple.secure()
    pair.open()
    #expect(pair.openedChannels(0).count == 1)
  }

  @Test func aServiceDemandsALongKey() throws {
    let requirement = AccessRequirement(security: .encrypted, minimumKeySize: 16)
    var pair = try ChannelPair(
      ChannelService(spsm: ChannelPair.service, requirement: requirement),
      couple: Couple(
        peripheral: .with { $0.minimumSecureConnectionsKeySize = 7 },
        central: { _ in
          .with {
            ($0.minimumSecureConnectionsKeySize, $0.maximumKeySize) = (7, 10)
          }
        }))
    pair.couple.secure()
    pair.open()
    #expect(pair.failures(1) == [.channelRefused(.encryptionKeySizeTooShort)])
  }

  @Test func aServiceDemandsAuthorization() throws {
    let requirement = AccessRequirement(security: .encrypted, authorization: true)
    var pair = try pair(ChannelService(spsm: ChannelPair.service, requirement: requirement))
    pair.couple.secure()
    pair.open()
    #expect(pair.failures(1) == [.channelRefused(.insufficientAuthorization)])
    pair.ask(0, .link(pair.link(0), .authorize(true)))
    pair.open()
    #expect(pair.openedChannels(0).count == 1)
  }

  /// Our central pairs when the peer refuses, and repeats the request, as it does for operations of its client.
  @Test func aRefusedRequestIsRepeatedOnASecuredLink() throws {
    var pair = try ChannelPair(encrypted, couple: pairingOnDemand())
    let id = pair.open()
    #expect(pair.failures(1).isEmpty)
    #expect(pair.openedChannels(1).map(\.request) == [id])
    #expect(pair.couple.paired(1).count == 1)
  }

  @Test func aRequestIsRepeatedOnce() throws {
    let service = ChannelService(spsm: ChannelPair.service, requirement: .authenticated)
    var pair = try ChannelPair(service, couple: pairingOnDemand())
    pair.open()
    #expect(pair.couple.paired(1).count == 1)
    #expect(pair.failures(1) == [.channelRefused(.insufficientAuthentication)])
    #expect(pair.frames(of: 1, on: 5).count { $0.hasPrefix("14") } == 2)
  }

  @Test func aPairingThatFailsLeavesTheRefusal() throws {
    var pair = try ChannelPair(encrypted, couple: pairingOnDemand(peripheral: nil))
    pair.open()
    #expect(pair.failures(1) == [.channelRefused(.insufficientAuthentication)])
    #expect(pair.openedChannels(1).isEmpty)
  }

  /// A peripheral cannot pair: its request is refused.
  @Test func aPeripheralDoesNotPairOnDemand() throws {
    var pair = try ChannelPair(nil)
    pair.ask(1, .channels(.listen(ListenID(rawValue: 1), encrypted)))
    pair.open(from: 0)
    #expect(pair.failures(0) == [.channelRefused(.insufficientAuthentication)])
  }

  @Test(arguments: [0, 1]) func theDemandOfARequestIsMetBeforeItIsSent(host: Int) throws {
    var pair = try ChannelPair(nil)
    pair.ask(1 - host, .channels(.listen(ListenID(rawValue: 1), ChannelService(spsm: ChannelPair.service))))
    pair.open(from: host, .init(spsm: ChannelPair.service, demand: SecurityDemand()))
    #expect(pair.couple.paired(host).count == 1)
    #expect(pair.openedChannels(host).count == 1)
    #expect(pair.couple.security(host)?.level == .encrypted)
  }

  @Test func aDemandThatCannotBeMetFailsTheRequest() throws {
    var pair = try ChannelPair()
    pair.open(.init(spsm: ChannelPair.service, demand: SecurityDemand(level: .authenticated)))
    guard case .notSecured? = pair.failures(1).first else { Issue.record("\(pair.failures(1))"); return }
    #expect(pair.frames(of: 1, on: 5).allSatisfy { !$0.hasPrefix("14") }, "nothing is requested")
  }

  @Test func aDemandWithoutPairingFailsAtOnce() throws {
    var pair = try ChannelPair(couple: Couple(central: { _ in nil }))
    pair.open(.init(spsm: ChannelPair.service, demand: SecurityDemand()))
    guard case .notSecured? = pair.failures(1).first else { Issue.record("\(pair.failures(1))"); return }
  }

  @Test func aDemandThatTheCentralDoesNotMeetFailsAfterATime() throws {
    var pair = try ChannelPair(nil, couple: Couple(central: { _ in nil }))
    pair.ask(1, .channels(.listen(ListenID(rawValue: 1), ChannelService(spsm: ChannelPair.service))))
    pair.open(from: 0, .init(spsm: ChannelPair.service, demand: SecurityDemand()))
    #expect(pair.failures(0).isEmpty)
    pair.couple.world.run(for: .seconds(120))
    guard case .notSecured? = pair.failures(0).first else { Issue.record("\(pair.failures(0))"); return }
  }

  @Test func aRequestThatWaitsForSecurityEndsWithTheLink() throws {
    var pair = try ChannelPair(nil, couple: Couple(central: { _ in nil }))
    pair.open(from: 0, .init(spsm: ChannelPair.service, demand: SecurityDemand()))
    pair.couple.disconnect()
    #expect(pair.failures(0) == [.notConnected])
  }

  /// Docs/Decisions/pairing-and-bonds.md#the-central-encrypts-first: our central sends nothing to a bonded peripheral
  /// that has not proven its bond, and accepts nothing.
  @Test func aBondedPeripheralThatDoesNotEncryptGetsNoChannel() throws {
    var pair = try ChannelPair()
    pair.ask(1, .channels(.listen(ListenID(rawValue: 1), ChannelService(spsm: ChannelPair.service))))
    pair.couple.secure()
    let bond = try #require(pair.couple.bond(0))
    pair.couple.disconnect()
    pair.ask(0, .security(.removeBond(bond.identity)))
    try pair.couple.connect()
    pair.open()
    guard case .notSecured? = pair.failures(1).first else { Issue.record("\(pair.failures(1))"); return }
    pair.open(from: 0)
    #expect(pair.failures(0) == [.channelRefused(.insufficientEncryption)])
  }
}
