import BLECrypto
import BLEWire

/// Phase 2 of LE legacy pairing (Vol 3, Part H, 2.3.5.5).
///
/// ```
///   initiator              responder
///      Pairing Confirm ──────►
///      ◄────── Pairing Confirm
///      Pairing Random ───────►  checks the initiator's confirm value
///      ◄─────── Pairing Random  checks the responder's, then encrypts with the STK
/// ```
struct LegacyPairing: Sendable {
  var agreement: Agreement
  /// Nil until the user has entered the passkey.
  var temporaryKey: UInt128?
  /// The random value of this device, once its confirm value has been sent.
  var random: UInt128?
  var ownConfirm: UInt128?
  /// The peer's confirm value. It can arrive before the user has entered the passkey.
  var peerConfirm: UInt128?
}

extension PairingMachine {
  mutating func beginLegacy(
    _ agreement: Agreement, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    var pairing = LegacyPairing(agreement: agreement)
    switch agreement.model {
    // Numeric comparison exists in Secure Connections only.
    case .justWorks, .numericComparison: pairing.temporaryKey = 0
    case .outOfBand: pairing.temporaryKey = settings.outOfBand.temporaryKey?.value
    case .passkeyEntry:
      if agreement.passkeyPart(of: role) == .displays {
        let passkey = passkeyToDisplay()
        pairing.temporaryKey = UInt128(passkey.value)
        ask(.display(passkey), into: &effects)
      } else {
        ask(.enterPasskey, into: &effects)
      }
    }
    if role == .initiator { try commit(&pairing, now: now, into: &effects) }
    phase = .legacy(pairing)
  }

  mutating func receive(
    _ answer: PairingAnswer, _ pairing: inout LegacyPairing, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    switch answer {
    case .reject: throw .passkeyCancelled
    case .accept: return
    case .passkey(let passkey):
      guard pairing.temporaryKey == nil else { return }
      pairing.temporaryKey = UInt128(passkey.value)
    }
    if role == .initiator || pairing.peerConfirm != nil { try commit(&pairing, now: now, into: &effects) }
    phase = .legacy(pairing)
  }

  /// Makes a random value and sends its confirm value. Without a TK it has no effect.
  private mutating func commit(
    _ pairing: inout LegacyPairing, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard let key = pairing.temporaryKey else { return }
    let value = random.uint128()
    let confirm = try confirm(of: value, key, pairing.agreement)
    (pairing.random, pairing.ownConfirm) = (value, confirm)
    send(.pairingConfirm(.init(value: confirm.littleEndianOctets[...])), now: now, into: &effects)
  }

  private func confirm(
    of random: UInt128, _ key: UInt128, _ agreement: Agreement
  ) throws(PairingFault) -> UInt128 {
    let toolbox = toolbox
    return try attempt { () throws(CryptographyError) in
      try toolbox.c1(
        k: key, r: random, preq: agreement.preq, pres: agreement.pres, ia: agreement.initiator,
        ra: agreement.responder)
    }
  }

  mutating func receive(
    _ pdu: SMPPDU, _ pairing: inout LegacyPairing, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    switch pdu {
    case .pairingConfirm(let packet):
      guard pairing.peerConfirm == nil, let value = UInt128(littleEndian: packet.value) else {
        throw .unexpected(pdu.code)
      }
      // A copy of this device's own confirm value would match, whatever the TK (Vol 3, Part H, 2.3.5.5).
      guard value != pairing.ownConfirm else { throw .confirmValueReflected }
      pairing.peerConfirm = value
      if role == .initiator {
        guard let own = pairing.random else { throw .unexpected(pdu.code) }
        send(.pairingRandom(.init(value: own.littleEndianOctets[...])), now: now, into: &effects)
      } else {
        try commit(&pairing, now: now, into: &effects)
      }
      phase = .legacy(pairing)
    case .pairingRandom(let packet):
      guard let key = pairing.temporaryKey, let own = pairing.random, let committed = pairing.peerConfirm,
        let value = UInt128(littleEndian: packet.value)
      else { throw .unexpected(pdu.code) }
      let expected = try confirm(of: value, key, pairing.agreement)
      guard toolbox.cryptography.areEqual(expected, committed) else { throw .mismatch(pairing.agreement.model) }
      let (initiators, responders) = role == .initiator ? (own, value) : (value, own)
      let toolbox = toolbox
      let stk = try attempt { () throws(CryptographyError) in
        try toolbox.s1(k: key, r1: responders, r2: initiators)
      }
      if role == .responder {
        send(.pairingRandom(.init(value: own.littleEndianOctets[...])), now: now, into: &effects)
      }
      startEncryption(pairing.agreement, key: stk, now: now, into: &effects)
    case .pairingKeypressNotification(let packet):
      try receive(packet.notificationType, pairing.agreement, into: &effects)
    case .pairingRequest, .pairingResponse, .pairingFailed, .encryptionInformation, .centralIdentification,
      .identityInformation, .identityAddressInformation, .signingInformation, .securityRequest, .pairingPublicKey,
      .pairingDHKeyCheck:
      throw .unexpected(pdu.code)
    }
  }

  /// Receives a keypress notification. It is allowed during passkey entry if both devices have the Keypress bit (Vol 3,
  /// Part H, 3.5.8). Reserved types are ignored.
  func receive(
    _ keypress: KeypressNotificationType, _ agreement: Agreement, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard case .passkeyEntry = agreement.model, agreement.request.authReq.contains(.keypress),
      agreement.response.authReq.contains(.keypress)
    else { throw .unexpected(.pairingKeypressNotification) }
    if keypress.rawValue <= KeypressNotificationType.passkeyEntryCompleted.rawValue {
      effects.append(.keypress(keypress))
    }
  }
}
