import BLEATT
import BLECrypto
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

/// Which bonds are kept when there are too many of them, and how many unconfirmed ones are made
/// (Docs/Decisions/pairing-and-bonds.md#which-bond-is-removed).
@Suite("Room for bonds") struct BondRoomTests {
  static let owner = DeviceAddress(octets: BD_ADDR(0xEEDD_CCBB_AAFF), kind: .public)
  static let protected = LongTermKey(
    value: SecretKey(1), strength: KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true))

  static func bond(_ identity: DeviceAddress, isProtected: Bool = true) -> Bond {
    var key = protected
    key.strength.isAuthenticated = isProtected
    var bond = Bond(identity: identity, strength: key.strength)
    bond.peripheralKey = key
    return bond
  }

  /// A peripheral with room for so many bonds, and a central that invents identities.
  private func couple(
    room: Int = 8, unconfirmed: Int = 1000, _ change: @escaping (inout PairingSettings) -> Void = { _ in }
  ) -> Couple {
    Couple(
      peripheral: .with {
        $0.unconfirmedBonds.count = unconfirmed
        change(&$0)
      }, central: { _ in .with { $0.unconfirmedBonds.count = 1000 } },
      configure: { if $0 == 0 { $1.maximumBonds = room } })
  }

  /// Pairs under the identity with this number; afterwards the link is down.
  private func pair(_ couple: inout Couple, as number: UInt8) throws {
    couple.forget()
    couple.world.claimed = { host, packet in
      host == 1 && packet.count == 17 && packet[9] == 9
        ? Array(packet.prefix(10)) + [0, number, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE] : packet
    }
    couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
    try couple.connect()
    couple.secure()
    couple.disconnect()
  }

  private func removed(_ couple: Couple) -> [UInt8] {
    couple.events(0).compactMap {
      if case .bonds(.removed(let identity)) = $0 { identity.octets.littleEndian[0] } else { nil }
    }
  }

  /// The bonding flags and the key distributions of a Pairing Request or Response (Vol 3, Part H, 3.5.1).
  private func features(_ couple: Couple, sentBy host: Int, since start: Int, code: UInt8) -> [UInt8]? {
    let packet = couple.world.sent[host].dropFirst(start).first {
      $0[0] == 2 && $0.count == 16 && $0[7] == 6 && $0[9] == code
    }
    return packet.map { [$0[12] & 3, $0[14], $0[15]] }
  }

  @Test func unprotectedBondsDoNotRemoveAProtectedOne() throws {
    var couple = couple()
    couple.world.ask(0, .security(.setBonds([Self.bond(Self.owner)])))
    for number in 0..<7 as Range<UInt8> {
      try pair(&couple, as: number)
      #expect(removed(couple).isEmpty)
    }
    for number in 7..<20 as Range<UInt8> {
      try pair(&couple, as: number)
      #expect(couple.bond(0)?.identity.octets.littleEndian[0] == number)
      #expect(removed(couple) == [number - 7])
    }
  }

  /// After as many pairings as there is room for bonds, a pairing under the protected identity still fails.
  @Test func unprotectedBondsDoNotFreeTheIdentityOfAProtectedOne() throws {
    var couple = couple()
    couple.world.ask(0, .security(.setBonds([Self.bond(Self.owner)])))
    try pair(&couple, as: 255)
    #expect(couple.losses(0) == [.forgottenByPeer])
    for number in 0..<12 as Range<UInt8> { try pair(&couple, as: number) }
    try pair(&couple, as: 255)
    #expect(couple.losses(0) == [.forgottenByPeer])
    #expect(couple.bond(0) == nil && couple.paired(0).isEmpty)
  }

  /// A bond that its device has used since goes later than an older one that was not.
  @Test func theLeastRecentlyUsedUnprotectedBondIsRemoved() throws {
    var couple = couple(room: 3)
    for number in 1...3 as ClosedRange<UInt8> { try pair(&couple, as: number) }
    let first = try #require(couple.bond(0))
    // The central has the key of the third; the bond of the first is given the same, so that it can prove it.
    couple.world.claimed = nil
    var bonds: [Bond] = []
    for number in 1...3 as ClosedRange<UInt8> {
      var bond = first
      bond.identity = DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public)
      (bond.addressOnAir, bond.identityResolvingKey) = (nil, nil)
      bond.lastUse = UInt32(number)
      if number == 1 { bond.addressOnAir = couple.world.hosts[1].ownAddress }
      bonds.append(bond)
    }
    couple.world.ask(0, .security(.setBonds(bonds)))
    couple.forget()
    try couple.connect()
    couple.secure()
    couple.disconnect()
    #expect(couple.bond(0)?.identity == bonds[0].identity && couple.bond(0)?.lastUse == 4)
    // What a new run is given is in the order of use.
    for number in 10...12 as ClosedRange<UInt8> {
      try pair(&couple, as: number)
      #expect(removed(couple) == [[2, 3, 1][Int(number) - 10]])
    }
  }

  @Test func theLastUsedBondIsNotReportedAgain() throws {
    var couple = Couple()
    try couple.connect()
    couple.secure()
    #expect(couple.bond(0)?.lastUse == 1)
    couple.disconnect()
    couple.forget()
    try couple.connect()
    couple.secure()
    couple.disconnect()
    couple.world.run(for: .seconds(60))
    #expect(couple.bond(0) == nil && couple.security(0)?.isBondProven == true)
  }

  /// Where all bonds are protected a stranger pairs without one: no bonding in the response, no keys (Vol 3, Part C,
  /// 9.4.2).
  @Test func withoutRoomAPairingMakesNoBond() throws {
    var couple = couple(room: 2)
    let protected = [Self.bond(Self.owner), Self.bond(DeviceAddress(octets: BD_ADDR(2), kind: .public))]
    couple.world.ask(0, .security(.setBonds(protected)))
    let start = couple.world.sent[0].count
    try couple.connect()
    couple.secure()
    #expect(features(couple, sentBy: 0, since: start, code: 2) == [0, 0, 0])
    for host in 0...1 { #expect(couple.paired(host).map(\.isBonded) == [false] && couple.bond(host) == nil) }
    #expect(removed(couple).isEmpty && couple.read(Couple.encrypted) == .success([7]))
    #expect(declined(couple) == 1)
    // With room again it bonds.
    couple.world.ask(0, .security(.removeBond(Self.owner)))
    couple.disconnect()
    couple.forget()
    try couple.connect()
    couple.secure()
    #expect(couple.paired(0).map(\.isBonded) == [true])
  }

  /// Lines in the log about a bond that was not made.
  private func declined(_ couple: Couple) -> Int {
    couple.events(0).count {
      if case .diagnostic(let line) = $0 { line.text.hasPrefix("paired without a bond") } else { false }
    }
  }

  /// Twelve in an hour, by default, whatever identities they claim; pairing itself goes on, and so does bonding after
  /// an hour, with authentication, and for a device that has a bond.
  @Test func unconfirmedBondsAreLimitedInTime() throws {
    var couple = Couple(central: { _ in .with { $0.unconfirmedBonds.count = 1000 } })
    for number in 0..<12 as Range<UInt8> {
      try pair(&couple, as: number)
      #expect(couple.paired(0).map(\.isBonded) == [true])
    }
    try pair(&couple, as: 12)
    #expect(couple.paired(0).map(\.isBonded) == [false] && couple.bond(0) == nil)
    #expect(couple.security(0)?.level == .encrypted && declined(couple) == 1)
    try pair(&couple, as: 11)
    #expect(couple.paired(0).map(\.isBonded) == [true], "a bond is replaced")
    couple.world.ask(0, .security(.setPairing(.with(.displayOnly))))
    couple.world.ask(1, .security(.setPairing(.with(.keyboardOnly) { $0.unconfirmedBonds.count = 1000 })))
    try pair(&couple, as: 13)
    #expect(couple.paired(0).map(\.isBonded) == [true])
    couple.world.ask(0, .security(.removeBond(try #require(couple.bond(0)).identity)))
    couple.world.ask(0, .security(.setPairing(.with())))
    couple.world.ask(1, .security(.setPairing(.with { $0.unconfirmedBonds.count = 1000 })))
    couple.world.run(for: .seconds(3600))
    try pair(&couple, as: 14)
    #expect(couple.paired(0).map(\.isBonded) == [true])
  }

  /// What the application agreed to is confirmed, and does not count.
  @Test func consentIsAConfirmation() throws {
    var couple = couple(unconfirmed: 0) { $0.asksConsent = true }
    try pair(&couple, as: 1)
    #expect(couple.paired(0).map(\.isBonded) == [true])
    couple = self.couple(unconfirmed: 0)
    try pair(&couple, as: 1)
    #expect(couple.paired(0).map(\.isBonded) == [false])
  }

  /// A device whose address names its bond replaces it at the limit, too: that takes no room.
  @Test func aReplacedBondDoesNotCount() throws {
    var couple = couple(room: 1, unconfirmed: 1)
    for _ in 1...3 {
      couple.forget()
      couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
      try couple.connect()
      couple.secure()
      couple.disconnect()
      #expect(couple.paired(0).map(\.isBonded) == [true] && removed(couple).isEmpty)
    }
  }

  /// The limit holds for our central, too, which says in its request that it does not bond. What the application began
  /// itself is confirmed by that.
  @Test func theLimitHoldsForOurCentral() throws {
    var couple = Couple(central: { _ in .with { $0.unconfirmedBonds.count = 0 } })
    let start = couple.world.sent[1].count
    try couple.connect()
    couple.world.ask(0, .link(try #require(couple.links[1]).peripheral, .requestSecurity))
    couple.world.run(for: .seconds(1))
    #expect(features(couple, sentBy: 1, since: start, code: 1) == [0, 0, 0])
    for host in 0...1 { #expect(couple.paired(host).map(\.isBonded) == [false]) }
    #expect(couple.read(Couple.encrypted) == .success([7]))
    couple.disconnect()
    couple.forget()
    try couple.connect()
    couple.secure()
    for host in 0...1 { #expect(couple.paired(host).map(\.isBonded) == [true]) }
  }

  /// Where a store holds more than there is room for, protected bonds and those used last are taken.
  @Test func ofTooManyBondsTheProtectedAndTheLastUsedAreTaken() {
    var configuration = HostConfiguration()
    configuration.maximumBonds = 3
    var core = HostCore(configuration: configuration, cryptography: LibCrypto(), random: .seeded(1))
    var output = HostOutput()
    let bonds = (0..<6).map { number in
      var bond = Self.bond(DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public), isProtected: number == 1)
      bond.lastUse = [9, 1, 2, 5, 3, 4][number]
      return bond
    }
    core.perform(.security(.setBonds(bonds)), from: .process, now: .start, into: &output)
    for bond in bonds {
      core.perform(.security(.removeBond(bond.identity)), from: .process, now: .start, into: &output)
    }
    let kept = output.events.compactMap { if case .bonds(.removed(let identity)) = $0.event { identity } else { nil } }
    #expect(kept == [0, 1, 3].map { bonds[$0].identity })
  }
}
