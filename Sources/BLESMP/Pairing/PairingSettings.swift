package import BLECrypto
package import BLEWire

/// How a device pairs: what its user can do, what it demands, and the keys it gives away (Vol 3, Part H, 2.3).
package struct PairingSettings: Sendable {
  package var ioCapability = IOCapability.noInputNoOutput
  /// Whether keys are kept; if either device says no, neither gives any.
  package var isBonding = true
  /// Asks for protection against a man in the middle where the devices' capabilities allow it.
  package var asksForMITM = false
  /// Refuses a pairing without that protection.
  package var requiresMITM = false
  package var allowsSecureConnections = true
  package var allowsLegacy = true
  package var keypress = false
  package var ct2 = false
  /// In octets. The maximum is what we offer; a pairing with a shorter key than the minimum is refused.
  package var maximumKeySize: UInt8 = 16
  package var minimumKeySize: UInt8 = 7
  package var minimumSecureConnectionsKeySize: UInt8 = 16
  package var initiatorKeys: KeyDistribution = [.encKey, .idKey, .signKey]
  package var responderKeys: KeyDistribution = [.encKey, .idKey, .signKey]
  /// The passkey that is always displayed; nil draws a new one for each pairing, which is what the specification wants.
  package var fixedPasskey: Passkey?
  /// Asks the application before a pairing that authenticates nobody (Just Works), in both roles. A pairing that our
  /// application began needs no other consent; one that the peer began, or our client on demand, does.
  package var asksConsent = false
  /// Takes the debug key that everybody knows (2.3.5.6.1), so that a sniffer can follow.
  package var acceptsDebugKey = false
  /// Whether our client pairs, or encrypts, when a server refuses it for want of security, and asks again.
  package var pairsOnDemand = false
  /// Whether our client's operations wait for a new pairing on a link that could not be encrypted with the key of its bond.
  /// Otherwise they fail.
  package var queuesOperationsAfterBondLoss = false
  /// Our own identity: what peers resolve our private addresses with. Nil: none is given, though a peer may ask.
  package var identityResolvingKey: SecretKey?
  /// Distributes our key and identity address in authenticated pairings only.
  package var withholdsIdentity = false
  package var identityAddress = DeviceAddress(octets: BD_ADDR(), kind: .public)
  /// What came from the peer by another way.
  package var outOfBand = OutOfBandData()
  /// Which bonds the pairing may make and replace.
  package var bondRules = BondRules()
  /// How many unconfirmed bonds the host makes in a period.
  package var unconfirmedBonds = UnconfirmedBondLimit()
  /// How long a device may be silent (3.4).
  package var timeout: Duration = .seconds(30)

  package init() {}

  /// Secure Connections only: no legacy pairing, and keys of full length (Vol 3, Part C, 10.2.4).
  package var isSecureConnectionsOnly: Bool {
    get { allowsSecureConnections && !allowsLegacy && requiresMITM }
    set {
      allowsLegacy = !newValue
      requiresMITM = newValue
      if newValue { (allowsSecureConnections, asksForMITM, minimumKeySize) = (true, true, 16) }
    }
  }

  var authReq: AuthenticationRequirements {
    var authReq: AuthenticationRequirements = []
    if isBonding { authReq.insert(.bonding) }
    if asksForMITM || requiresMITM { authReq.insert(.mitm) }
    if allowsSecureConnections { authReq.insert(.secureConnections) }
    if keypress { authReq.insert(.keypress) }
    if ct2 { authReq.insert(.ct2) }
    return authReq
  }
}

/// Octets that two devices exchanged another way, a label or NFC (Vol 3, Part H, 2.3.5.4).
package struct OutOfBandData: Sendable {
  /// The TK of legacy pairing, known to both.
  package var temporaryKey: SecretKey?
  /// What the peer gave for Secure Connections.
  package var peer: SecureConnectionsData?
  /// What we gave the peer for Secure Connections, with the key pair it commits to.
  package var own: OwnData?

  package init() {}

  /// Whether there is anything of the peer.
  var isPresent: Bool { temporaryKey != nil || peer != nil }

  package struct SecureConnectionsData: Sendable {
    package var confirm: UInt128
    package var random: SecretKey

    package init(confirm: UInt128, random: SecretKey) {
      self.confirm = confirm
      self.random = random
    }
  }

  package struct OwnData: Sendable {
    package var keyPair: P256KeyPair
    package var random: SecretKey

    package init(keyPair: P256KeyPair, random: SecretKey) {
      self.keyPair = keyPair
      self.random = random
    }

    /// A new pair and random value, and what to hand to the peer.
    package static func make(
      _ toolbox: SecurityToolbox, random source: inout RandomSource
    ) throws(CryptographyError) -> (own: Self, forPeer: SecureConnectionsData) {
      let pair = try toolbox.cryptography.keyPair(from: &source)
      let own = Self(keyPair: pair, random: SecretKey(source.uint128()))
      let confirm = try toolbox.f4(u: pair.publicKey.x, v: pair.publicKey.x, x: own.random.value, z: 0)
      return (own, SecureConnectionsData(confirm: confirm, random: own.random))
    }
  }
}
