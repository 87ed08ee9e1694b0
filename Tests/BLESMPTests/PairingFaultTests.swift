import BLESMP
import BLEWire
import Testing

/// The step and the fault of a pairing that fails, which the reason in Pairing Failed does not tell apart.
@Suite("The cause of a failed pairing") struct PairingFaultTests {
  /// Changes the last octet of a PDU of one side.
  private static func altering(
    _ code: UInt8, of side: PairingPair.Side
  ) -> (PairingPair.Side, [UInt8], Int) -> [[UInt8]] {
    { from, octets, _ in
      from == side && octets[0] == code ? [octets.dropLast() + [octets[octets.count - 1] ^ 0x80]] : [octets]
    }
  }

  @Test(arguments: [true, false]) func aWrongPasskeyIsNotAWrongConfirmValue(secure: Bool) {
    var pair = PairingPair(.with(.keyboardOnly, secure: secure), .with(.displayOnly, secure: secure))
    pair.answer = { _, question, pair in
      question == .enterPasskey ? .passkey(Passkey(lowestDigitsOf: (pair.displayed?.value ?? 0) ^ 1)) : nil
    }
    pair.pair()
    #expect(pair.causes[.responder] == PairingFailure(.passkeysDiffer, at: .passkeyEntry))
    #expect(pair.causes[.initiator] == PairingFailure(.confirmValueFailed, .peer, at: .passkeyEntry))

    pair = PairingPair(.with(secure: secure), .with(secure: secure))
    pair.tamper = Self.altering(0x03, of: .responder)
    pair.pair()
    #expect(pair.causes[.initiator] == PairingFailure(.confirmValueDiffers, at: .confirmValues))
    #expect(pair.failures[.initiator]?.reason == .confirmValueFailed)
  }

  @Test func aWrongCheckValueIsNotAWrongKey() {
    var pair = PairingPair(.with(), .with())
    pair.tamper = Self.altering(0x0D, of: .initiator)
    pair.pair()
    #expect(pair.causes[.responder] == PairingFailure(.dhKeyCheckDiffers, at: .dhKeyCheck))
    #expect(pair.causes[.initiator] == PairingFailure(.dhKeyCheckFailed, .peer, at: .dhKeyCheck))

    pair = PairingPair(.with(), .with())
    pair.tamper = Self.altering(0x0C, of: .initiator)
    pair.pair()
    let fault = pair.causes[.responder]?.fault
    #expect(fault == .publicKeyNotOnCurve || fault == .publicKeyOutOfRange)
    #expect(pair.causes[.responder]?.step == .publicKeys)
  }

  @Test func theUsersDecisionsDiffer() {
    var pair = PairingPair(.with(.displayYesNo), .with(.displayYesNo))
    pair.answer = { side, _, _ in side == .initiator ? .reject : .accept }
    pair.pair()
    #expect(pair.causes[.initiator] == PairingFailure(.numbersDiffer, at: .numericComparison))
    pair = PairingPair(.with(.keyboardOnly), .with(.displayOnly))
    pair.answer = { side, _, _ in side == .initiator ? .reject : nil }
    pair.pair()
    #expect(pair.causes[.initiator]?.fault == .passkeyCancelled)
    pair = PairingPair(.with(), .with { $0.asksConsent = true })
    pair.answer = { _, _, _ in .reject }
    pair.pair()
    #expect(pair.causes[.responder] == PairingFailure(.consentRefused, at: .consent))
  }

  /// Invalid Parameters and Authentication Requirements have several causes before the first key.
  @Test func theRequirementsOfTheFeaturesDiffer() {
    func fault(_ octets: [UInt8], _ settings: PairingSettings = .with()) -> PairingFault? {
      var pair = PairingPair(.with(), settings)
      pair.inject(octets, to: .responder)
      #expect(pair.causes[.responder]?.step == .features)
      return pair.causes[.responder]?.fault
    }
    #expect(fault([1, 5, 0, 0x09, 16, 1, 1]) == .reservedFeature)
    #expect(fault([1, 3, 0, 0x01, 6, 1, 1]) == .keyTooShort)
    #expect(fault([1, 3, 1, 0x09, 16, 1, 1]) == .outOfBandDataMissing)
    #expect(fault([1, 3, 0, 0x01, 16, 1, 1], .with { $0.allowsLegacy = false }) == .legacyNotAllowed)
    #expect(fault([1, 3, 0, 0x09, 16, 1, 1], .with { $0.requiresMITM = true }) == .notAuthenticated)
    var pair = PairingPair(.with(), .with())
    pair.tamper = { from, octets, _ in from == .responder && octets[0] == 2 ? [octets.dropLast()] : [octets] }
    pair.pair()
    #expect(pair.causes[.initiator] == PairingFailure(.malformed, at: .features))
  }

  @Test func anUnexpectedPDUIsNamed() {
    var pair = PairingPair(.with(), .with())
    pair.tamper = { from, octets, _ in
      from == .initiator && octets[0] == 0x0C ? [[0x04] + [UInt8](repeating: 1, count: 16)] : [octets]
    }
    pair.pair()
    #expect(pair.causes[.responder] == PairingFailure(.unexpected(.pairingRandom), at: .publicKeys))
    #expect(
      pair.causes[.responder].map { "\($0)" }
        == "rejected by this device in the step public key exchange: Unspecified Reason (0x08), unexpected Pairing Random (0x04)"
    )
  }

  @Test func theTextHasStepReasonFaultAndRemedy() {
    #expect(
      "\(PairingFailure(.passkeysDiffer, at: .passkeyEntry))"
        == "rejected by this device in the step passkey entry: Confirm Value Failed (0x04), the passkeys differ. Pair again with the digits that are shown"
    )
    #expect(
      "\(PairingFailure(.confirmValueFailed, .peer, at: .confirmValues))"
        == "rejected by the peer in the step confirm values: Confirm Value Failed (0x04). Pair again")
    #expect(
      "\(PairingFailure(.unspecifiedReason, .timeout, at: .dhKeyCheck))"
        == "no PDU from the peer within 30 seconds in the step DHKey check. Connect again, then pair")
    #expect("\(PairingFailure(.busy, .peer))" == "rejected by the peer: Busy (0x10). Pair again later")
  }
}
