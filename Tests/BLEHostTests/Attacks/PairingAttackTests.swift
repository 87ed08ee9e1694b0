import BLEATT
import BLECrypto
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

/// Attacks on a pairing, on both roles.
@Suite("Attacks on pairings") struct PairingAttackTests {
  /// KNOB (CVE-2019-9506 for BR/EDR): a key of little entropy is negotiated.
  @Test(arguments: [0, 1], [0, 6, 17, 253] as [UInt8]) func knob_keySizesOutOfRange(host: Int, size: UInt8) throws {
    var attacker = try Attacker(as: host, on: Couple())
    attacker.beginPairing([3, 0, 0x01, size, 1, 1])
    #expect(attacker.answers().last == [5, size > 16 ? 0x0A : 0x06])
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }

  /// Sizes that the specification allows are below the minimum of the settings, and of Secure Connections by default.
  @Test(arguments: [0, 1], [7, 15] as [UInt8]) func knob_keySizesBelowTheMinimum(host: Int, size: UInt8) throws {
    for features: [UInt8] in [[3, 0, 0x09, size, 1, 1], [3, 0, 0x01, size, 1, 1]] {
      let settings = PairingSettings.with { if features[2] & 8 == 0 { $0.minimumKeySize = 16 } }
      var attacker = try Attacker(as: host, on: Couple(peripheral: settings, central: { _ in settings }))
      attacker.beginPairing(features)
      #expect(attacker.answers().last == [5, 0x06])
      attacker.expectNothingGained()
    }
  }

  /// A short key that the settings accept does not open an attribute that demands a long one (Vol 3, Part F, 4).
  @Test func knob_theKeySizeOfTheLinkIsEnforcedForEachAttribute() throws {
    var couple = Couple(
      peripheral: .with(secure: false), central: { _ in .with(secure: false) { $0.maximumKeySize = 7 } })
    let long = AttributeID(rawValue: 78)
    _ = try WhoIsTrustedTests.publish(
      long, read: AccessRequirement(security: .encrypted, minimumKeySize: 16), updates: .open, in: &couple)
    try couple.connect()
    couple.secure()
    #expect(couple.security(0)?.keySize == 7)
    #expect(couple.read(Couple.encrypted) == .success([7]))
    #expect(couple.read(long) == .failure(.insufficientEncryptionKeySize))
  }

  static func invalidKeys() throws -> [(String, [UInt8])] {
    let zero = [UInt8](repeating: 0, count: 32)
    let valid = try Attacker.publicKey()
    return [
      ("y = 0 (fixed coordinate)", Array(valid[..<32]) + zero), ("x = 0", zero + Array(valid[32...])),
      ("the point at infinity", zero + zero), ("off the curve", valid[..<63] + [valid[63] ^ 1]),
      ("x is the prime", Attacker.prime(plus: 0) + valid[32...]),
      ("y is the prime", valid[..<32] + Attacker.prime(plus: 0)),
      ("x is above the prime", Attacker.prime(plus: 5) + valid[32...]),
      ("both are all ones", [UInt8](repeating: 0xFF, count: 64)),
    ]
  }

  /// Invalid curve points, and the fixed coordinate: the key is rejected, and the next pairing has another key pair
  /// (Vol 3, Part H, 2.3.5.6.1).
  @Test(arguments: [0, 1]) func cve_2018_5383_invalidCurve(host: Int) throws {
    for (name, key) in try Self.invalidKeys() {
      var attacker = try Attacker(as: host, on: Couple())
      var own: [[UInt8]] = []
      for _ in 0..<2 {
        attacker.beginPairing()
        attacker.send([0x0C] + key)
        let answers = attacker.answers()
        #expect(answers.last.map { $0.first == 5 && [0x08, 0x0A, 0x0B].contains($0.last) } == true, "\(name)")
        own += answers.filter { $0.first == 0x0C }
      }
      // Our central has sent its key, a new one each time; our peripheral has answered no invalid key with its own.
      #expect(own.count == (host == 0 ? 2 : 0) && Set(own).count == own.count, "\(name)")
      attacker.expectNothingGained(name)
      attacker.expectAPairingOfGoodWill()
    }
  }

  /// The public key of the host itself, and the other point with its x: refused before any check with it.
  @Test(arguments: [true, false]) func cve_2020_26558_reflectedPublicKey(sameY: Bool) throws {
    var attacker = try Attacker(
      as: 0, on: Couple(peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly) }))
    attacker.beginPairing([0, 0, 0x0D, 16, 1, 1])
    let own = try #require(attacker.answers().first { $0.first == 0x0C })
    attacker.send(sameY ? own : try Self.mirrored(own))
    #expect(attacker.answers().last?.first == 5)
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }

  /// Not because it is no point of the curve: that of another key is accepted.
  @Test func cve_2020_26558_aMirroredKeyOfAnotherDeviceIsAPoint() throws {
    var attacker = try Attacker(
      as: 0, on: Couple(peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly) }))
    attacker.beginPairing([0, 0, 0x0D, 16, 1, 1])
    attacker.send(try Self.mirrored([0x0C] + Attacker.publicKey()))
    #expect(attacker.answers().allSatisfy { $0.first != 5 })
  }

  /// The same point with the other y: p - y.
  private static func mirrored(_ pdu: [UInt8]) throws -> [UInt8] {
    var borrow = 0
    let y = zip(Attacker.prime(plus: 0), pdu[33...]).map { prime, octet -> UInt8 in
      let difference = Int(prime) - Int(octet) - borrow
      borrow = difference < 0 ? 1 : 0
      return UInt8(truncatingIfNeeded: difference)
    }
    return Array(pdu[..<33]) + y
  }

  /// One bit of a fixed passkey is learned with each failed attempt: each costs more time than the one before.
  @Test func fixedPasskeyGuessedInRounds() throws {
    var couple = Couple(peripheral: .with(.displayOnly), central: { _ in .with(.keyboardOnly) })
    couple.world.application = { host, event in
      guard host == 1, case .pairing(let peer, .question(let id, .enterPasskey)) = event else { return [] }
      return Passkey(1).map { [.link(peer, .answerPairing(id, .passkey($0)))] } ?? []
    }
    for _ in 0..<20 {
      try couple.connect()
      couple.secure()
      couple.disconnect()
    }
    let reasons = couple.failures(0).map(\.reason)
    #expect(reasons.count { $0 == .confirmValueFailed } < 10, "20 attempts, one for each bit, take more than a minute")
    #expect(reasons.last == .repeatedAttempts && couple.paired(0).isEmpty)
  }

  /// Without a fixed passkey, each pairing shows another one.
  @Test func aPasskeyIsDrawnForEachPairing() throws {
    var couple = Couple(
      peripheral: .with(.displayOnly) { $0.fixedPasskey = nil }, central: { _ in .with(.keyboardOnly) })
    couple.world.application = { host, event in
      guard host == 1, case .pairing(let peer, .question(let id, .enterPasskey)) = event else { return [] }
      return Passkey(1).map { [.link(peer, .answerPairing(id, .passkey($0)))] } ?? []
    }
    for _ in 0..<4 {
      try couple.connect()
      couple.secure()
      couple.disconnect()
    }
    let shown = couple.questions(0).compactMap { if case .display(let passkey) = $0.question { passkey } else { nil } }
    #expect(shown.count == 4 && Set(shown).count == 4)
  }

  /// Method confusion (2021): a relay leads one device to passkey entry and the other to numeric comparison.
  @Test(arguments: [0, 1]) func methodConfusion(host: Int) throws {
    let settings = PairingSettings.with(.keyboardDisplay)
    var couple = Couple(peripheral: settings, central: { _ in settings })
    couple.world.application = nil
    var attacker = try Attacker(as: host, on: couple)
    // A device that can only display: the attacked one is asked for a passkey.
    attacker.beginPairing([0, 0, 0x0D, 16, 1, 1])
    let question = try #require(attacker.couple.questions(attacker.victim).last)
    #expect(question.question == .enterPasskey)
    // The user has compared numbers on another pair of devices: a yes is no passkey.
    attacker.couple.world.ask(attacker.victim, .link(try attacker.link(), .answerPairing(question.id, .accept)))
    #expect(attacker.couple.misuses(attacker.victim) == 1)
    attacker.expectNothingGained()
  }

  /// Secure Connections Only (2019): the peer clears the SC bit.
  @Test(arguments: [0, 1]) func secureConnectionsOnlyDowngrade(host: Int) throws {
    let settings = PairingSettings.with(.keyboardDisplay) { $0.isSecureConnectionsOnly = true }
    for isBonded in [false, true] {
      var couple = Couple(peripheral: settings, central: { _ in settings })
      if isBonded {
        try couple.connect()
        couple.secure()
        couple.disconnect()
        couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
        couple.forget()
      }
      var attacker = try Attacker(as: host, on: couple)
      attacker.beginPairing([4, 0, 0x05, 16, 1, 1])
      #expect(attacker.answers().last == [5, 0x03])
      attacker.couple.world.deaf = []
      #expect(attacker.couple.paired(attacker.victim).isEmpty && attacker.couple.security(attacker.victim) == nil)
    }
  }

  /// BLURtooth: a key for the other transport is never offered, and a peer that offers one gets none (Vol 3, Part H,
  /// 3.6.1).
  @Test(arguments: [0, 1]) func cve_2020_15802_blurtooth(host: Int) throws {
    var attacker = try Attacker(as: host, on: Couple())
    attacker.beginPairing([3, 0, 0x29, 16, 0x0F, 0x0F])
    let answers = attacker.answers()
    let features = try #require(answers.last { $0.first == (host == 1 ? 2 : 1) })
    #expect(features[3] & 0x20 == 0, "CT2")
    #expect(features[5] & 0x08 == 0 && features[6] & 0x08 == 0, "the link key")
    attacker.couple.world.deaf = []
    if host == 0 { #expect(answers.last == [5, 0x0A], "keys that were not asked for") }
  }

  /// Pairing Random before the confirm value, with the wrong role, and repeated: the pairing fails and does not go on.
  @Test(arguments: [0, 1], [0x05, 0x01, 0x0D, 0x09] as [UInt8])
  func cve_2024_34722_randomBeforeConfirm(host: Int, authReq: UInt8) throws {
    let isPasskey = authReq & 4 != 0
    let settings = PairingSettings.with(isPasskey ? .displayOnly : .noInputNoOutput) { $0.minimumKeySize = 7 }
    var attacker = try Attacker(as: host, on: Couple(peripheral: settings, central: { _ in settings }))
    attacker.beginPairing([isPasskey ? 2 : 3, 0, authReq, 16, 1, 1])
    if authReq & 8 != 0 { attacker.send([0x0C] + (try Attacker.publicKey())) }
    _ = attacker.answers()
    // Just Works with Secure Connections: the responder confirms, and the initiator's random value is in order.
    let isInOrder = authReq == 0x09 && host == 1
    attacker.send([4] + Attacker.random)
    let answers = attacker.answers()
    if !isInOrder { #expect(answers == [[5, 8]]) }
    attacker.send([4] + Attacker.random)
    attacker.send([4] + Attacker.random)
    #expect(attacker.answers() == [[5, 8], [5, 8]])
    attacker.expectNothingGained()
    attacker.expectAPairingOfGoodWill()
  }
}
