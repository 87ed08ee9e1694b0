import BLECrypto
import BLEWire

/// What both sides have agreed on after exchanging features.
struct Agreement: Sendable {
  var request: PairingFeatures
  var response: PairingFeatures
  var initiator: DeviceAddress
  var responder: DeviceAddress
  var model: AssociationModel
  var isSecureConnections: Bool

  init(
    _ request: PairingFeatures, _ response: PairingFeatures, own: DeviceAddress, peer: DeviceAddress,
    role: PairingMachine.Role
  ) {
    self.request = request
    self.response = response
    (initiator, responder) = role == .initiator ? (own, peer) : (peer, own)
    (model, isSecureConnections) = AssociationModel.chosen(request: request, response: response)
  }

  /// The smaller of the two maxima (2.3.4).
  var keySize: UInt8 { min(request.maximumEncryptionKeySize, response.maximumEncryptionKeySize) }
  var isBonding: Bool { request.authReq.contains(.bonding) && response.authReq.contains(.bonding) }
  var strength: KeyStrength {
    KeyStrength(size: keySize, isAuthenticated: model.isAuthenticated, isSecureConnections: isSecureConnections)
  }

  /// The PDU with its code as c1 takes it.
  var preq: UInt64 { Self.number(.pairingRequest(request)) }
  var pres: UInt64 { Self.number(.pairingResponse(response)) }

  private static func number(_ pdu: SMPPDU) -> UInt64 {
    pdu.encoded.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// What one side's user does with a passkey; nil where there is none.
  func passkeyPart(of role: PairingMachine.Role) -> AssociationModel.PasskeyPart? {
    guard case .passkeyEntry(let initiator, let responder) = model else { return nil }
    return role == .initiator ? initiator : responder
  }

  /// The key with what lies above the agreed size set to zero (2.3.4).
  func shortened(_ key: UInt128) -> UInt128 {
    keySize >= 16 ? key : key & (1 << (8 * UInt128(keySize)) - 1)
  }
}

/// Phase 1: the features (Vol 3, Part H, 2.3.5.1, 3.5.1 and 3.5.2).
extension PairingMachine {
  /// What we offer as the initiator.
  func offer() -> PairingFeatures {
    var features = PairingFeatures()
    features.ioCapability = settings.ioCapability
    features.authReq = settings.authReq
    features.maximumEncryptionKeySize = settings.maximumKeySize
    if role == .initiator, !mayBond { features.authReq.remove(.bonding) }
    if features.authReq.contains(.bonding) {
      features.initiatorKeyDistribution = settings.initiatorKeys
      features.responderKeyDistribution = settings.responderKeys
    }
    if role == .initiator, settings.withholdsIdentity, !mayBeAuthenticated {
      features.initiatorKeyDistribution.remove(.idKey)
    }
    features.oobDataFlag = settings.outOfBand.isPresent ? .present : .notPresent
    return features
  }

  /// What we answer as the responder: the keys that both want.
  private func response(to request: PairingFeatures) -> PairingFeatures {
    var features = offer()
    let isSecure = request.authReq.contains(.secureConnections) && settings.allowsSecureConnections
    let data = settings.outOfBand
    features.oobDataFlag = (isSecure ? data.peer != nil : data.temporaryKey != nil) ? .present : .notPresent
    guard request.authReq.contains(.bonding), settings.isBonding else {
      features.initiatorKeyDistribution = []
      features.responderKeyDistribution = []
      return features
    }
    features.initiatorKeyDistribution.formIntersection(request.initiatorKeyDistribution)
    features.responderKeyDistribution.formIntersection(request.responderKeyDistribution)
    return features
  }

  /// Whether a pairing that we begin can be authenticated: by the user, or by out-of-band data.
  private var mayBeAuthenticated: Bool {
    settings.ioCapability != .noInputNoOutput || settings.outOfBand.isPresent
  }

  /// Whether a pairing that we begin can make a bond.
  private var mayBond: Bool {
    switch settings.bondRules.admission {
    case .all: true
    case .confirmed: mayBeAuthenticated || settings.asksConsent || hasConsent
    case .none: false
    }
  }

  /// Whether the rules let such a pairing make a bond.
  func admits(_ agreement: Agreement) -> Bool {
    switch settings.bondRules.admission {
    case .all: true
    case .confirmed: agreement.model.isAuthenticated || hasConsent
    case .none: false
    }
  }

  /// What the responder answers once the association model and the consent are known: without a bond no keys are
  /// distributed (Vol 3, Part C, 9.4.2; Vol 3, Part H, 3.5.1), and our identity only to whom it may be given.
  private func limited(_ agreement: Agreement) -> Agreement {
    var agreement = agreement
    if !admits(agreement) {
      agreement.response.authReq.remove(.bonding)
      agreement.response.initiatorKeyDistribution = []
      agreement.response.responderKeyDistribution = []
    }
    if withholdsIdentity(in: agreement) { agreement.response.responderKeyDistribution.remove(.idKey) }
    return agreement
  }

  /// Whether our IRK and identity address are not for this peer.
  private func withholdsIdentity(in agreement: Agreement) -> Bool {
    settings.withholdsIdentity && !agreement.model.isAuthenticated
  }

  mutating func requested(
    _ request: PairingFeatures, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFailedReason) {
    guard role == .responder else { throw .commandNotSupported }
    guard case .idle = phase else { throw .unspecifiedReason }
    guard !refusesAttempts else { throw .repeatedAttempts }
    (hasConsent, claimedIdentity) = (false, nil)
    try checkRanges(request)
    let agreement = Agreement(request, response(to: request), own: own, peer: peer, role: role)
    try check(agreement)
    deadline = now + settings.timeout
    try askConsent(agreement, now: now, into: &effects)
  }

  /// Just Works authenticates nobody: the application is asked, where it wants that and has not begun the pairing itself.
  private mutating func askConsent(
    _ agreement: Agreement, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFailedReason) {
    phase = .consent(agreement)
    if settings.bondRules.asksReplacement, !agreement.model.isAuthenticated, agreement.isBonding {
      ask(.replaceBond, into: &effects)
    } else if settings.asksConsent, !hasConsent, agreement.model == .justWorks {
      ask(.consent, into: &effects)
    } else {
      try consented(agreement, .accept, now: now, into: &effects)
    }
  }

  mutating func consented(
    _ agreement: Agreement, _ answer: PairingAnswer, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFailedReason) {
    guard answer == .accept else { throw .unspecifiedReason }
    var agreement = agreement
    if role == .responder {
      agreement = limited(agreement)
      send(.pairingResponse(agreement.response), now: now, into: &effects)
    }
    try begin(agreement, now: now, into: &effects)
  }

  /// The application wants the pairing that was begun without it: it is asked no more.
  mutating func consent(now: Instant, into effects: inout [PairingEffect]) {
    hasConsent = true
    guard case .consent = phase, let open = questions.open, open.question == .consent else { return }
    effects.append(.withdraw(open.id))
    answer(open.id, .accept, now: now, into: &effects)
  }

  mutating func responded(
    _ agreement: Agreement, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFailedReason) {
    try checkRanges(agreement.response)
    try check(agreement)
    let (asked, given) = (agreement.request, agreement.response)
    guard given.initiatorKeyDistribution.isSubset(of: asked.initiatorKeyDistribution),
      given.responderKeyDistribution.isSubset(of: asked.responderKeyDistribution)
    else { throw .invalidParameters }
    if withholdsIdentity(in: agreement), given.initiatorKeyDistribution.contains(.idKey) {
      return requestWithoutIdentity(asked, now: now, into: &effects)
    }
    deadline = now + settings.timeout
    try askConsent(agreement, now: now, into: &effects)
  }

  /// The response shows that the pairing is unauthenticated, and what both agreed to distribute must be distributed
  /// (3.6.1): the pairing begins anew, without our identity.
  private mutating func requestWithoutIdentity(
    _ request: PairingFeatures, now: Instant, into effects: inout [PairingEffect]
  ) {
    var request = request
    request.initiatorKeyDistribution.remove(.idKey)
    phase = .requested(request)
    send(.pairingFailed(PairingFailed(reason: .authenticationRequirements)), now: now, into: &effects)
    send(.pairingRequest(request), now: now, into: &effects)
  }

  private mutating func begin(
    _ agreement: Agreement, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFailedReason) {
    if agreement.isSecureConnections {
      try beginSecureConnections(agreement, now: now, into: &effects)
    } else {
      try beginLegacy(agreement, now: now, into: &effects)
    }
  }

  /// Values outside the tables of 3.5.1. Reserved bits of AuthReq and of the key distributions are ignored.
  private func checkRanges(_ features: PairingFeatures) throws(PairingFailedReason) {
    guard features.ioCapability.isDefined, features.oobDataFlag.rawValue <= 1,
      features.maximumEncryptionKeySize <= 16
    else { throw .invalidParameters }
  }

  /// Whether what the features lead to is secure enough for us.
  private func check(_ agreement: Agreement) throws(PairingFailedReason) {
    let minimum =
      agreement.isSecureConnections
      ? max(settings.minimumSecureConnectionsKeySize, settings.minimumKeySize) : settings.minimumKeySize
    guard agreement.keySize >= max(7, minimum) else { throw .encryptionKeySize }
    if !agreement.isSecureConnections, !settings.allowsLegacy { throw .authenticationRequirements }
    if settings.requiresMITM, !agreement.model.isAuthenticated { throw .authenticationRequirements }
    guard agreement.model == .outOfBand else { return }
    let ours = role == .initiator ? agreement.request : agreement.response
    let theirs = role == .initiator ? agreement.response : agreement.request
    if agreement.isSecureConnections {
      if ours.oobDataFlag == .present, settings.outOfBand.peer == nil { throw .oobNotAvailable }
      if theirs.oobDataFlag == .present, settings.outOfBand.own == nil { throw .oobNotAvailable }
    } else if settings.outOfBand.temporaryKey == nil {
      throw .oobNotAvailable
    }
  }

  /// A passkey to display: the fixed one, or a new one each time (2.3.5.3).
  mutating func passkeyToDisplay() -> Passkey {
    settings.fixedPasskey ?? Passkey(lowestDigitsOf: UInt32.random(in: 0..<1_000_000, using: &random))
  }
}
