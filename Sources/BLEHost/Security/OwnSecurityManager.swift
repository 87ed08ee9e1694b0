import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// What the security manager of a link alone causes.
enum SecurityEffect: Sendable {
  /// Sends a PDU on the channel of the security manager.
  case send(SMPPDU)
  /// The peripheral asks for a secured link (Vol 3, Part H, 2.4.6).
  case securityRequested(AuthenticationRequirements)
  case paired(PairingOutcome)
  /// A pairing came to nothing; the peer had named this identity, if any.
  case failed(PairingFailure, claimed: DeviceAddress?)
  /// An answer of the application changed nothing.
  case answerIgnored(PairingAnswerError)
  /// The controller says that the link is encrypted, with this key.
  case encrypted(KeyStart)
  /// The link could not be encrypted with the key of the bond.
  case bondKeyFailed(BondLoss)
}

/// A key that the controller was given, and whose it is.
struct KeyStart: Equatable, Sendable {
  enum Origin: Equatable, Sendable { case pairing, bond }
  var strength: KeyStrength
  var origin: Origin
}

/// What the security manager of a link takes from the other parts: facts at the time of one input.
struct SecurityContext: Sendable {
  /// The settings of the next pairing; nil where pairing is switched off. The one under way keeps its own.
  var settings: PairingSettings?
  /// The device has to wait before it pairs again.
  var isBlocked = false
  /// The device that the peer is taken for, and its bond.
  var identity: DeviceAddress
  var bond: Bond?
  /// The level that the link has.
  var level = SecurityLevel.none
  /// The last identifier given to a question of a pairing, on any link.
  var lastQuestion: UInt64 = 0
}

/// The security manager of one link where the controller is ours alone: it pairs, gives the controller the keys, and believes a
/// link's encryption from nothing but the controller's word about a key it was given (Vol 3, Part H, 2.4).
///
/// ```
///   plain ──key given──► starting(key of a pairing, or of a bond) ──Encryption Change: on──► encrypted
///     ▲                        │ failed                                                        │ off
///     └────────────────────────┴───────────────────────────────────────────────────────────────┘
/// ```
struct OwnSecurityManager: Sendable {
  private let peer: PeerID
  private let handle: ConnectionHandle
  private let isCentral: Bool
  private let own: DeviceAddress
  private let other: DeviceAddress
  /// Made when it is first needed.
  private var machine: PairingMachine?
  /// The key that the controller was given and has not spoken of yet.
  private var start: KeyStart?

  /// - Parameters:
  ///   - own: our address on this link.
  ///   - other: the peer's address on the air.
  init(peer: PeerID, handle: ConnectionHandle, isCentral: Bool, own: DeviceAddress, other: DeviceAddress) {
    (self.peer, self.handle, self.isCentral, self.own, self.other) = (peer, handle, isCentral, own, other)
  }

  var deadline: Instant? { machine?.deadline }
  /// Whether inputs that pair have to wait for ``prepare(_:_:_:)``.
  var needsMachine: Bool { machine == nil }
  var isPairing: Bool { machine?.isPairing == true }
  /// Whether the link is being secured.
  var isUnderWay: Bool { start != nil || isPairing }
  /// Whether the controller was given a key and has not spoken of it.
  var isStarting: Bool { start != nil }
  var isStartingWithBond: Bool { start?.origin == .bond }
  /// The identity that the peer has named in the pairing under way, or in the last one.
  var claimedIdentity: DeviceAddress? { machine?.claimedIdentity }

  /// Makes the machine that pairs.
  mutating func prepare(_ settings: PairingSettings, _ cryptography: any Cryptography, _ random: RandomSource) {
    machine = PairingMachine(
      role: isCentral ? .initiator : .responder, own: own, peer: other, settings: settings, cryptography: cryptography,
      random: random)
  }

  /// Takes one PDU of the peer.
  mutating func receive(
    _ pdu: Span<UInt8>, _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    let octets = [UInt8](copying: pdu)[...]
    guard context.settings != nil else { return reject(octets, into: &effects) }
    run(&context, into: &effects) { $0.receive(octets, now: now, into: &$1) }
  }

  /// Without pairing switched on every attempt is rejected (Vol 3, Part H, 3.5.5).
  private func reject(_ pdu: Bytes, into effects: inout [Effect<SecurityEffect>]) {
    let reason: PairingFailedReason
    do throws(CodecError) {
      switch try SMPPDU(decoding: pdu).packet {
      case is PairingRequest where !isCentral: reason = .pairingNotSupported
      // A Security Request to a central without keys, which may ignore it (Vol 3, Part H, 2.4.6).
      case is SecurityRequest, is PairingFailed: return
      default: reason = .unspecifiedReason
      }
    } catch .invalid(field: "Code") {
      return
    } catch {
      reason = .invalidParameters
    }
    effects.append(.own(.send(SMPPDU(PairingFailed(reason: reason)))))
  }

  /// A central pairs.
  ///
  /// - Parameter isConsented: the application asked for it.
  mutating func pair(
    isConsented: Bool, _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    run(&context, into: &effects) { $0.start(isConsented: isConsented, now: now, into: &$1) }
  }

  /// A peripheral asks its central to encrypt or to pair.
  mutating func requestSecurity(_ context: inout SecurityContext, into effects: inout [Effect<SecurityEffect>]) {
    run(&context, into: &effects) { $0.requestSecurity(into: &$1) }
  }

  mutating func answer(
    _ question: PairingQuestionID, _ answer: PairingAnswer, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard machine != nil else { return effects.append(.own(.answerIgnored(.notOpen))) }
    run(&context, into: &effects) { $0.answer(question, answer, now: now, into: &$1) }
  }

  mutating func tick(
    _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    guard let deadline, deadline <= now else { return }
    run(&context, into: &effects) { $0.tick(now: now, into: &$1) }
  }

  /// The link has ended: so has its pairing.
  mutating func linkEnded(into effects: inout [Effect<SecurityEffect>]) {
    var caused: [PairingEffect] = []
    machine?.linkEnded(into: &caused)
    for effect in caused {
      switch effect {
      case .withdraw(let id): effects.append(.event(.pairingQuestionWithdrawn(peer, id), to: .everyone))
      case .failed(let failure): effects.append(.event(.pairingFailed(peer, failure), to: .everyone))
      default: break
      }
    }
  }

  /// Lets the machine do something and turns what it wants into effects.
  private mutating func run(
    _ context: inout SecurityContext, into effects: inout [Effect<SecurityEffect>],
    _ body: (inout PairingMachine, inout [PairingEffect]) -> Void
  ) {
    guard var machine else { return }
    if !machine.isPairing, let settings = context.settings { machine.settings = settings }
    machine.rejectsAttempts = context.isBlocked
    machine.lastQuestion = context.lastQuestion
    var caused: [PairingEffect] = []
    body(&machine, &caused)
    context.lastQuestion = machine.lastQuestion
    self.machine = machine
    for effect in caused { translate(effect, into: &effects) }
  }

  private mutating func translate(_ effect: PairingEffect, into effects: inout [Effect<SecurityEffect>]) {
    switch effect {
    case .send(let pdu): effects.append(.own(.send(pdu)))
    case .ask(let id, let question): effects.append(.event(.pairing(peer, id, question), to: .everyone))
    case .withdraw(let id): effects.append(.event(.pairingQuestionWithdrawn(peer, id), to: .everyone))
    case .ignoredAnswer(let error): effects.append(.own(.answerIgnored(error)))
    case .encrypt(let key): encrypt(with: key, .pairing, into: &effects)
    case .securityRequested(let wanted): effects.append(.own(.securityRequested(wanted)))
    case .completed(let outcome): effects.append(.own(.paired(outcome)))
    case .keypress(let keypress): effects.append(.event(.keypress(peer, keypress), to: .everyone))
    case .failed(let failure):
      if start?.origin == .pairing { start = nil }
      effects.append(.own(.failed(failure, claimed: machine?.claimedIdentity)))
    }
  }
}

/// Encryption, by the controller.
extension OwnSecurityManager {
  /// The central encrypts and names the key; the pairing under way has it, or the device's bond (Vol 4, Part E, 7.7.65.5).
  mutating func keyRequested(
    ediv: UInt16, rand: UInt64, _ context: SecurityContext, into effects: inout [Effect<SecurityEffect>]
  ) {
    var found: (key: LongTermKey, origin: KeyStart.Origin)?
    if let key = machine?.longTermKey(ediv: ediv, rand: rand) {
      found = (key, .pairing)
    } else if let key = context.bond?.peripheralKey, key.ediv == ediv, key.rand == rand {
      found = (key, .bond)
    }
    guard !isCentral, let found else {
      effects.append(.command(HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = handle }, for: .reply))
      guard !isCentral else { return }
      let loss: BondLoss = context.bond == nil ? .missingHere : .keysDiffer
      return effects.append(.event(.bondLost(peer, context.identity, loss), to: .everyone))
    }
    start = KeyStart(strength: found.key.strength, origin: found.origin)
    let reply = HCI.LELongTermKeyRequestReply {
      $0.connectionHandle = handle
      $0.longTermKey = found.key.value.value
    }
    effects.append(.command(reply, for: .reply))
  }

  /// We are the central: encrypts the link (Vol 4, Part E, 7.8.24).
  mutating func encrypt(
    with key: LongTermKey, _ origin: KeyStart.Origin, into effects: inout [Effect<SecurityEffect>]
  ) {
    start = KeyStart(strength: key.strength, origin: origin)
    let command = HCI.LEEnableEncryption {
      $0.connectionHandle = handle
      $0.randomNumber = key.rand
      $0.encryptedDiversifier = key.ediv
      $0.longTermKey = key.value.value
    }
    effects.append(.command(command, for: .encryption(peer)))
  }

  /// The controller says that the link is encrypted (Vol 4, Part E, 7.7.8 and 7.7.39).
  mutating func encryptionStarted(_ context: SecurityContext, into effects: inout [Effect<SecurityEffect>]) {
    guard let start else {
      // No key of ours stands behind it, so it proves nothing.
      guard context.level == .none else { return }
      let text = "a link is said to be encrypted with a key that it was not given: it counts as plain"
      return effects.append(.report(.controller, text, peer: peer))
    }
    self.start = nil
    effects.append(.own(.encrypted(start)))
  }

  /// The link is encrypted with the key of the pairing under way, and its level is known.
  mutating func pairingKeyInUse(
    _ context: inout SecurityContext, now: Instant, into effects: inout [Effect<SecurityEffect>]
  ) {
    run(&context, into: &effects) { $0.encryptionChanged(isEnabled: true, now: now, into: &$1) }
  }

  /// The controller did not take the key, or could not encrypt with it.
  mutating func encryptionFailed(
    _ status: HCIErrorCode, _ context: inout SecurityContext, now: Instant,
    into effects: inout [Effect<SecurityEffect>]
  ) {
    guard let start else { return }
    self.start = nil
    switch start.origin {
    case .pairing: run(&context, into: &effects) { $0.encryptionChanged(isEnabled: false, now: now, into: &$1) }
    case .bond:
      if let loss = BondLoss(encryptionFailed: status) { effects.append(.own(.bondKeyFailed(loss))) }
    }
  }

  /// The encryption has ended, or is given up.
  mutating func stopEncryption() { start = nil }
}
