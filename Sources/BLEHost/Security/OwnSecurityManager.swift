import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// The security manager of one link where the controller is ours alone. It pairs, gives the keys to the controller, and
/// accepts a link as encrypted only if the controller reports that for a key that it was given (Vol 3, Part H, 2.4).
///
/// ```
///   plain ──key given──► starting(key of a pairing, or of a bond) ──Encryption Change: on──► encrypted
///     ▲                        │ failed                                                        │ off, or the pairing
///     of the key └────────────────────────┴───────────────────────────────────────────────────────────────┘ has failed
/// ```
struct OwnSecurityManager: LinkSecurityManager {
  private let peer: LinkID
  private let handle: ConnectionHandle
  private let isCentral: Bool
  private let own: DeviceAddress
  private let other: DeviceAddress
  private let procedureTimeout: Duration
  /// The machine that pairs, once an input has needed it: in memory of its own, where it is changed in place, because
  /// it is large, and most links never pair.
  private var machines: [PairingMachine] = [] { didSet { takeDeadline() } }
  /// The key that the controller was given and has not reported on yet.
  private var start: KeyStart? { didSet { takeDeadline() } }
  /// Whether the link is encrypted with the key of the current pairing, which distributes keys.
  private var usesPairingKey = false

  /// - Parameters:
  ///   - own: our address on this link.
  ///   - other: the peer's address on the radio.
  ///   - procedureTimeout: how long the controller may take to report on a key.
  init(
    peer: LinkID, handle: ConnectionHandle, isCentral: Bool, own: DeviceAddress, other: DeviceAddress,
    procedureTimeout: Duration
  ) {
    (self.peer, self.handle, self.isCentral, self.own, self.other) = (peer, handle, isCentral, own, other)
    self.procedureTimeout = procedureTimeout
  }

  /// The deadline of the machine, or of an encryption. It is stored here, because the host reads it after each input of
  /// the link, and the machine is large to copy.
  private(set) var deadline: Instant?
  private mutating func takeDeadline() { deadline = .nearer(ofMachine { $0.deadline }, start?.deadline) }
  /// Whether no input has needed the machine that pairs.
  var needsMachine: Bool { machines.isEmpty }
  var isPairing: Bool { ofMachine { $0.isPairing } ?? false }
  /// Whether the link is being secured.
  var isUnderWay: Bool { start != nil || isPairing }
  /// Whether the controller was given a key and has not reported on it.
  var isStarting: Bool { start != nil }
  var isStartingWithBond: Bool { start?.origin == .bond }
  /// The identity that the peer has named in the current pairing, or in the last one.
  var claimedIdentity: DeviceAddress? { ofMachine { $0.claimedIdentity } }

  /// A fact of the machine; nil without one.
  private func ofMachine<Fact>(_ fact: (PairingMachine) -> Fact?) -> Fact? {
    machines.isEmpty ? nil : fact(machines[0])
  }

  private mutating func prepare(_ context: inout SecurityContext) {
    guard needsMachine else { return }
    prepare(context.pairingSettings, context.cryptography, context.random.fork())
  }

  /// Makes the machine that pairs.
  mutating func prepare(_ settings: PairingSettings, _ cryptography: AnyCryptography, _ random: RandomSource) {
    machines = [
      PairingMachine(
        role: isCentral ? .initiator : .responder, own: own, peer: other, settings: settings,
        cryptography: cryptography, random: random)
    ]
  }

  mutating func perform(
    _ input: SecurityInput, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    switch input {
    case .pdu(let pdu): receive(pdu.span, &context, now: now, into: &effects)
    case .requested(let owner, let demand):
      context.demand = demand
      requestSecurity(for: owner, &context, now: now, into: &effects)
    case .refused:
      guard !isUnderWay, let wanted = context.requirementsOnDemand else { return }
      secure(wanted, isConsented: false, &context, now: now, into: &effects)
    case .bond: encryptWithBond(&context, now: now, into: &effects)
    case .answer(let question, let answer): self.answer(question, answer, &context, now: now, into: &effects)
    case .keyRequested(let request):
      keyRequested(
        ediv: request.encryptedDiversifier, rand: request.randomNumber, context, now: now, into: &effects)
    case .encryptionChanged(let status, let isOn):
      encryptionChanged(status, isOn: isOn, &context, now: now, into: &effects)
    case .encryptionFailed(let status): encryptionFailed(status, &context, now: now, into: &effects)
    case .levelApplied(let start): levelApplied(start, &context, now: now, into: &effects)
    case .tick: tick(&context, now: now, into: &effects)
    // From a kernel, of which there is none.
    case .report, .keyMissed: break
    }
  }

  func kernelLink(of device: PeerIdentity) -> KernelLinkFacts? { nil }

  /// Takes one PDU of the peer.
  mutating func receive(
    _ pdu: Span<UInt8>, _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    let octets = [UInt8](copying: pdu)[...]
    guard context.settings != nil else { return reject(octets, into: &effects) }
    prepare(&context)
    run(&context, now: now, into: &effects) { $0.receive(octets, now: now, into: &$1) }
  }

  /// While pairing is disabled, every attempt is rejected (Vol 3, Part H, 3.5.5).
  private func reject(_ pdu: Bytes, into effects: inout [Effect<SecurityEffect>]) {
    let reason: PairingFailedReason
    do throws(CodecError) {
      switch try SMPPDU(decoding: pdu) {
      case .pairingRequest where !isCentral: reason = .pairingNotSupported
      // A Security Request to a central without keys, which may ignore it (Vol 3, Part H, 2.4.6).
      case .securityRequest, .pairingFailed: return
      case .pairingRequest, .pairingResponse, .pairingConfirm, .pairingRandom, .encryptionInformation,
        .centralIdentification, .identityInformation, .identityAddressInformation, .signingInformation,
        .pairingPublicKey, .pairingDHKeyCheck, .pairingKeypressNotification:
        reason = .unspecifiedReason
      }
    } catch .invalid(field: "Code") {
      return
    } catch {
      reason = .invalidParameters
    }
    effects.append(.own(.send(.pairingFailed(.init(reason: reason)))))
  }

  /// A central pairs.
  ///
  /// - Parameter isConsented: the application requested it.
  mutating func pair(
    isConsented: Bool, _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    prepare(&context)
    run(&context, now: now, into: &effects) { $0.start(isConsented: isConsented, now: now, into: &$1) }
  }

  /// Secures the link because an owner has requested it; a peripheral asks its central.
  mutating func requestSecurity(
    for owner: OwnerID, _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    guard context.admitsRequest(of: owner, on: peer, into: &effects) else { return }
    // A machine that is idle has the settings of another pairing.
    if context.demand != nil, ofMachine({ !$0.isPairing && !$0.isClosed }) == true { machines = [] }
    if isCentral {
      if let demand = context.demand, !(context.bond?.centralKey.map { demand.admits($0.strength) } ?? false) {
        return pair(isConsented: !demand.asksConsent, &context, now: now, into: &effects)
      }
      return secure([], isConsented: true, &context, now: now, into: &effects)
    }
    prepare(&context)
    run(&context, now: now, into: &effects) { $0.requestSecurity(into: &$1) }
  }

  /// Secures the link as the central: with the key of the bond if that is enough, otherwise by pairing.
  ///
  /// - Parameter isConsented: the application requested it; else the peripheral did, or our client on demand.
  mutating func secure(
    _ wanted: AuthenticationRequirements, isConsented: Bool, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard isCentral, isConsented || context.admitsUnrequestedSecurity(of: peer, into: &effects) else { return }
    guard let key = context.bond?.centralKey, context.settings?.isEnough(key.strength, for: wanted) ?? true else {
      return pair(isConsented: isConsented, &context, now: now, into: &effects)
    }
    if context.level == .none, start == nil { encrypt(with: key, .bond, now: now, into: &effects) }
  }

  /// Encrypts a link that our central has made with the key of the bond, if there is one.
  mutating func encryptWithBond(
    _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    if let key = context.bond?.centralKey { encrypt(with: key, .bond, now: now, into: &effects) }
  }

  /// Takes the application's answer to a question.
  mutating func answer(
    _ question: PairingQuestionID, _ answer: PairingAnswer, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard !needsMachine else { return effects.append(.own(.answerIgnored(.notOpen))) }
    run(&context, now: now, into: &effects) { $0.answer(question, answer, now: now, into: &$1) }
  }

  mutating func tick(
    _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    // The link that our central makes to a bonded peripheral ends then.
    if let due = start?.deadline, due <= now, !context.reconnection.isPending {
      effects.append(.report(.controller, "it does not report the outcome of an encryption", peer: peer))
      encryptionFailed(.linkLayerResponseTimeout, &context, now: now, into: &effects)
    }
    guard let deadline = ofMachine({ $0.deadline }), deadline <= now else { return }
    run(&context, now: now, into: &effects) { $0.tick(now: now, into: &$1) }
  }

  mutating func linkEnded(
    _ reason: HCIErrorCode, isRequested: Bool, _ context: SecurityContext,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    if isStartingWithBond || context.reconnection.isPending, let loss = BondLoss(linkEnded: reason) {
      effects.append(.event(.bonds(.lost(peer, context.identity, context.explained(loss))), to: .everyone))
    }
    var caused: [PairingEffect] = []
    if !needsMachine { machines[0].linkEnded(into: &caused) }
    for effect in caused {
      switch effect {
      case .withdraw(let id): effects.append(.event(.pairing(peer, .questionWithdrawn(id)), to: .everyone))
      case .failed(let failure): effects.appendFailure(failure, of: peer)
      // Nothing else comes of the end of a link.
      default: break
      }
    }
  }

  /// Runs the machine and turns its output into effects.
  private mutating func run(
    _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>],
    _ body: (inout PairingMachine, inout [PairingEffect]) -> Void
  ) {
    guard !needsMachine else { return }
    var caused: [PairingEffect] = []
    machines[0].perform(&context, &caused, body)
    for effect in caused { translate(effect, &context, now: now, into: &effects) }
  }

  private mutating func translate(
    _ effect: PairingEffect, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    switch effect {
    case .send(let pdu): effects.append(.own(.send(pdu)))
    case .ask(let id, let question): effects.append(.event(.pairing(peer, .question(id, question)), to: .everyone))
    case .withdraw(let id): effects.append(.event(.pairing(peer, .questionWithdrawn(id)), to: .everyone))
    case .ignoredAnswer(let error): effects.append(.own(.answerIgnored(error)))
    case .encrypt(let key): encrypt(with: key, .pairing, now: now, into: &effects)
    case .securityRequested(let wanted):
      guard !context.pairings.isWaiting(now: now) else {
        let text = "a Security Request is ignored: a pairing on this link has just failed"
        return effects.append(.report(.peer, text, peer: peer))
      }
      secure(wanted, isConsented: false, &context, now: now, into: &effects)
    case .completed(let outcome):
      usesPairingKey = false
      effects.append(.own(.paired(outcome)))
    case .keypress(let keypress): effects.append(.event(.pairing(peer, .keypress(keypress)), to: .everyone))
    case .failed(let failure):
      if start?.origin == .pairing { start = nil }
      effects.append(.own(.failed(failure)))
      if usesPairingKey { effects.append(.own(.keyRevoked)) }
      usesPairingKey = false
      context.report(failure, claimed: claimedIdentity, on: peer, into: &effects)
    }
  }
}

/// Encryption, by the controller.
extension OwnSecurityManager {
  /// The central encrypts and names the key: that of the current pairing, or of the device's bond (Vol 4, Part E,
  /// 7.7.65.5).
  mutating func keyRequested(
    ediv: UInt16, rand: UInt64, _ context: SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    var found: (key: LongTermKey, origin: KeyStart.Origin)?
    if !needsMachine, let key = machines[0].longTermKey(ediv: ediv, rand: rand) {
      found = (key, .pairing)
    } else if let key = context.bond?.peripheralKey, key.ediv == ediv, key.rand == rand {
      found = (key, .bond)
    }
    guard !isCentral, let found else {
      effects.append(.command(HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = handle }, for: .reply))
      guard !isCentral else { return }
      // Without a bond a pairing is in progress: its key has other numbers, or is not there yet. No bond is lost.
      guard context.hasBond || !isPairing else {
        let text = "encryption with another key than that of the pairing under way is rejected"
        return effects.append(.report(.peer, text, peer: peer))
      }
      let loss: BondLoss = context.hasBond ? .keysDiffer : .missingHere
      return effects.append(.event(.bonds(.lost(peer, context.identity, loss)), to: .everyone))
    }
    start = KeyStart(strength: found.key.strength, origin: found.origin, deadline: now + procedureTimeout)
    let reply = HCI.LELongTermKeyRequestReply {
      $0.connectionHandle = handle
      $0.longTermKey = found.key.value.value
    }
    effects.append(.command(reply, for: .reply))
  }

  /// We are the central: encrypts the link (Vol 4, Part E, 7.8.24).
  mutating func encrypt(
    with key: LongTermKey, _ origin: KeyStart.Origin, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    start = KeyStart(strength: key.strength, origin: origin, deadline: now + procedureTimeout)
    let command = HCI.LEEnableEncryption {
      $0.connectionHandle = handle
      $0.randomNumber = key.rand
      $0.encryptedDiversifier = key.ediv
      $0.longTermKey = key.value.value
    }
    effects.append(.command(command, for: .link(peer, .encryption)))
  }

  mutating func encryptionChanged(
    _ status: HCIErrorCode, isOn: Bool, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard status == .success else { return encryptionFailed(status, &context, now: now, into: &effects) }
    guard !isOn else { return encryptionStarted(context, into: &effects) }
    (start, usesPairingKey) = (nil, false)
    effects.append(.own(.levelLost))
  }

  /// The controller reports that the link is encrypted (Vol 4, Part E, 7.7.8 and 7.7.39).
  mutating func encryptionStarted(_ context: SecurityContext, into effects: inout [Effect<SecurityEffect>]) {
    guard let start else {
      // It is not encrypted with a key of ours, so it proves nothing.
      guard context.level == .none else { return }
      let text = "it reports encryption without a key from this host: the link counts as unencrypted"
      return effects.append(.report(.controller, text, peer: peer))
    }
    self.start = nil
    usesPairingKey = start.origin == .pairing
    effects.append(.own(.encrypted(start)))
  }

  mutating func levelApplied(
    _ start: KeyStart, _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    guard start.origin == .pairing else { return }
    run(&context, now: now, into: &effects) { $0.encryptionChanged(isEnabled: true, now: now, into: &$1) }
  }

  /// The controller did not accept the key, or could not encrypt with it.
  mutating func encryptionFailed(
    _ status: HCIErrorCode, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard let start else { return }
    self.start = nil
    switch start.origin {
    case .pairing:
      run(&context, now: now, into: &effects) { $0.encryptionChanged(isEnabled: false, now: now, into: &$1) }
    case .bond:
      if let loss = BondLoss(encryptionFailed: status) {
        effects.append(.own(.bondKeyFailed(context.explained(loss))))
      }
    }
  }

  /// The encryption has ended, or is cancelled.
  mutating func stopEncryption() { start = nil }
}

extension PairingMachine {
  /// Lets the machine do something with the facts of the context.
  fileprivate mutating func perform(
    _ context: inout SecurityContext, _ effects: inout [PairingEffect],
    _ body: (inout PairingMachine, inout [PairingEffect]) -> Void
  ) {
    if !isPairing, context.settings != nil { settings = context.pairingSettings }
    rejectsAttempts = context.isBlocked
    lastQuestion = context.lastQuestion
    body(&self, &effects)
    context.lastQuestion = lastQuestion
  }
}
