import BLECrypto
import BLEWire

/// Phase 2 of LE Secure Connections (Vol 3, Part H, 2.3.5.6).
///
/// ```
///   initiator                    responder
///      Public Key ──────────────────►
///      ◄────────────────── Public Key
///   Just Works, comparison:            passkey entry, 20 rounds of one bit:     out of band:
///      ◄───────────── Pairing Confirm     Pairing Confirm ───────►                (confirm value checked at once)
///      Pairing Random ──────────────►     ◄─────── Pairing Confirm                Pairing Random ──►
///      ◄────────────── Pairing Random     Pairing Random ────────►                ◄── Pairing Random
///      (users compare)                    ◄──────── Pairing Random
///   all:
///      DHKey Check ─────────────────►
///      ◄───────────────── DHKey Check     initiator encrypts with the LTK
/// ```
struct SecureConnectionsPairing: Sendable {
  var agreement: Agreement
  var keyPair: P256KeyPair?
  var peerKey: P256PublicKey?
  var dhKey: UInt256?
  /// Nil until the user has entered it.
  var passkey: Passkey?
  /// The bit of the passkey in this round, 0 to 19; 0 with other models.
  var round = 0
  /// The random value of this device in this round.
  var random: UInt128?
  var ownConfirm: UInt128?
  var peerConfirm: UInt128?
  var keys: Keys?
  /// Whether the user has confirmed the number; true for a model without a number.
  var isApproved = true
  var hasSentCheck = false
  /// The peer's check value. It can arrive before the user has confirmed the number.
  var peerCheck: UInt128?

  /// The keys, and the random values that they are made from.
  struct Keys: Sendable {
    var macKey: UInt128
    var ltk: UInt128
    var initiatorRandom: UInt128
    var responderRandom: UInt128
  }

  static let passkeyBits = 20

  var step: PairingStep {
    if keys != nil { return isApproved ? .dhKeyCheck : .numericComparison }
    return peerKey == nil ? .publicKeys : .authentication(by: agreement.model)
  }

  var isPasskeyEntry: Bool { if case .passkeyEntry = agreement.model { true } else { false } }
  /// The last parameter of f4: 0, or 0x80 with the bit of this round.
  var z: UInt8 {
    guard isPasskeyEntry, let passkey else { return 0 }
    return 0x80 | UInt8(truncatingIfNeeded: passkey.value >> UInt32(round) & 1)
  }
}

extension PairingMachine {
  mutating func beginSecureConnections(
    _ agreement: Agreement, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    var pairing = SecureConnectionsPairing(agreement: agreement)
    if role == .initiator { try sendPublicKey(&pairing, now: now, into: &effects) }
    switch agreement.passkeyPart(of: role) {
    case .displays:
      let passkey = passkeyToDisplay()
      pairing.passkey = passkey
      ask(.display(passkey), into: &effects)
    case .enters: ask(.enterPasskey, into: &effects)
    case nil: break
    }
    phase = .secureConnections(pairing)
  }

  private mutating func sendPublicKey(
    _ pairing: inout SecureConnectionsPairing, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    let keyPair: P256KeyPair
    if pairing.agreement.model == .outOfBand, let own = settings.outOfBand.own {
      keyPair = own.keyPair
    } else {
      let (cryptography, privateKey) = (toolbox.cryptography, P256PrivateKey.random(from: &random))
      keyPair = try attempt { () throws(CryptographyError) in try cryptography.keyPair(privateKey: privateKey) }
    }
    pairing.keyPair = keyPair
    let (x, y) = (keyPair.publicKey.x.littleEndianOctets[...], keyPair.publicKey.y.littleEndianOctets[...])
    send(.pairingPublicKey(.init(x: x, y: y)), now: now, into: &effects)
  }

  mutating func receive(
    _ answer: PairingAnswer, _ pairing: inout SecureConnectionsPairing, now: Instant,
    into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    switch (pairing.agreement.model, answer) {
    case (.numericComparison, .accept):
      guard !pairing.isApproved else { return }
      pairing.isApproved = true
      try continueWithCheck(&pairing, now: now, into: &effects)
    case (.numericComparison, .reject): throw .numbersDiffer
    case (.passkeyEntry, .passkey(let passkey)):
      guard pairing.passkey == nil else { return }
      pairing.passkey = passkey
      let isDue = role == .initiator ? pairing.peerKey != nil : pairing.peerConfirm != nil
      if isDue { try commit(&pairing, now: now, into: &effects) }
      phase = .secureConnections(pairing)
    case (.passkeyEntry, .reject): throw .passkeyCancelled
    case (_, .reject): throw .cancelled
    // No other pair of a model and an answer: an answer of the wrong kind does not close the question.
    default: break
    }
  }

  mutating func receive(
    _ pdu: SMPPDU, _ pairing: inout SecureConnectionsPairing, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    switch pdu {
    case .pairingPublicKey(let packet):
      guard pairing.peerKey == nil else { throw .unexpected(pdu.code) }
      try receive(packet, &pairing, now: now, into: &effects)
    case .pairingConfirm(let packet):
      guard let value = UInt128(littleEndian: packet.value) else { throw .unexpected(pdu.code) }
      try receive(confirm: value, &pairing, now: now, into: &effects)
    case .pairingRandom(let packet):
      guard let value = UInt128(littleEndian: packet.value) else { throw .unexpected(pdu.code) }
      try receive(random: value, &pairing, now: now, into: &effects)
    case .pairingDHKeyCheck(let packet):
      guard pairing.keys != nil, pairing.peerCheck == nil, role == .responder || pairing.hasSentCheck,
        let value = UInt128(littleEndian: packet.value)
      else { throw .unexpected(pdu.code) }
      pairing.peerCheck = value
      return try continueWithCheck(&pairing, now: now, into: &effects)
    case .pairingKeypressNotification(let packet):
      return try receive(packet.notificationType, pairing.agreement, into: &effects)
    case .pairingRequest, .pairingResponse, .pairingFailed, .encryptionInformation, .centralIdentification,
      .identityInformation, .identityAddressInformation, .signingInformation, .securityRequest:
      throw .unexpected(pdu.code)
    }
  }

  private mutating func receive(
    _ packet: PairingPublicKey, _ pairing: inout SecureConnectionsPairing, now: Instant,
    into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard let peerKey = P256PublicKey(littleEndian: packet.x + packet.y) else { throw .publicKeyOutOfRange }
    // The key is checked before anything is sent.
    try check(peerKey, pairing.keyPair)
    if role == .responder { try sendPublicKey(&pairing, now: now, into: &effects) }
    guard let keyPair = pairing.keyPair else { throw .valueMissing }
    // The key pair of the out-of-band data existed before the exchange: the peer's key is also compared with it.
    try check(peerKey, keyPair)
    let cryptography = toolbox.cryptography
    pairing.dhKey = try attempt { () throws(CryptographyError) in
      try cryptography.sharedSecret(keyPair.privateKey, with: peerKey)
    }
    pairing.peerKey = peerKey
    switch pairing.agreement.model {
    case .justWorks, .numericComparison:
      if role == .responder { try commit(&pairing, now: now, into: &effects) }
    case .passkeyEntry:
      if role == .initiator, pairing.passkey != nil { try commit(&pairing, now: now, into: &effects) }
    case .outOfBand:
      try checkOutOfBand(pairing, peerKey)
      if role == .initiator {
        let value = random.uint128()
        pairing.random = value
        send(.pairingRandom(.init(value: value.littleEndianOctets[...])), now: now, into: &effects)
      }
    }
    phase = .secureConnections(pairing)
  }

  /// Rejects a public key that is not on the curve, that is this device's own, or that is the debug key, whose private
  /// key is public (Vol 3, Part H, 2.3.5.6.1).
  private func check(_ key: P256PublicKey, _ own: P256KeyPair?) throws(PairingFault) {
    let cryptography = toolbox.cryptography
    // The result is not used. The call throws if a key is not on the curve.
    _ = try attempt { () throws(CryptographyError) in try cryptography.sharedSecret(.debug, with: key) }
    if let own, own.publicKey.x == key.x { throw .publicKeyReflected }
    guard !settings.acceptsDebugKey else { return }
    let debug = try attempt { () throws(CryptographyError) in try cryptography.publicKey(of: .debug) }
    if key.x == debug.x { throw .publicKeyOfDebugMode }
  }

  private func checkOutOfBand(
    _ pairing: SecureConnectionsPairing, _ peerKey: P256PublicKey
  ) throws(PairingFault) {
    let ours = role == .initiator ? pairing.agreement.request : pairing.agreement.response
    guard ours.oobDataFlag == .present else { return }
    guard let data = settings.outOfBand.peer else { throw .outOfBandDataMissing }
    let toolbox = toolbox
    let expected = try attempt { () throws(CryptographyError) in
      try toolbox.f4(u: peerKey.x, v: peerKey.x, x: data.random.value, z: 0)
    }
    guard toolbox.cryptography.areEqual(expected, data.confirm) else { throw .outOfBandDataDiffer }
  }

  /// Makes the random value of this round and sends its confirm value. Without a passkey it has no effect.
  private mutating func commit(
    _ pairing: inout SecureConnectionsPairing, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard let own = pairing.keyPair, let peerKey = pairing.peerKey else { throw .valueMissing }
    if pairing.isPasskeyEntry, pairing.passkey == nil { return }
    let (toolbox, value, z) = (toolbox, random.uint128(), pairing.z)
    let confirm = try attempt { () throws(CryptographyError) in
      try toolbox.f4(u: own.publicKey.x, v: peerKey.x, x: value, z: z)
    }
    (pairing.random, pairing.ownConfirm) = (value, confirm)
    send(.pairingConfirm(.init(value: confirm.littleEndianOctets[...])), now: now, into: &effects)
  }

  private mutating func receive(
    confirm value: UInt128, _ pairing: inout SecureConnectionsPairing, now: Instant,
    into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    let isExpected =
      switch pairing.agreement.model {
      case .justWorks, .numericComparison: role == .initiator
      case .passkeyEntry: role == .responder || pairing.ownConfirm != nil
      case .outOfBand: false
      }
    guard isExpected, pairing.peerKey != nil, pairing.peerConfirm == nil, pairing.keys == nil else {
      throw .unexpected(.pairingConfirm)
    }
    guard value != pairing.ownConfirm else { throw .confirmValueReflected }
    pairing.peerConfirm = value
    switch role {
    case .responder: try commit(&pairing, now: now, into: &effects)
    case .initiator:
      let own = pairing.random ?? random.uint128()
      pairing.random = own
      send(.pairingRandom(.init(value: own.littleEndianOctets[...])), now: now, into: &effects)
    }
    phase = .secureConnections(pairing)
  }

  private mutating func receive(
    random value: UInt128, _ pairing: inout SecureConnectionsPairing, now: Instant,
    into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard let ownKey = pairing.keyPair, let peerKey = pairing.peerKey, pairing.keys == nil else {
      throw .unexpected(.pairingRandom)
    }
    if pairing.agreement.model == .outOfBand {
      if role == .responder { pairing.random = random.uint128() }
    } else if role == .initiator || pairing.isPasskeyEntry {
      guard let committed = pairing.peerConfirm, pairing.random != nil else {
        throw .unexpected(.pairingRandom)
      }
      let (toolbox, z) = (toolbox, pairing.z)
      let expected = try attempt { () throws(CryptographyError) in
        try toolbox.f4(u: peerKey.x, v: ownKey.publicKey.x, x: value, z: z)
      }
      guard toolbox.cryptography.areEqual(expected, committed) else { throw .mismatch(pairing.agreement.model) }
    }
    guard let own = pairing.random else { throw .unexpected(.pairingRandom) }
    if role == .responder {
      send(.pairingRandom(.init(value: own.littleEndianOctets[...])), now: now, into: &effects)
    }
    if pairing.isPasskeyEntry, pairing.round < SecureConnectionsPairing.passkeyBits - 1 {
      pairing.round += 1
      (pairing.random, pairing.ownConfirm, pairing.peerConfirm) = (nil, nil, nil)
      if role == .initiator { try commit(&pairing, now: now, into: &effects) }
      phase = .secureConnections(pairing)
    } else {
      try makeKeys(&pairing, own: own, peer: value, now: now, into: &effects)
    }
  }
}
