public import BLECrypto
public import BLEWire

/// The settings of a pairing: the device's input and output, its requirements, and the keys that it distributes (Vol 3,
/// Part H, 2.3).
public struct PairingSettings: Sendable {
  /// The input and output of the device.
  public var ioCapability = IOCapability.noInputNoOutput
  /// Whether the device stores keys. A pairing without bonding distributes none.
  public var isBonding = true
  /// Whether the device requests an authenticated association model if the input and output of the devices permit one.
  public var requestsMITM = false
  /// Whether the device rejects a pairing without an authenticated association model.
  public var requiresMITM = false
  /// Whether LE Secure Connections is allowed.
  public var allowsSecureConnections = true
  /// Whether LE legacy pairing is allowed.
  public var allowsLegacy = true
  /// Whether the device supports keypress notifications.
  public var keypress = false
  /// Whether the device supports the function h7 for keys of BR/EDR.
  public var ct2 = false
  /// The longest encryption key that the device offers, in octets, 7 to 16.
  public var maximumKeySize: UInt8 = 16
  /// The shortest encryption key that the device accepts, in octets, 7 to 16.
  public var minimumKeySize: UInt8 = 7
  /// The shortest encryption key of LE Secure Connections that the device accepts, in octets, 7 to 16.
  public var minimumSecureConnectionsKeySize: UInt8 = 16
  /// The keys that the initiator distributes. The responder's settings limit them.
  public var initiatorKeys: KeyDistribution = [.encKey, .idKey, .signKey]
  /// The keys that the responder distributes. The responder's settings limit them.
  public var responderKeys: KeyDistribution = [.encKey, .idKey, .signKey]
  /// A passkey that is always shown. Nil: each pairing has a new one, as the specification requires (Vol 3, Part H,
  /// 2.3.5.3).
  public var fixedPasskey: Passkey?
  /// Whether the application must accept a Just Works pairing, in both roles: ``PairingQuestion/consent``. A pairing
  /// that the application has started needs no further consent.
  public var asksConsent = false
  /// Whether the device accepts the debug key, whose private key is public, so that a protocol analyzer can decrypt the
  /// link (Vol 3, Part H, 2.3.5.6.1).
  public var acceptsDebugKey = false
  /// Whether a client pairs or encrypts after an ATT error for missing security, and repeats the request.
  package var pairsOnDemand = false
  /// Whether a client's operations wait for a new pairing on a link that could not be encrypted with the key of its
  /// bond. Otherwise they fail.
  package var queuesOperationsAfterBondLoss = false
  /// The IRK of this device, with which peers resolve its private addresses. Nil: a peer that requests the IRK gets
  /// zeros.
  public var identityResolvingKey: SecretKey?
  /// Whether the IRK and the identity address are distributed in authenticated pairings only.
  public var withholdsIdentity = false
  /// The identity address of this device.
  public var identityAddress = DeviceAddress(octets: BD_ADDR(), kind: .public)
  /// The out-of-band data.
  public var outOfBand = OutOfBandData()
  /// The bonds that the pairing may make and replace.
  public var bondRules = BondRules()
  /// The number of unconfirmed bonds that the host may make in a period.
  package var unconfirmedBonds = UnconfirmedBondLimit()
  /// The time in which the peer must send the next PDU (Vol 3, Part H, 3.4).
  public var timeout = SMP.timeout

  /// The default settings: Just Works with bonding, without a question to the application.
  public init() {}

  /// Secure Connections Only mode: no legacy pairing, authentication, and keys of 16 octets (Vol 3, Part C, 10.2.4).
  public var isSecureConnectionsOnly: Bool {
    get { allowsSecureConnections && !allowsLegacy && requiresMITM }
    set {
      allowsLegacy = !newValue
      requiresMITM = newValue
      if newValue { (allowsSecureConnections, requestsMITM, minimumKeySize) = (true, true, 16) }
    }
  }

  var authReq: AuthenticationRequirements {
    var authReq: AuthenticationRequirements = []
    if isBonding { authReq.insert(.bonding) }
    if requestsMITM || requiresMITM { authReq.insert(.mitm) }
    if allowsSecureConnections { authReq.insert(.secureConnections) }
    if keypress { authReq.insert(.keypress) }
    if ct2 { authReq.insert(.ct2) }
    return authReq
  }
}

/// The data that two devices exchanged over another channel, such as NFC (Vol 3, Part H, 2.3.5.4).
public struct OutOfBandData: Sendable {
  /// The temporary key (TK) of legacy pairing, which both devices have.
  public var temporaryKey: SecretKey?
  /// The peer's data for LE Secure Connections.
  public var peer: SecureConnectionsData?
  /// This device's data for LE Secure Connections.
  public var own: OwnData?

  /// No data.
  public init() {}

  /// Whether there is data from the peer.
  var isPresent: Bool { temporaryKey != nil || peer != nil }

  /// The data of LE Secure Connections that a device gives to its peer.
  public struct SecureConnectionsData: Sendable {
    /// The confirm value: ``SecurityToolbox/f4(u:v:x:z:)`` of the public key and the random value.
    public var confirm: UInt128
    /// The random value.
    public var random: SecretKey

    /// Data with these values.
    public init(confirm: UInt128, random: SecretKey) {
      self.confirm = confirm
      self.random = random
    }
  }

  /// The data of LE Secure Connections that a device gave to its peer.
  public struct OwnData: Sendable {
    /// The key pair that the confirm value was made from. The pairing uses it.
    public var keyPair: P256KeyPair
    /// The random value.
    public var random: SecretKey

    /// Data with these values.
    public init(keyPair: P256KeyPair, random: SecretKey) {
      self.keyPair = keyPair
      self.random = random
    }

    /// Makes a new key pair and random value, and the data for the peer.
    public static func make(
      _ toolbox: SecurityToolbox, random source: inout RandomSource
    ) throws(CryptographyError) -> (own: Self, forPeer: SecureConnectionsData) {
      let pair = try toolbox.cryptography.keyPair(from: &source)
      let own = Self(keyPair: pair, random: SecretKey(source.uint128()))
      let confirm = try toolbox.f4(u: pair.publicKey.x, v: pair.publicKey.x, x: own.random.value, z: 0)
      return (own, SecureConnectionsData(confirm: confirm, random: own.random))
    }
  }
}
