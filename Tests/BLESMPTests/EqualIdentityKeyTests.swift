import BLESMP
import BLEWire
import Testing

/// A peer that distributes the identity resolving key (IRK) of another device
/// (Docs/Decisions/pairing-and-bonds.md#identity-keys).
@Suite("Identity resolving keys of others in a pairing") struct EqualIdentityKeyTests {
  typealias Side = PairingPair.Side

  private static let key = SecretKey(0xA5A5_0000_1111_2222_3333_4444_5555_6666)
  private static let other = DeviceAddress(octets: BD_ADDR(0xC0FF_EE00_0001), kind: .random).identity

  /// A pairing whose `side` has a bond with this key, and whose peer distributes ``key``.
  private func pair(
    at side: Side, io: (IOCapability, IOCapability) = (.noInputNoOutput, .noInputNoOutput),
    fromPrivateAddress: Bool = false,
    _ change: (inout PairingSettings) -> Void
  ) -> PairingPair {
    let used = DeviceAddress(octets: BD_ADDR(0x4000_0000_0001), kind: .random)
    func settings(_ io: IOCapability, _ owner: Side) -> PairingSettings {
      .with(io) {
        if owner == side { change(&$0) } else { $0.identityResolvingKey = Self.key }
      }
    }
    var pair = PairingPair(
      settings(io.0, .initiator), settings(io.1, .responder),
      initiatorAddress: fromPrivateAddress && side == .responder ? used : PairingPair.initiatorAddress,
      responderAddress: fromPrivateAddress && side == .initiator ? used : PairingPair.responderAddress)
    // The fixture gives two equal keys to no pair.
    pair.initiator.settings.identityResolvingKey = settings(io.0, .initiator).identityResolvingKey
    pair.responder.settings.identityResolvingKey = settings(io.1, .responder).identityResolvingKey
    pair.pair()
    return pair
  }

  private func bond(_ identity: DeviceAddress, isAuthenticated: Bool, _ settings: inout PairingSettings) {
    settings.bondRules.strengths[identity] = KeyStrength(
      size: 16, isAuthenticated: isAuthenticated, isSecureConnections: true)
    settings.bondRules.identityKeys[identity] = Self.key
  }

  private func identity(ofPeerOf side: Side) -> DeviceAddress {
    (side == .initiator ? PairingPair.responderAddress : PairingPair.initiatorAddress).identity
  }

  @Test(arguments: Side.allCases, [true, false])
  func doesNotTakeTheKeyOfAnotherBondedDevice(at side: Side, isAuthenticated: Bool) throws {
    let pair = pair(at: side) { bond(Self.other, isAuthenticated: isAuthenticated, &$0) }
    let outcome = try #require(pair.outcomes[side])
    #expect(outcome.isBonded && outcome.peerIRK == nil && outcome.isIdentityKeyRefused)
    #expect(outcome.peerIdentity == identity(ofPeerOf: side))
  }

  @Test(arguments: Side.allCases) func doesNotTakeItsOwnKey(at side: Side) throws {
    let pair = pair(at: side) { $0.identityResolvingKey = Self.key }
    let outcome = try #require(pair.outcomes[side])
    #expect(outcome.isBonded && outcome.peerIRK == nil && outcome.isIdentityKeyRefused)
  }

  /// A device with a private address could not be recognized without the key.
  @Test(arguments: Side.allCases) func rejectsThePairingOfADeviceWithAPrivateAddress(at side: Side) {
    for isOwn in [true, false] {
      let pair = pair(at: side, fromPrivateAddress: true) {
        if isOwn { $0.identityResolvingKey = Self.key } else { bond(Self.other, isAuthenticated: false, &$0) }
      }
      #expect(pair.failures[side] == PairingFailure(.keyRejected, .local))
      #expect(pair.air.first { $0.octets[0] == 5 }?.octets == [5, PairingFailedReason.keyRejected.rawValue])
    }
  }

  /// The key then belongs to the device that has authenticated.
  @Test(arguments: Side.allCases, [true, false])
  func takesTheKeyOfAnUnauthenticatedBondForAnAuthenticatedDevice(at side: Side, fromPrivateAddress: Bool) throws {
    for isAuthenticated in [true, false] {
      let pair = pair(at: side, io: (.displayOnly, .keyboardOnly), fromPrivateAddress: fromPrivateAddress) {
        bond(Self.other, isAuthenticated: isAuthenticated, &$0)
      }
      guard !(fromPrivateAddress && isAuthenticated) else {
        #expect(pair.failures[side] == PairingFailure(.keyRejected, .local))
        continue
      }
      let outcome = try #require(pair.outcomes[side])
      #expect(outcome.strength.isAuthenticated)
      #expect(outcome.peerIRK == (isAuthenticated ? nil : Self.key))
      #expect(outcome.isIdentityKeyRefused == isAuthenticated)
    }
  }

  /// The ordinary pairing anew: the same identity address, the same key.
  @Test(arguments: Side.allCases, [true, false])
  func takesTheKeyOfItsOwnBondAgain(at side: Side, fromPrivateAddress: Bool) throws {
    let pair = pair(at: side, fromPrivateAddress: fromPrivateAddress) {
      bond(identity(ofPeerOf: side), isAuthenticated: false, &$0)
    }
    let outcome = try #require(pair.outcomes[side])
    #expect(outcome.peerIRK == Self.key && !outcome.isIdentityKeyRefused)
  }

  /// An identity address of zeros names the bonded device that the peer is taken for (Vol 3, Part H, 3.6.5).
  @Test func takesTheKeyOfThePresumedDeviceWithoutAnIdentityAddress() throws {
    for isPresumed in [true, false] {
      var pair = PairingPair(
        .with { $0.identityResolvingKey = Self.key },
        .with {
          bond(Self.other, isAuthenticated: false, &$0)
          if isPresumed { $0.bondRules.presumed = Self.other }
        })
      pair.tamper = { from, octets, _ in
        [from == .initiator && octets[0] == 9 ? [9] + [UInt8](repeating: 0, count: 7) : octets]
      }
      pair.pair()
      let outcome = try #require(pair.outcomes[.responder])
      #expect(outcome.peerIRK == (isPresumed ? Self.key : nil))
    }
  }

  /// All zeros: the device has no key (Vol 3, Part H, 3.6.4).
  @Test func aKeyOfZerosIsNoKey() throws {
    var pair = PairingPair(.with { $0.identityResolvingKey = nil }, .with { $0.identityResolvingKey = nil })
    pair.pair()
    for side in Side.allCases {
      let outcome = try #require(pair.outcomes[side])
      #expect(outcome.peerIRK == nil && !outcome.isIdentityKeyRefused)
    }
  }

  @Test func keysAreEqualInAllBits() {
    #expect(Self.key == SecretKey(Self.key.value))
    for bit in 0..<128 {
      let changed = SecretKey(Self.key.value ^ 1 << UInt128(bit))
      #expect(Self.key != changed && Set([Self.key, changed]).count == 2)
    }
  }
}
