import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire
import Testing

/// A pairing that fails while keys are distributed, on a link that is encrypted with its key (Vol 3, Part H, 3.5.5;
/// Part C, 10.2; Docs/Decisions/pairing-and-bonds.md#a-failed-pairing-gives-no-level).
@Suite("Pairing that fails after its key is in use") struct RevokedKeyTests {
  /// Keeps the keys that the peripheral distributes from the central: both wait for keys on an encrypted link.
  static func withholdKeys(_ world: inout World) {
    world.claimed = { host, packet in
      guard host == 0, packet.count > 9, packet[0] == 2, packet[7] == 6, (0x06...0x0A).contains(packet[9]) else {
        return packet
      }
      return packet[..<7] + [0x3E] + packet[8...]
    }
  }

  private static let pairingFailed: [UInt8] = [0x05, 0x08]

  /// A peripheral that displays a passkey and a central that enters it.
  private func couple(secure: Bool = true) -> Couple {
    Couple(peripheral: .with(.displayOnly, secure: secure), central: { _ in .with(.keyboardOnly, secure: secure) })
  }

  private func level(_ couple: Couple, _ host: Int) -> SecurityLevel { couple.security(host)?.level ?? .none }

  /// The last events about security and pairing of a host, in order.
  private func ends(_ couple: Couple, _ host: Int) -> [String] {
    couple.events(host).compactMap {
      switch $0 {
      case .link(_, .security(let security)): security.level == .none ? "none" : "secured"
      case .pairing(_, .failed(let failure)): "failed \(failure.origin)"
      case .bonds(.lost): "bond lost"
      case .pairing(_, .succeeded): "paired"
      default: nil
      }
    }
  }

  @Test(arguments: [true, false], [0, 1])
  func theLinkCountsAsOneThatIsNotEncrypted(isSecureConnections: Bool, host: Int) throws {
    var couple = couple(secure: isSecureConnections)
    try couple.connect()
    Self.withholdKeys(&couple.world)
    couple.secure()
    #expect(level(couple, 0) >= .authenticated && level(couple, 1) >= .authenticated)
    #expect(couple.read(Couple.authenticated) == .success([7]))
    couple.forge(Self.pairingFailed, onSecurityChannelFrom: 1 - host)
    #expect(ends(couple, host) == ["secured", "none", "failed peer"], "the level before the failure")
    #expect(ends(couple, 1 - host) == ["secured"])
    #expect(couple.paired(host).isEmpty)
    guard host == 0 else { return }
    #expect(couple.read(Couple.authenticated) == .failure(.insufficientAuthentication))
    #expect(couple.read(Couple.encrypted) == .failure(.insufficientAuthentication))
    #expect(couple.read(Couple.plain) == .success([7]))
  }

  /// Vol 3, Part H, 3.5.5: a subsequent pairing begins anew, on this link.
  @Test func anotherPairingOnTheLinkSucceeds() throws {
    var couple = couple()
    try couple.connect()
    Self.withholdKeys(&couple.world)
    couple.secure()
    for host in 0...1 { couple.forge(Self.pairingFailed, onSecurityChannelFrom: host) }
    #expect(couple.read(Couple.authenticated) == .failure(.insufficientAuthentication))
    couple.world.claimed = nil
    couple.secure()
    #expect(couple.paired(0).count == 1 && couple.paired(1).count == 1)
    #expect(couple.read(Couple.authenticated) == .success([7]))
    #expect(couple.world.complaints.isEmpty)
  }

  @Test func keysThatDoNotComeInTimeFailThePairing() throws {
    var couple = couple()
    try couple.connect()
    Self.withholdKeys(&couple.world)
    couple.secure()
    couple.world.run(for: SMP.timeout)
    for host in 0...1 { #expect(ends(couple, host) == ["secured", "none", "failed timeout"]) }
    #expect(couple.read(Couple.authenticated) == .failure(.insufficientAuthentication))
  }

  /// The responder rejects the last key, after the initiator has sent it: for the initiator the pairing has succeeded
  /// (Vol 3, Part H, 3.6.1), and a Pairing Failed without a pairing is ignored.
  @Test func aFailureAfterTheLastKeyIsThatOfTheResponder() throws {
    var couple = couple()
    try couple.connect()
    // The central's identity is that of the peripheral.
    let identity = couple.world.hosts[0].addressOnAir.octets
    couple.world.claimed = { host, packet in
      guard host == 1, packet.count > 9, packet[0] == 2, packet[7] == 6, packet[9] == 0x09 else { return packet }
      let octets = (0..<6).map { UInt8(truncatingIfNeeded: identity.value >> (8 * UInt64($0))) }
      return packet[..<10] + [0] + octets
    }
    couple.secure()
    #expect(ends(couple, 0) == ["secured", "none", "failed local"])
    #expect(ends(couple, 1) == ["secured", "paired", "secured"])
    #expect(couple.read(Couple.authenticated) == .failure(.insufficientAuthentication))
  }

  @Test func aPairingThatFailsEarlierLeavesTheLevelOfTheLink() throws {
    var couple = Couple()
    try couple.connect()
    couple.secure()
    #expect(level(couple, 0) == .encrypted)
    couple.forget()
    couple.world.ask(0, .security(.setPairing(.with(.displayOnly))))
    couple.world.ask(
      1, .security(.setPairing(.with(.keyboardOnly) { $0.identityResolvingKey = World.identityKey(of: 1) })))
    couple.world.claimed = { host, packet in
      // The Pairing Response does not arrive.
      host == 0 && packet.count > 9 && packet[0] == 2 && packet[7] == 6 && packet[9] == 2
        ? packet[..<7] + [0x3E] + packet[8...] : packet
    }
    let link = try #require(couple.links[1])
    couple.world.ask(1, .link(link.central, .secure(SecurityDemand(level: .authenticated))))
    for host in 0...1 { couple.forge(Self.pairingFailed, onSecurityChannelFrom: host) }
    for host in 0...1 { #expect(ends(couple, host) == ["failed peer"]) }
    #expect(couple.read(Couple.encrypted) == .success([7]))
  }

  /// A bonded pair whose pairing for an authenticated key waits for keys.
  private func repairing() throws -> Couple {
    var couple = Couple()
    try couple.connect()
    couple.secure()
    couple.forget()
    couple.world.ask(0, .security(.setPairing(.with(.displayOnly))))
    couple.world.ask(
      1, .security(.setPairing(.with(.keyboardOnly) { $0.identityResolvingKey = World.identityKey(of: 1) })))
    Self.withholdKeys(&couple.world)
    let link = try #require(couple.links[1])
    couple.world.ask(1, .link(link.central, .secure(SecurityDemand(level: .authenticated))))
    #expect(level(couple, 0) >= .authenticated && level(couple, 1) >= .authenticated)
    return couple
  }

  /// Our central sends nothing to a bonded device before that has proven its bond (Vol 3, Part C, 10.3.2).
  @Test func aCentralEncryptsAgainWithTheKeyOfItsBond() throws {
    var couple = try repairing()
    couple.forge(Self.pairingFailed, onSecurityChannelFrom: 0)
    #expect(ends(couple, 1) == ["secured", "none", "failed peer", "secured"])
    for host in 0...1 {
      #expect(level(couple, host) == .encrypted && couple.security(host)?.isBondProven == true)
    }
    #expect(couple.read(Couple.encrypted) == .success([7]))
    #expect(couple.read(Couple.authenticated) == .failure(.insufficientAuthentication))
    // The peripheral's pairing ends with its time, and the level stays: that key is not in use any more.
    couple.world.run(for: SMP.timeout)
    #expect(couple.failures(0).count == 1 && level(couple, 0) == .encrypted)
    #expect(couple.world.complaints.isEmpty)
  }

  @Test func aCentralSendsNothingToABondedDeviceWithoutItsKey() throws {
    var couple = try repairing()
    couple.world.ask(0, .security(.setBonds([])))
    // The answer that there is no key does not reach the controller: the encryption neither begins nor fails.
    couple.world.claimed = { _, packet in packet.starts(with: [0x01, 0x1B, 0x20]) ? [0x01, 0x09, 0x10, 0] : packet }
    couple.forge(Self.pairingFailed, onSecurityChannelFrom: 0)
    #expect(ends(couple, 1) == ["secured", "none", "failed peer"])
    let before = couple.world.sent[1].count
    let result = couple.perform(.read(try #require(couple.handles[Couple.plain])))
    #expect(result == nil, "it waits")
    couple.world.run(for: .seconds(60))
    let isRead = couple.events(1).contains { if case .client(_, .finished(_, .success)) = $0 { true } else { false } }
    #expect(!isRead)
    let att = couple.world.sent[1].dropFirst(before).filter { $0.count > 8 && $0[0] == 2 && $0[7] == 4 }
    #expect(att.isEmpty)
  }

  /// A channel to a service that demands security, or one that was requested with a demand, and one without.
  @Test(arguments: [0, 1]) func channelsThatDemandedSecurityEnd(host: Int) throws {
    let secured = ChannelService(spsm: ChannelPair.service, requirement: .authenticated)
    let open = SPSM(rawValue: 0x0081)
    var pair = try ChannelPair(secured, couple: couple())
    pair.ask(0, .channels(.listen(ListenID(rawValue: 2), ChannelService(spsm: open))))
    Self.withholdKeys(&pair.couple.world)
    pair.couple.secure()
    pair.open(from: 1, .init(spsm: ChannelPair.service, demand: SecurityDemand(level: .authenticated)))
    pair.open(from: 1, .init(spsm: open))
    let channels = pair.openedChannels(1)
    #expect(channels.count == 2 && pair.openedChannels(0).count == 2)
    pair.couple.forge(Self.pairingFailed, onSecurityChannelFrom: 1 - host)
    #expect(pair.closed(host) == [.keyRevoked] && pair.closed(1 - host) == [.peer])
    pair.ask(1, .channel(channels[1].id, .send([1, 2])))
    #expect(pair.received(0) == [[1, 2]])
  }

  /// The channel opens at the peer after the pairing has failed here.
  @Test func aChannelThatOpensTooLateIsClosed() throws {
    var pair = try ChannelPair(couple: couple())
    pair.couple.world.claimed = { host, packet in
      guard host == 0, packet.count > 9, packet[0] == 2 else { return packet }
      let isKey = packet[7] == 6 && (0x06...0x0A).contains(packet[9])
      let isResponse = packet[7] == 5 && packet[9] == 0x15
      return isKey || isResponse ? packet[..<7] + [0x3E] + packet[8...] : packet
    }
    pair.couple.secure()
    pair.open(from: 1, .init(spsm: ChannelPair.service, demand: SecurityDemand(level: .authenticated)))
    pair.couple.forge(Self.pairingFailed, onSecurityChannelFrom: 0)
    #expect(pair.failures(1).isEmpty)
    let request = try #require(pair.frames(of: 1, on: 5).last { $0.hasPrefix("14") })
    pair.couple.world.claimed = nil
    // LE Credit Based Connection Response: channel 0x0040, MTU, MPS 64, one credit, success.
    try pair.forge("15\(request.dropFirst(2).prefix(2))0a00" + "40004000400001000000", on: 5, from: 0)
    guard case .notSecured? = pair.failures(1).last else { Issue.record("\(pair.failures(1))"); return }
    #expect(pair.openedChannels(1).isEmpty)
    #expect(pair.frames(of: 1, on: 5).last?.hasPrefix("06") == true, "a Disconnection Request")
  }
}
