import BLECrypto
import BLESMP
import BLEWire
import Testing

/// Pairings that fail by a fault or an attack. The next pairing succeeds.
@Suite("Invalid PDUs in a pairing") struct PairingRefusalTests {
  /// Pairing Requests, the reason of the failure, and the invalid field.
  static let badRequests: [([UInt8], PairingFailedReason, String)] = [
    ([1, 5, 0, 0x09, 16, 1, 1], .invalidParameters, "IO capability 5 is reserved"),
    ([1, 0xFF, 0, 0x09, 16, 1, 1], .invalidParameters, "IO capability 0xFF is reserved"),
    ([1, 3, 2, 0x09, 16, 1, 1], .invalidParameters, "OOB data flag 2 is reserved"),
    ([1, 3, 0, 0x09, 17, 1, 1], .invalidParameters, "key size 17"),
    ([1, 3, 0, 0x09, 255, 1, 1], .invalidParameters, "key size 255"),
    ([1, 3, 0, 0x01, 6, 1, 1], .encryptionKeySize, "key size 6"),
    ([1, 3, 0, 0x01, 0, 1, 1], .encryptionKeySize, "key size 0"),
    ([1, 3, 0, 0x09, 15, 1, 1], .encryptionKeySize, "key size 15 for Secure Connections"),
    ([1, 3, 1, 0x09, 16, 1, 1], .oobNotAvailable, "out-of-band data of ours, which we never gave"),
    ([1, 3, 0, 0x09, 16, 1], .invalidParameters, "truncated"),
    ([1], .invalidParameters, "truncated to the code"),
    ([1, 3, 0, 0x09, 16, 1, 1, 0], .invalidParameters, "over-long"),
    ([1] + [UInt8](repeating: 3, count: 200), .invalidParameters, "very long"),
  ]

  @Test(arguments: badRequests) func rejectsInvalidRequests(octets: [UInt8], reason: PairingFailedReason, why: String) {
    var pair = PairingPair(.with(), .with())
    pair.inject(octets, to: .responder)
    #expect(pair.air.map(\.octets) == [[0x05, reason.rawValue]], Comment(rawValue: why))
    pair.forget()
    pair.pair()
    pair.expectPaired()
  }

  static let badResponses: [([UInt8], PairingFailedReason)] = [
    ([2, 5, 0, 0x09, 16, 1, 1], .invalidParameters),
    ([2, 3, 9, 0x09, 16, 1, 1], .invalidParameters),
    ([2, 3, 0, 0x09, 17, 1, 1], .invalidParameters),
    ([2, 3, 0, 0x09, 6, 1, 1], .encryptionKeySize),
    ([2, 3, 0, 0x09, 16, 8, 1], .invalidParameters),
    ([2, 3, 0, 0x09, 16, 1, 8], .invalidParameters),
    ([2, 3, 0, 0x09, 16], .invalidParameters),
    ([3] + [UInt8](repeating: 0, count: 16), .unspecifiedReason),
    ([1, 3, 0, 0x09, 16, 1, 1], .commandNotSupported),
  ]

  @Test(arguments: badResponses) func rejectsInvalidResponses(octets: [UInt8], reason: PairingFailedReason) {
    var pair = PairingPair(.with(), .with())
    pair.tamper = { side, original, _ in side == .responder && original[0] == 2 ? [octets] : [original] }
    pair.pair()
    #expect(pair.failures[.initiator] == PairingFailure(reason, .local))
    #expect(pair.failures[.responder] == PairingFailure(reason, .peer))
    pair.forget()
    pair.tamper = { _, octets, _ in [octets] }
    pair.pair()
    pair.expectPaired()
  }

  /// Only a peripheral sends a Security Request (Vol 3, Part H, 2.4.6).
  @Test(arguments: [true, false]) func thePeripheralRejectsASecurityRequest(secure: Bool) {
    var pair = PairingPair(.with(secure: secure), .with())
    pair.tamper = { side, octets, number in side == .initiator && number == 3 ? [[0x0B, 1]] : [octets] }
    pair.pair()
    #expect(pair.failures[.responder] == PairingFailure(.commandNotSupported, .local))
    #expect(pair.failures[.initiator] == PairingFailure(.commandNotSupported, .peer))
  }

  /// Each PDU at each point of a pairing where it is out of order, on both devices: the pairing fails, and the next one
  /// succeeds.
  @Test(arguments: 1...14, [true, false]) func failsAfterAPDUOutOfOrder(code: Int, secure: Bool) throws {
    let lengths = [0, 7, 7, 17, 17, 2, 17, 11, 17, 8, 17, 2, 65, 17, 2]
    let stray = [UInt8(code)] + [UInt8](repeating: 2, count: lengths[code] - 1)
    let good = PairingPair(.with(.displayOnly, secure: secure), .with(.keyboardOnly))
    var count = good
    count.pair()
    // The middle rounds of passkey entry are equal.
    for position in 1...count.air.count where position < 12 || position > count.air.count - 14 {
      var pair = good
      pair.tamper = { _, octets, number in number == position ? [stray, octets] : [octets] }
      pair.pair()
      // A Security Request to the initiator is ignored, and so is Pairing Failed between pairings; a key that is due is
      // in order.
      let isHarmless =
        code == 0x0B || (code == 0x05 && position == 1) || Int(count.air[position - 1].octets[0]) == code
      #expect(pair.outcomes.count < 2 || isHarmless, "code \(code) before PDU \(position)")
      guard position % 5 == 1 else { continue }
      pair.forget()
      pair.tamper = { _, octets, _ in [octets] }
      pair.pair()
      pair.expectPaired()
    }
  }

  /// Each PDU of a pairing one octet short and one octet long: Invalid Parameters.
  @Test(arguments: [true, false]) func failsAfterAPDUOfAnotherLength(secure: Bool) {
    let good = PairingPair(.with(.displayOnly, secure: secure), .with(.keyboardOnly))
    var count = good
    count.pair()
    for position in 2...count.air.count where position < 12 || position > count.air.count - 14 {
      for change in [-1, 1] {
        var pair = good
        pair.tamper = { _, octets, number in
          number == position ? [change < 0 ? octets.dropLast() : octets + [0]] : [octets]
        }
        pair.pair()
        let side: PairingPair.Side = count.air[position - 1].from == .initiator ? .responder : .initiator
        #expect(pair.failures[side] == PairingFailure(.invalidParameters, .local))
        guard position % 5 == 1 else { continue }
        pair.forget()
        pair.tamper = { _, octets, _ in [octets] }
        pair.pair()
        pair.expectPaired()
      }
    }
  }

  /// The identity address is public or static random (3.6.5), and not that of the receiver.
  static let badIdentities: [([UInt8], PairingFailedReason, String)] = [
    ([1, 1, 2, 3, 4, 5, 0x06], .invalidParameters, "non-resolvable private"),
    ([1, 1, 2, 3, 4, 5, 0x46], .invalidParameters, "resolvable private"),
    ([1, 1, 2, 3, 4, 5, 0x86], .invalidParameters, "reserved"),
    ([1, 0, 0, 0, 0, 0, 0xC0], .invalidParameters, "static, the random part zero"),
    ([1] + [UInt8](repeating: 0xFF, count: 6), .invalidParameters, "static, the random part all ones"),
    ([2, 1, 2, 3, 4, 5, 6], .invalidParameters, "address type 2"),
  ]

  @Test(arguments: badIdentities, PairingPair.Side.allCases)
  func rejectsInvalidIdentities(_ bad: ([UInt8], PairingFailedReason, String), at side: PairingPair.Side) {
    var pair = PairingPair(.with(), .with())
    pair.tamper = { from, octets, _ in [from != side && octets[0] == 9 ? [9] + bad.0 : octets] }
    pair.pair()
    #expect(pair.failures[side] == PairingFailure(bad.1, .local), Comment(rawValue: bad.2))
    #expect(pair.air.first { $0.octets[0] == 5 }?.octets == [5, bad.1.rawValue])
  }

  @Test(arguments: PairingPair.Side.allCases) func rejectsItsOwnIdentity(at side: PairingPair.Side) {
    let identity = DeviceAddress(octets: BD_ADDR(0x00A0_50AA_BBCC), kind: .public)
    let inUse = side == .initiator ? PairingPair.initiatorAddress : PairingPair.responderAddress
    for address in [identity, inUse] {
      var pair = PairingPair(
        .with { if side == .initiator { $0.identityAddress = identity } },
        .with { if side == .responder { $0.identityAddress = identity } })
      pair.tamper = { from, octets, _ in
        [from != side && octets[0] == 9 ? [9, address.kind.rawValue] + address.octets.littleEndian : octets]
      }
      pair.pair()
      #expect(pair.failures[side] == PairingFailure(.keyRejected, .local))
    }
  }

  /// A device without an identity sends zeros; its identity is the address in the connection.
  @Test func takesTheConnectionsAddressForAnIdentityOfZero() {
    var pair = PairingPair(.with(), .with())
    pair.tamper = { _, octets, _ in [octets[0] == 9 ? [9] + [UInt8](repeating: 0, count: 7) : octets] }
    pair.pair()
    pair.expectPaired()
    #expect(pair.outcomes.values.allSatisfy { $0.peerIdentity == nil })
  }

  @Test func ignoresReservedCodes() {
    var pair = PairingPair(.with(), .with())
    pair.tamper = { _, octets, _ in [[0x0F, 1, 2], [0x00], [0xFF] + octets, octets] }
    pair.pair()
    pair.expectPaired()
  }

  enum Forgery: CaseIterable { case offCurve, zero, xOnly, reflected, negated, debug }

  /// CVE-2018-5383 and similar: a public key that is not on the curve.
  @Test(arguments: Forgery.allCases, PairingPair.Side.allCases) func rejectsForgedPublicKeys(
    _ forgery: Forgery, at side: PairingPair.Side
  ) throws {
    let debug = try LibCrypto().publicKey(of: .debug)
    var pair = PairingPair(.with(), .with())
    pair.tamper = { from, octets, _ in
      guard octets[0] == 0x0C, from != side else { return [octets] }
      switch forgery {
      case .offCurve: return [octets.dropLast() + [octets[64] ^ 1]]
      case .zero: return [[0x0C] + [UInt8](repeating: 0, count: 64)]
      case .xOnly: return [octets.prefix(33) + [UInt8](repeating: 0, count: 32)]
      case .reflected, .negated: return [octets]
      case .debug: return [[0x0C] + debug.littleEndianOctets]
      }
    }
    if forgery == .reflected || forgery == .negated {
      // The responder receives the initiator's key before it sends its own: only the initiator's can be reflected.
      guard side == .initiator else { return }
      pair.on(.initiator) { machine, now, effects in
        machine.start(isConsented: true, now: now, into: &effects)
        effects.removeAll()
        machine.receive([2, 3, 0, 0x0D, 16, 7, 7], now: now, into: &effects)
      }
      var own: [UInt8] = []
      pair.tamper = { _, octets, _ in
        own = octets
        return []
      }
      pair.run()
      if forgery == .negated {
        // The same x, the other y: p - y.
        let prime: [UInt8] = [
          0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
          0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        ]
        var borrow = 0
        for index in 0..<32 {
          let difference = Int(prime[31 - index]) - Int(own[33 + index]) - borrow
          borrow = difference < 0 ? 1 : 0
          own[33 + index] = UInt8(truncatingIfNeeded: difference)
        }
      }
      pair.inject(own, to: .initiator)
    } else {
      pair.pair()
    }
    let isPoint = [.reflected, .negated, .debug].contains(forgery)
    #expect(pair.failures[side] == PairingFailure(isPoint ? .invalidParameters : .dhKeyCheckFailed, .local))
    pair.tamper = { _, octets, _ in [octets] }
    pair.on(.responder) { machine, now, effects in machine.receive([5, 8], now: now, into: &effects) }
    pair.run()
    pair.forget()
    pair.pair()
    pair.expectPaired()
  }

  @Test func acceptsTheDebugKeyWhereAllowed() throws {
    var drawn: [UInt8] = []
    let scalar = P256PrivateKey.debug.scalar
    drawn += scalar.high.littleEndianOctets + scalar.low.littleEndianOctets
    var pair = PairingPair(.with(), .with { $0.acceptsDebugKey = true })
    pair.initiator = PairingMachine(
      role: .initiator, own: PairingPair.initiatorAddress, peer: PairingPair.responderAddress, settings: .with(),
      cryptography: LibCrypto(), random: .listed(drawn))
    pair.pair()
    pair.expectPaired()
  }

  @Test(arguments: [true, false], PairingPair.Side.allCases) func rejectsAWrongPasskey(
    secure: Bool, displays: PairingPair.Side
  ) {
    let (a, b): (IOCapability, IOCapability) =
      displays == .initiator ? (.displayOnly, .keyboardOnly) : (.keyboardOnly, .displayOnly)
    for bit in [0, 7, 19] {
      var pair = PairingPair(.with(a, secure: secure), .with(b, secure: secure))
      pair.answer = { _, question, pair in
        question == .enterPasskey
          ? .passkey(Passkey(lowestDigitsOf: (pair.displayed?.value ?? 0) ^ (1 << UInt32(bit)))) : nil
      }
      pair.pair()
      // The responder checks first, in both kinds of pairing.
      pair.expectFailed(.confirmValueFailed, at: .responder)
    }
  }

  @Test(arguments: PairingPair.Side.allCases) func failsAfterARejectedNumber(side: PairingPair.Side) {
    var pair = PairingPair(.with(.displayYesNo), .with(.displayYesNo))
    pair.answer = { who, _, _ in who == side ? .reject : .accept }
    pair.pair()
    pair.expectFailed(.numericComparisonFailed, at: side)
    pair = PairingPair(.with(.keyboardOnly), .with(.keyboardOnly))
    pair.answer = { who, _, _ in who == side ? .reject : nil }
    pair.pair()
    pair.expectFailed(.passkeyEntryFailed, at: side)
  }

  /// A wrong confirm value, random value, check value or key: the device that can detect it rejects it.
  @Test(arguments: [0x03, 0x04, 0x0D] as [UInt8], PairingPair.Side.allCases)
  func rejectsAlteredValues(code: UInt8, from side: PairingPair.Side) {
    for secure in [true, false] where secure || code != 0x0D {
      // In Just Works and numeric comparison the initiator sends no confirm value. The check value detects its wrong
      // random value.
      if secure, code == 0x03, side == .initiator { continue }
      for io in [IOCapability.noInputNoOutput, .keyboardDisplay] {
        var pair = PairingPair(.with(io, secure: secure), .with(io, secure: secure))
        pair.tamper = { from, octets, _ in
          from == side && octets[0] == code ? [octets.dropLast() + [octets[16] ^ 0x80]] : [octets]
        }
        pair.pair()
        #expect(pair.outcomes.isEmpty)
        let isFoundByCheck = secure && (code == 0x0D || side == .initiator)
        #expect(Set(pair.failures.values.map(\.reason)) == [isFoundByCheck ? .dhKeyCheckFailed : .confirmValueFailed])
      }
    }
  }

  /// A copy of the device's own confirm value would match with each passkey; it is rejected.
  @Test func rejectsAReflectedConfirmValue() {
    for secure in [true, false] {
      var pair = PairingPair(.with(.displayOnly, secure: secure), .with(.keyboardOnly, secure: secure))
      pair.tamper = { from, octets, _ in from == .initiator && octets[0] == 3 ? [] : [octets] }
      pair.pair()
      guard let confirm = pair.air.last(where: { $0.octets[0] == 3 }) else {
        Issue.record("no confirm value")
        return
      }
      pair.inject(confirm.octets, to: .initiator)
      #expect(pair.failures[.initiator] == PairingFailure(.confirmValueFailed, .local))
    }
  }

  @Test func rejectsWrongOutOfBandData() throws {
    var source = RandomSource.seeded(9)
    let toolbox = SecurityToolbox(LibCrypto())
    let data = try OutOfBandData.OwnData.make(toolbox, random: &source)
    let other = try OutOfBandData.OwnData.make(toolbox, random: &source)
    var pair = PairingPair(
      .with { $0.outOfBand.peer = data.forPeer }, .with { $0.outOfBand.own = other.own })
    pair.pair()
    pair.expectFailed(.confirmValueFailed, at: .initiator)
    pair = PairingPair(
      .with(secure: false) { $0.outOfBand.temporaryKey = SecretKey(1) },
      .with(secure: false) { $0.outOfBand.temporaryKey = SecretKey(2) })
    pair.pair()
    pair.expectFailed(.confirmValueFailed, at: .responder)
  }

  @Test func rejectsPairingsBelowTheRequirements() {
    var pair = PairingPair(.with(secure: false), .with { $0.isSecureConnectionsOnly = true })
    pair.pair()
    pair.expectFailed(.authenticationRequirements, at: .responder)
    pair = PairingPair(.with(), .with { $0.isSecureConnectionsOnly = true })
    pair.pair()
    pair.expectFailed(.authenticationRequirements, at: .responder)
    pair = PairingPair(.with(.displayYesNo), .with(.displayYesNo) { $0.isSecureConnectionsOnly = true })
    pair.pair()
    pair.expectPaired()
    pair = PairingPair(.with { $0.requiresMITM = true }, .with(mitm: false))
    pair.pair()
    pair.expectFailed(.authenticationRequirements, at: .initiator)
    pair = PairingPair(.with(secure: false, size: 9), .with { $0.minimumKeySize = 10 })
    pair.pair()
    pair.expectFailed(.encryptionKeySize, at: .responder)
  }

  /// Random PDUs: no trap, at most one Pairing Failed for each PDU, and the next pairing succeeds.
  @Test(arguments: 0..<40 as Range<UInt64>) func pairsAfterRandomPDUs(seed: UInt64) {
    var source = RandomSource.seeded(seed)
    let lengths = [0, 7, 7, 17, 17, 2, 17, 11, 17, 8, 17, 2, 65, 17, 2]
    var pair = PairingPair(
      .with(.keyboardDisplay, secure: seed % 2 == 0), .with(.keyboardDisplay), seed: seed)
    for _ in 0..<40 {
      let code = Int(source.next() % 16)
      let length = source.next() % 4 == 0 || code > 14 ? Int(source.next() % 70) : lengths[code]
      let octets = [UInt8(code)] + source.octets(max(0, length - 1)).map { source.next() % 2 == 0 ? $0 : $0 % 6 }
      let side: PairingPair.Side = source.next() % 2 == 0 ? .initiator : .responder
      if source.next() % 5 == 0 { pair.pair() }
      var effects: [PairingEffect] = []
      if side == .initiator {
        pair.initiator.receive(octets[...], now: .start, into: &effects)
      } else {
        pair.responder.receive(octets[...], now: .start, into: &effects)
      }
      #expect(effects.filter { if case .send(let pdu) = $0 { pdu.code == .pairingFailed } else { false } }.count <= 1)
    }
    pair.inject([5, 8], to: .initiator)
    pair.inject([5, 8], to: .responder)
    pair.forget()
    pair.pair()
    pair.expectPaired()
  }
}
