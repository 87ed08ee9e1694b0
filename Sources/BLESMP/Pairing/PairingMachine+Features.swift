import BLECrypto
import BLEWire

/// Phase 1: the exchange of features (Vol 3, Part H, 2.3.5.1, 3.5.1 and 3.5.2).
extension PairingMachine {
  /// The features of a Pairing Request. A Pairing Response has at most these.
  func ownFeatures() -> PairingFeatures {
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

  /// The features of the Pairing Response: the keys that both devices request.
  private func response(to request: PairingFeatures) -> PairingFeatures {
    var features = ownFeatures()
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

  /// Whether a pairing that this device begins can be authenticated, by the user or by out-of-band data.
  private var mayBeAuthenticated: Bool {
    settings.ioCapability != .noInputNoOutput || settings.outOfBand.isPresent
  }

  /// Whether a pairing that this device begins can make a bond.
  private var mayBond: Bool {
    switch settings.bondRules.admission {
    case .all: true
    case .confirmed: mayBeAuthenticated || settings.asksConsent || hasConsent
    case .none: false
    }
  }

  /// Whether the rules permit this pairing to make a bond.
  func admits(_ agreement: Agreement) -> Bool {
    switch settings.bondRules.admission {
    case .all: true
    case .confirmed: agreement.model.isAuthenticated || hasConsent
    case .none: false
    }
  }

  /// The agreement within the responder's limits, which depend on the association model and the consent. Without a
  /// bond, no keys are distributed (Vol 3, Part C, 9.4.2; Vol 3, Part H, 3.5.1).
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

  /// Whether the IRK and the identity address of this device are not distributed.
  private func withholdsIdentity(in agreement: Agreement) -> Bool {
    settings.withholdsIdentity && !agreement.model.isAuthenticated
  }

  /// Receives a Pairing Request.
  mutating func receive(
    _ packet: PairingRequest, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    let request = packet.features
    guard role == .responder else { throw .wrongRole(.pairingRequest) }
    guard case .idle = phase else { throw .unexpected(.pairingRequest) }
    guard !rejectsAttempts else { throw .repeatedAttempts }
    (hasConsent, claimedIdentity) = (false, nil)
    try checkRanges(request)
    let agreement = Agreement(request, response(to: request), own: own, peer: peer, role: role)
    try check(agreement)
    deadline = now + settings.timeout
    try askConsent(agreement, now: now, into: &effects)
  }

  /// Asks the application for its consent to an unauthenticated pairing, if the settings require it.
  private mutating func askConsent(
    _ agreement: Agreement, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    phase = .consent(agreement)
    if settings.bondRules.asksReplacement, !agreement.model.isAuthenticated, agreement.isBonding {
      ask(.replaceBond, into: &effects)
    } else if settings.asksConsent, !hasConsent, agreement.model == .justWorks {
      ask(.consent, into: &effects)
    } else {
      try receiveConsent(.accept, agreement, now: now, into: &effects)
    }
  }

  /// Receives the application's decision on the pairing.
  mutating func receiveConsent(
    _ answer: PairingAnswer, _ agreement: Agreement, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    guard answer == .accept else { throw .consentRefused }
    var agreement = agreement
    if role == .responder {
      agreement = limited(agreement)
      send(.pairingResponse(.init(agreement.response)), now: now, into: &effects)
    }
    try begin(agreement, now: now, into: &effects)
  }

  /// Records that the application has requested the active pairing, and closes an open question for consent.
  mutating func consent(now: Instant, into effects: inout [PairingEffect]) {
    hasConsent = true
    guard case .consent = phase, let open = questions.open, open.question == .consent else { return }
    effects.append(.withdraw(open.id))
    answer(open.id, .accept, now: now, into: &effects)
  }

  /// Receives the Pairing Response to a request.
  mutating func receive(
    _ packet: PairingResponse, to request: PairingFeatures, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    let response = packet.features
    let agreement = Agreement(request, response, own: own, peer: peer, role: role)
    try checkRanges(response)
    try check(agreement)
    guard response.initiatorKeyDistribution.isSubset(of: request.initiatorKeyDistribution),
      response.responderKeyDistribution.isSubset(of: request.responderKeyDistribution)
    else { throw .keysNotRequested }
    if withholdsIdentity(in: agreement), response.initiatorKeyDistribution.contains(.idKey) {
      return requestWithoutIdentity(request, now: now, into: &effects)
    }
    deadline = now + settings.timeout
    try askConsent(agreement, now: now, into: &effects)
  }

  /// Restarts the pairing without the identity of this device. The response selects an unauthenticated model, and keys
  /// on which both devices have agreed must be distributed (Vol 3, Part H, 3.6.1).
  private mutating func requestWithoutIdentity(
    _ request: PairingFeatures, now: Instant, into effects: inout [PairingEffect]
  ) {
    var request = request
    request.initiatorKeyDistribution.remove(.idKey)
    phase = .requested(request)
    send(.pairingFailed(.init(reason: .authenticationRequirements)), now: now, into: &effects)
    send(.pairingRequest(.init(request)), now: now, into: &effects)
  }

  private mutating func begin(
    _ agreement: Agreement, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    if agreement.isSecureConnections {
      try beginSecureConnections(agreement, now: now, into: &effects)
    } else {
      try beginLegacy(agreement, now: now, into: &effects)
    }
  }

  /// Rejects values outside the tables of Vol 3, Part H, 3.5.1. Reserved bits are ignored.
  private func checkRanges(_ features: PairingFeatures) throws(PairingFault) {
    guard features.ioCapability.isDefined, features.oobDataFlag.rawValue <= 1,
      features.maximumEncryptionKeySize <= 16
    else { throw .reservedFeature }
  }

  /// Rejects an agreement that does not meet the settings of this device.
  private func check(_ agreement: Agreement) throws(PairingFault) {
    let minimum =
      agreement.isSecureConnections
      ? max(settings.minimumSecureConnectionsKeySize, settings.minimumKeySize) : settings.minimumKeySize
    guard agreement.keySize >= max(7, minimum) else { throw .keyTooShort }
    if !agreement.isSecureConnections, !settings.allowsLegacy { throw .legacyNotAllowed }
    if settings.requiresMITM, !agreement.model.isAuthenticated { throw .notAuthenticated }
    guard agreement.model == .outOfBand else { return }
    let ours = role == .initiator ? agreement.request : agreement.response
    let theirs = role == .initiator ? agreement.response : agreement.request
    if agreement.isSecureConnections {
      if ours.oobDataFlag == .present, settings.outOfBand.peer == nil { throw .outOfBandDataMissing }
      if theirs.oobDataFlag == .present, settings.outOfBand.own == nil { throw .outOfBandDataMissing }
    } else if settings.outOfBand.temporaryKey == nil {
      throw .outOfBandDataMissing
    }
  }

  /// The passkey to show: the fixed one, or a new one (Vol 3, Part H, 2.3.5.3).
  mutating func passkeyToDisplay() -> Passkey {
    settings.fixedPasskey ?? Passkey(lowestDigitsOf: UInt32.random(in: 0..<1_000_000, using: &random))
  }
}
