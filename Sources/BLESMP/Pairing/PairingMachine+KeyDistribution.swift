import BLECrypto
import BLEWire

/// A new key, and the encryption of the link with it.
struct EncryptionStart: Sendable {
  var agreement: Agreement
  /// The STK, or the LTK of Secure Connections.
  var key: LongTermKey
  /// Whether the controller has the key. Its next encryption event is then about this key.
  var isKeyInUse: Bool
}

/// Phase 3: the keys that have not been distributed yet (Vol 3, Part H, 2.4.3 and 3.6.1).
struct KeyExchange: Sendable {
  var outcome: PairingOutcome
  /// The codes of the PDUs that the peer must send, in order.
  var expected: [SMPCode]
  /// The keys that this device must send. The initiator sends its keys after the responder.
  var own: KeyDistribution
  var peerLTK: SecretKey?
  /// Whether the application must decide on the replacement of the bond with the peer's identity.
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

  /// Begins the key distribution on the encrypted link. The responder sends its keys first.
  mutating func distribute(_ start: EncryptionStart, now: Instant, into effects: inout [PairingEffect]) {
    let agreement = start.agreement
    var outcome = PairingOutcome(isBonded: agreement.isBonding && admits(agreement), strength: agreement.strength)
    let isBondWanted = settings.isBonding && (role == .initiator || agreement.request.authReq.contains(.bonding))
    outcome.isBondDeclined = isBondWanted && !admits(agreement)
    outcome.hasConsent = hasConsent
    // EncKey is ignored in Secure Connections: both devices have the LTK (Vol 3, Part H, 3.6.1).
    let possible: KeyDistribution =
      agreement.isSecureConnections ? [.idKey, .signKey] : [.encKey, .idKey, .signKey]
    let initiators = agreement.response.initiatorKeyDistribution.intersection(possible)
    let responders = agreement.response.responderKeyDistribution.intersection(possible)
    if agreement.isSecureConnections {
      (outcome.peripheralKey, outcome.centralKey) = (start.key, start.key)
    }
    let (ours, theirs) = role == .initiator ? (initiators, responders) : (responders, initiators)
    var exchange = KeyExchange(outcome: outcome, expected: Self.codes(of: theirs), own: ours)
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
    let keys = exchange.own
    exchange.own = []
    if keys.contains(.encKey) {
      let size = exchange.outcome.strength.size
      let number = random.uint128()
      let value = size >= 16 ? number : number & (1 << (8 * UInt128(size)) - 1)
      let ediv = random.octets(2).reversed().reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      let rand = random.next()
      let key = LongTermKey(value: SecretKey(value), ediv: ediv, rand: rand, strength: exchange.outcome.strength)
      // A device uses its own key as the peripheral.
      exchange.outcome.peripheralKey = key
      send(.encryptionInformation(.init(longTermKey: value.littleEndianOctets[...])), now: now, into: &effects)
      send(.centralIdentification(.init(ediv: ediv, rand: rand)), now: now, into: &effects)
    }
    if keys.contains(.idKey) {
      // A device without an IRK sends zeros, because a key on which both devices have agreed must be distributed.
      let irk = settings.identityResolvingKey?.value ?? 0
      send(.identityInformation(.init(identityResolvingKey: irk.littleEndianOctets[...])), now: now, into: &effects)
      send(.identityAddressInformation(.init(settings.identityAddress)), now: now, into: &effects)
    }
    if keys.contains(.signKey) {
      let csrk = random.uint128()
      exchange.outcome.ownCSRK = SecretKey(csrk)
      send(.signingInformation(.init(signatureKey: csrk.littleEndianOctets[...])), now: now, into: &effects)
    }
  }

  mutating func receive(
    _ pdu: SMPPDU, _ exchange: inout KeyExchange, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    // Only the agreed keys are allowed, in the order of Vol 3, Part H, 3.6.1.
    guard exchange.expected.first == pdu.code else { throw .unexpected(pdu.code) }
    exchange.expected.removeFirst()
    switch pdu {
    case .encryptionInformation(let packet):
      exchange.peerLTK = UInt128(littleEndian: packet.longTermKey).map(SecretKey.init)
    case .centralIdentification(let packet):
      guard let value = exchange.peerLTK else { throw .unexpected(pdu.code) }
      exchange.outcome.centralKey = LongTermKey(
        value: value, ediv: packet.ediv, rand: packet.rand, strength: exchange.outcome.strength)
    case .identityInformation(let packet):
      let irk = UInt128(littleEndian: packet.identityResolvingKey) ?? 0
      exchange.outcome.peerIRK = irk == 0 ? nil : SecretKey(irk)
    case .identityAddressInformation(let packet):
      try receive(identity: packet.deviceAddress, &exchange)
      try checkIdentityKey(&exchange)
    case .signingInformation(let packet):
      exchange.outcome.peerCSRK = UInt128(littleEndian: packet.signatureKey).map(SecretKey.init)
    case .pairingRequest, .pairingResponse, .pairingConfirm, .pairingRandom, .pairingFailed, .securityRequest,
      .pairingPublicKey, .pairingDHKeyCheck, .pairingKeypressNotification:
      throw .unexpected(pdu.code)
    }
    advance(exchange, now: now, into: &effects)
  }

  /// Receives the peer's identity address (Vol 3, Part H, 3.6.5). It must be public or static random, and must not be
  /// the identity address of this device.
  private mutating func receive(
    identity: DeviceAddress, _ exchange: inout KeyExchange
  ) throws(PairingFault) {
    // If the address is zero, the address in the connection is the peer's identity address.
    guard identity.octets.value != 0 else { return }
    guard identity.kind == .public || identity.kind == .random, identity.isIdentityAddress else {
      throw .identityAddressInvalid
    }
    guard identity != settings.identityAddress.identity, identity != own.identity else {
      throw .identityAddressReflected
    }
    exchange.outcome.peerIdentity = identity
    claimedIdentity = identity
    let (rules, strength) = (settings.bondRules, exchange.outcome.strength)
    if rules.inUse.contains(identity), !strength.isAuthenticated { throw .identityInUse }
    guard exchange.outcome.isBonded, let bond = rules.strengths[identity] else { return }
    if let error = strength.error(replacing: bond) { throw .weakerThanBond(error) }
    // The settings already have the requirements for the presumed device.
    guard !strength.isAuthenticated, identity != rules.presumed else { return }
    switch rules.replacement {
    case .never: throw .bondNotReplaceable
    case .ask: exchange.asksReplacement = true
    case .always: break
    }
  }

  /// Refuses an IRK that is not the peer's own: that of this device, or that of a bond with another identity address.
  ///
  /// If two bonds had the same key, one of the two devices would be taken for the other. Every bonded peer receives the
  /// IRK, so sending it proves nothing about the sender. The pairing succeeds without the key if the peer uses a fixed
  /// address. A peer with a private address could not be recognized again: Key Rejected (Vol 3, Part H, 3.5.5).
  private func checkIdentityKey(_ exchange: inout KeyExchange) throws(PairingFault) {
    guard let key = exchange.outcome.peerIRK else { return }
    let rules = settings.bondRules
    let identity = exchange.outcome.peerIdentity ?? rules.presumed ?? peer.identity
    let isAuthenticated = exchange.outcome.strength.isAuthenticated
    let isTaken = rules.isTaken(key, by: identity, isAuthenticated: isAuthenticated)
    guard key == settings.identityResolvingKey || isTaken else { return }
    if exchange.outcome.isBonded, peer.randomKind == .resolvablePrivate { throw .identityKeyTaken }
    exchange.outcome.peerIRK = nil
    exchange.outcome.isIdentityKeyRefused = true
  }

  /// Receives the application's decision on the replacement of a bond.
  mutating func receiveReplacement(
    _ answer: PairingAnswer, _ exchange: KeyExchange, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard answer == .accept else { throw .replacementRefused }
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
