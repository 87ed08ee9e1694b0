import BLECrypto
import BLEWire

/// A key is made and the link is to be encrypted with it.
struct EncryptionStart: Sendable {
  var agreement: Agreement
  /// The STK, or the LTK of Secure Connections.
  var key: LongTermKey
  /// Whether the controller has been given the key, so that its next word on encryption is about this one.
  var isKeyInUse: Bool
}

/// Phase 3: who still has to send which keys (Vol 3, Part H, 2.4.3 and 3.6.1).
struct KeyExchange: Sendable {
  var outcome: PairingOutcome
  /// The codes that the peer still has to send, in order.
  var expected: [SMPCode]
  /// What we send when the peer, as the responder, is through.
  var owed: KeyDistribution
  var peerLTK: SecretKey?
  /// The application decides whether the bond of the identity that the peer named is replaced.
  var asksReplacement = false
}

extension PairingMachine {
  mutating func startEncryption(
    _ agreement: Agreement, key: UInt128, now: Instant, into effects: inout [PairingEffect]
  ) {
    let key = LongTermKey(value: SecretKey(agreement.shortened(key)), strength: agreement.strength)
    phase = .encrypting(EncryptionStart(agreement: agreement, key: key, isKeyInUse: role == .initiator))
    deadline = now + settings.timeout
    if role == .initiator { effects.append(.encrypt(key)) }
  }

  /// The link is encrypted with the new key: the responder sends its keys first, then the initiator.
  mutating func distribute(_ start: EncryptionStart, now: Instant, into effects: inout [PairingEffect]) {
    let agreement = start.agreement
    var outcome = PairingOutcome(isBonded: agreement.isBonding && admits(agreement), strength: agreement.strength)
    let isBondWanted = settings.isBonding && (role == .initiator || agreement.request.authReq.contains(.bonding))
    outcome.isBondDeclined = isBondWanted && !admits(agreement)
    outcome.hasConsent = hasConsent
    // What the LTK of Secure Connections makes unnecessary is not sent, whatever the bits say (3.6.1).
    let possible: KeyDistribution =
      agreement.isSecureConnections ? [.idKey, .signKey] : [.encKey, .idKey, .signKey]
    let initiators = agreement.response.initiatorKeyDistribution.intersection(possible)
    let responders = agreement.response.responderKeyDistribution.intersection(possible)
    if agreement.isSecureConnections {
      (outcome.peripheralKey, outcome.centralKey) = (start.key, start.key)
    }
    let (ours, theirs) = role == .initiator ? (initiators, responders) : (responders, initiators)
    var exchange = KeyExchange(outcome: outcome, expected: Self.codes(of: theirs), owed: ours)
    if role == .responder || exchange.expected.isEmpty { sendKeys(&exchange, now: now, into: &effects) }
    advance(exchange, now: now, into: &effects)
  }

  private static func codes(of keys: KeyDistribution) -> [SMPCode] {
    var codes: [SMPCode] = []
    if keys.contains(.encKey) { codes += [.encryptionInformation, .centralIdentification] }
    if keys.contains(.idKey) { codes += [.identityInformation, .identityAddressInformation] }
    if keys.contains(.signKey) { codes.append(.signingInformation) }
    return codes
  }

  private mutating func sendKeys(
    _ exchange: inout KeyExchange, now: Instant, into effects: inout [PairingEffect]
  ) {
    let keys = exchange.owed
    exchange.owed = []
    if keys.contains(.encKey) {
      let mask = exchange.outcome.strength.size
      let drawn = random.uint128()
      let value = mask >= 16 ? drawn : drawn & (1 << (8 * UInt128(mask)) - 1)
      let ediv = random.octets(2).reversed().reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      let rand = random.next()
      let key = LongTermKey(value: SecretKey(value), ediv: ediv, rand: rand, strength: exchange.outcome.strength)
      // Who distributes a key is the peripheral when it is used.
      exchange.outcome.peripheralKey = key
      send(
        .encryptionInformation(EncryptionInformation(longTermKey: value.littleEndianOctets[...])), now: now,
        into: &effects)
      send(.centralIdentification(CentralIdentification(ediv: ediv, rand: rand)), now: now, into: &effects)
    }
    if keys.contains(.idKey) {
      // All zero where we have none: agreed is agreed.
      let irk = settings.identityResolvingKey?.value ?? 0
      send(
        .identityInformation(IdentityInformation(identityResolvingKey: irk.littleEndianOctets[...])), now: now,
        into: &effects)
      send(
        .identityAddressInformation(IdentityAddressInformation(settings.identityAddress)), now: now, into: &effects)
    }
    if keys.contains(.signKey) {
      let csrk = random.uint128()
      exchange.outcome.ownCSRK = SecretKey(csrk)
      send(
        .signingInformation(SigningInformation(signatureKey: csrk.littleEndianOctets[...])), now: now, into: &effects)
    }
  }

  mutating func receive(
    _ pdu: SMPPDU, _ exchange: inout KeyExchange, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFailedReason) {
    // Only the keys agreed on, in the order of 3.6.1.
    guard exchange.expected.first == pdu.code else { throw .unspecifiedReason }
    exchange.expected.removeFirst()
    switch pdu {
    case .encryptionInformation(let packet):
      exchange.peerLTK = UInt128(littleEndian: packet.longTermKey).map(SecretKey.init)
    case .centralIdentification(let packet):
      guard let value = exchange.peerLTK else { throw .unspecifiedReason }
      exchange.outcome.centralKey = LongTermKey(
        value: value, ediv: packet.ediv, rand: packet.rand, strength: exchange.outcome.strength)
    case .identityInformation(let packet):
      let irk = UInt128(littleEndian: packet.identityResolvingKey) ?? 0
      exchange.outcome.peerIRK = irk == 0 ? nil : SecretKey(irk)
    case .identityAddressInformation(let packet):
      try receive(identity: packet.deviceAddress, &exchange)
    case .signingInformation(let packet):
      exchange.outcome.peerCSRK = UInt128(littleEndian: packet.signatureKey).map(SecretKey.init)
    default: throw .unspecifiedReason
    }
    advance(exchange, now: now, into: &effects)
  }

  /// Takes the peer's identity address (3.6.5): public or static random, and never ours, because a bond with our own
  /// address would replace ours wherever identities are compared.
  private mutating func receive(
    identity: DeviceAddress, _ exchange: inout KeyExchange
  ) throws(PairingFailedReason) {
    // Zero means that the peer has none: the address of the link is the peer's identity.
    guard identity.octets.value != 0 else { return }
    guard identity.kind == .public || identity.kind == .random, identity.isIdentityAddress else {
      throw .invalidParameters
    }
    guard identity != settings.identityAddress.identity, identity != own.identity else { throw .keyRejected }
    exchange.outcome.peerIdentity = identity
    claimedIdentity = identity
    let (rules, strength) = (settings.bondRules, exchange.outcome.strength)
    if rules.inUse.contains(identity), !strength.isAuthenticated { throw .keyRejected }
    guard exchange.outcome.isBonded, let bond = rules.strengths[identity] else { return }
    if let refusal = strength.refusal(replacing: bond) { throw refusal }
    // The bond of the device that the address names was looked at in the beginning.
    guard !strength.isAuthenticated, identity != rules.presumed else { return }
    switch rules.replacement {
    case .never: throw .authenticationRequirements
    case .ask: exchange.asksReplacement = true
    case .always: break
    }
  }

  /// The application has decided whether a bond is replaced.
  mutating func replace(
    _ exchange: KeyExchange, _ answer: PairingAnswer, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFailedReason) {
    guard answer == .accept else { throw .keyRejected }
    var exchange = exchange
    exchange.asksReplacement = false
    exchange.outcome.hasConsent = true
    advance(exchange, now: now, into: &effects)
  }

  private mutating func advance(_ exchange: KeyExchange, now: Instant, into effects: inout [PairingEffect]) {
    var exchange = exchange
    guard exchange.expected.isEmpty else {
      phase = .distributing(exchange)
      return deadline = now + settings.timeout
    }
    guard !exchange.asksReplacement else {
      phase = .replacement(exchange)
      deadline = now + settings.timeout
      return ask(.replaceBond, into: &effects)
    }
    if role == .initiator { sendKeys(&exchange, now: now, into: &effects) }
    finish(.completed(exchange.outcome), into: &effects)
  }
}
