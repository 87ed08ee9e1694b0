import BLECrypto
import BLEWire

/// The end of phase 2 of LE Secure Connections: the keys, the numeric comparison, and the DHKey checks (Vol 3, Part H,
/// 2.3.5.6.2 to 2.3.5.6.5).
extension PairingMachine {
  mutating func makeKeys(
    _ pairing: inout SecureConnectionsPairing, own: UInt128, peer: UInt128, now: Instant,
    into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard let dhKey = pairing.dhKey, let ownKey = pairing.keyPair?.publicKey, let peerKey = pairing.peerKey else {
      throw .valueMissing
    }
    let (toolbox, agreement) = (toolbox, pairing.agreement)
    let (initiators, responders) = role == .initiator ? (own, peer) : (peer, own)
    let (macKey, ltk) = try attempt { () throws(CryptographyError) in
      try toolbox.f5(w: dhKey, n1: initiators, n2: responders, a1: agreement.initiator, a2: agreement.responder)
    }
    pairing.keys = SecureConnectionsPairing.Keys(
      macKey: macKey, ltk: ltk, initiatorRandom: initiators, responderRandom: responders)
    if agreement.model == .numericComparison {
      let (u, v) = role == .initiator ? (ownKey.x, peerKey.x) : (peerKey.x, ownKey.x)
      let number = try attempt { () throws(CryptographyError) in
        try toolbox.g2(u: u, v: v, x: initiators, y: responders)
      }
      pairing.isApproved = false
      phase = .secureConnections(pairing)
      return ask(.compare(Passkey(lowestDigitsOf: number)), into: &effects)
    }
    try continueWithCheck(&pairing, now: now, into: &effects)
  }

  /// Sends the check value of this device and verifies the peer's value. The initiator sends first.
  mutating func continueWithCheck(
    _ pairing: inout SecureConnectionsPairing, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard let keys = pairing.keys, pairing.isApproved else { return phase = .secureConnections(pairing) }
    if role == .responder {
      guard let check = pairing.peerCheck else { return phase = .secureConnections(pairing) }
      try verify(check, pairing, keys)
    }
    if !pairing.hasSentCheck {
      pairing.hasSentCheck = true
      let value = try check(of: role, pairing, keys)
      send(.pairingDHKeyCheck(.init(value: value.littleEndianOctets[...])), now: now, into: &effects)
    }
    if role == .initiator {
      guard let check = pairing.peerCheck else { return phase = .secureConnections(pairing) }
      try verify(check, pairing, keys)
    }
    startEncryption(pairing.agreement, key: keys.ltk, now: now, into: &effects)
  }

  // Mutating, as the next two, to be called in place: otherwise the machine is copied to the stack.
  @inline(never)
  private mutating func verify(
    _ value: UInt128, _ pairing: SecureConnectionsPairing, _ keys: SecureConnectionsPairing.Keys
  ) throws(PairingFault) {
    let expected = try check(of: role == .initiator ? .responder : .initiator, pairing, keys)
    guard toolbox.cryptography.areEqual(expected, value) else { throw .dhKeyCheckDiffers }
  }

  /// The check value of the initiator (Ea) or of the responder (Eb) (Vol 3, Part H, 2.3.5.6.5).
  @inline(never)
  private mutating func check(
    of sender: Role, _ pairing: SecureConnectionsPairing, _ keys: SecureConnectionsPairing.Keys
  ) throws(PairingFault) -> UInt128 {
    let (toolbox, agreement, secret) = (toolbox, pairing.agreement, checkSecret(of: sender, pairing))
    let isInitiator = sender == .initiator
    let features = isInitiator ? agreement.request : agreement.response
    let ioCap = [features.authReq.rawValue, features.oobDataFlag.rawValue, features.ioCapability.rawValue]
    let (n1, n2) =
      isInitiator
      ? (keys.initiatorRandom, keys.responderRandom) : (keys.responderRandom, keys.initiatorRandom)
    let (a1, a2) =
      isInitiator ? (agreement.initiator, agreement.responder) : (agreement.responder, agreement.initiator)
    return try attempt { () throws(CryptographyError) in
      try toolbox.f6(w: keys.macKey, n1: n1, n2: n2, r: secret, ioCap: ioCap, a1: a1, a2: a2)
    }
  }

  /// The argument r of f6 in the check value of `sender`: the passkey, or the out-of-band random value of the other
  /// device; zero if there is none.
  private mutating func checkSecret(of sender: Role, _ pairing: SecureConnectionsPairing) -> UInt128 {
    switch pairing.agreement.model {
    case .justWorks, .numericComparison: return 0
    case .passkeyEntry: return UInt128(pairing.passkey?.value ?? 0)
    case .outOfBand:
      let features = sender == .initiator ? pairing.agreement.request : pairing.agreement.response
      guard features.oobDataFlag == .present else { return 0 }
      let data = settings.outOfBand
      return (sender == role ? data.peer?.random : data.own?.random)?.value ?? 0
    }
  }
}
