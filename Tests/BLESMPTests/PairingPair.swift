import BLECrypto
import BLESMP
import BLEWire
import Testing

/// Two machines, their channel, their users and a controller.
struct PairingPair {
  enum Side: CaseIterable { case initiator, responder }

  static let initiatorAddress = DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random)
  static let responderAddress = DeviceAddress(octets: BD_ADDR(0x00_A0_50_01_02_03), kind: .public)

  var initiator: PairingMachine
  var responder: PairingMachine
  var now = Instant.start
  /// The PDUs of both devices, in order.
  var air: [(from: Side, octets: [UInt8])] = []
  var outcomes: [Side: PairingOutcome] = [:]
  /// The failures without their steps and faults, and with them.
  var failures: [Side: PairingFailure] = [:]
  var causes: [Side: PairingFailure] = [:]
  var questions: [Side: [PairingQuestion]] = [:]
  /// The identifiers of those questions.
  var names: [Side: [PairingQuestionID]] = [:]
  var withdrawn: [Side: [PairingQuestionID]] = [:]
  /// The errors of answers without an effect.
  var faults: [PairingAnswerError] = []
  var link: LongTermKey?
  /// The answers of the users; nil leaves the question open.
  var answer: (Side, PairingQuestion, PairingPair) -> PairingAnswer? = { _, question, pair in
    switch question {
    case .consent, .replaceBond, .compare: .accept
    case .display: nil
    case .enterPasskey: .passkey(pair.displayed ?? Passkey(lowestDigitsOf: 31_415))
    }
  }
  /// Changes a PDU between the devices; an empty array drops it.
  var tamper: (Side, [UInt8], Int) -> [[UInt8]] = { _, octets, _ in [octets] }
  /// The reported keypresses.
  var keypresses: [KeypressNotificationType] = []
  private var queue: [(Side, PairingEffect)] = []

  /// The passkey that one of the devices shows.
  var displayed: Passkey? {
    for case .display(let passkey) in questions.values.joined() { return passkey }
    return nil
  }

  init(
    _ initiators: PairingSettings = PairingSettings(), _ responders: PairingSettings = PairingSettings(),
    initiatorAddress: DeviceAddress = Self.initiatorAddress, responderAddress: DeviceAddress = Self.responderAddress,
    seed: UInt64 = 1
  ) {
    var (initiators, responders) = (initiators, responders)
    // With zero a device has no identity.
    if initiators.identityAddress.octets.value == 0 { initiators.identityAddress = Self.initiatorAddress }
    if responders.identityAddress.octets.value == 0 { responders.identityAddress = Self.responderAddress }
    // No two devices have the same identity resolving key.
    if let key = responders.identityResolvingKey, key == initiators.identityResolvingKey {
      responders.identityResolvingKey = SecretKey(key.value + 0x1_0000)
    }
    initiator = PairingMachine(
      role: .initiator, own: initiatorAddress, peer: responderAddress, settings: initiators,
      cryptography: LibCrypto(), random: .seeded(seed))
    responder = PairingMachine(
      role: .responder, own: responderAddress, peer: initiatorAddress, settings: responders,
      cryptography: LibCrypto(), random: .seeded(seed &+ 1))
  }

  /// Begins a pairing as the initiator, and performs all effects.
  mutating func pair(isConsented: Bool = true) {
    on(.initiator) { machine, now, effects in machine.start(isConsented: isConsented, now: now, into: &effects) }
    run()
  }

  /// Passes octets to one side as a PDU of the other.
  mutating func inject(_ octets: [UInt8], to side: Side) {
    on(side) { machine, now, effects in machine.receive(octets[...], now: now, into: &effects) }
    run()
  }

  mutating func on(_ side: Side, _ body: (inout PairingMachine, Instant, inout [PairingEffect]) -> Void) {
    var effects: [PairingEffect] = []
    if side == .initiator { body(&initiator, now, &effects) } else { body(&responder, now, &effects) }
    queue += effects.map { (side, $0) }
  }

  mutating func run() {
    while !queue.isEmpty {
      let (side, effect) = queue.removeFirst()
      let other: Side = side == .initiator ? .responder : .initiator
      switch effect {
      case .send(let pdu):
        let octets = pdu.encoded
        air.append((side, octets))
        for octets in tamper(side, octets, air.count) {
          on(other) { machine, now, effects in machine.receive(octets[...], now: now, into: &effects) }
        }
      case .ask(_, .enterPasskey) where displayed == nil && queue.contains(where: { !$0.1.asksForPasskey }):
        // The passkey can be entered only after the other device shows it.
        queue.append((side, effect))
      case .ask(let id, let question):
        questions[side, default: []].append(question)
        names[side, default: []].append(id)
        if let answer = answer(side, question, self) {
          on(side) { machine, now, effects in machine.answer(id, answer, now: now, into: &effects) }
        }
      case .withdraw(let id): withdrawn[side, default: []].append(id)
      case .ignoredAnswer(let fault): faults.append(fault)
      case .encrypt(let key):
        let answered = responder.longTermKey(ediv: key.ediv, rand: key.rand)
        let isEnabled = answered?.value == key.value
        link = isEnabled ? answered : nil
        // The responder receives the event first, as with controllers.
        on(.responder) { machine, now, effects in
          machine.encryptionChanged(isEnabled: isEnabled, now: now, into: &effects)
        }
        on(.initiator) { machine, now, effects in
          machine.encryptionChanged(isEnabled: isEnabled, now: now, into: &effects)
        }
      case .securityRequested: break
      case .keypress(let keypress): keypresses.append(keypress)
      case .completed(let outcome): outcomes[side] = outcome
      case .failed(let failure): (failures[side], causes[side]) = (failure.withoutCause, failure)
      }
    }
  }

  /// Whether both have completed with keys that fit each other.
  func expectPaired(sourceLocation: SourceLocation = #_sourceLocation) {
    guard let a = outcomes[.initiator], let b = outcomes[.responder] else {
      Issue.record("not paired: \(failures)", sourceLocation: sourceLocation)
      return
    }
    #expect(a.strength == b.strength, sourceLocation: sourceLocation)
    #expect(a.isBonded == b.isBonded, sourceLocation: sourceLocation)
    #expect(a.centralKey == b.peripheralKey, sourceLocation: sourceLocation)
    #expect(a.peripheralKey == b.centralKey, sourceLocation: sourceLocation)
    #expect(a.ownCSRK == b.peerCSRK, sourceLocation: sourceLocation)
    #expect(a.peerCSRK == b.ownCSRK, sourceLocation: sourceLocation)
    #expect(a.peerIRK == responder.settings.identityResolvingKey || !a.isBonded, sourceLocation: sourceLocation)
    #expect(b.peerIRK == initiator.settings.identityResolvingKey || !a.isBonded, sourceLocation: sourceLocation)
    #expect(link != nil && link?.strength == a.strength, sourceLocation: sourceLocation)
    #expect(!initiator.isPairing && !responder.isPairing, sourceLocation: sourceLocation)
    #expect(initiator.deadline == nil && responder.deadline == nil, sourceLocation: sourceLocation)
  }

  func expectFailed(_ reason: PairingFailedReason, at side: Side, sourceLocation: SourceLocation = #_sourceLocation) {
    let other: Side = side == .initiator ? .responder : .initiator
    #expect(outcomes.isEmpty, sourceLocation: sourceLocation)
    #expect(failures[side] == PairingFailure(reason, .local), sourceLocation: sourceLocation)
    if failures[other] != nil {
      #expect(failures[other] == PairingFailure(reason, .peer), sourceLocation: sourceLocation)
    }
    #expect(!initiator.isPairing && !responder.isPairing, sourceLocation: sourceLocation)
  }

  /// A user answers a question, the newest one of `side` where none is named.
  mutating func reply(_ answer: PairingAnswer, to id: PairingQuestionID? = nil, at side: Side) {
    guard let id = id ?? names[side]?.last else { return }
    on(side) { machine, now, effects in machine.answer(id, answer, now: now, into: &effects) }
    run()
  }

  /// Removes the results of the last pairing; the machines remain.
  mutating func forget() {
    (outcomes, failures, questions, air, link) = ([:], [:], [:], [], nil)
    (names, withdrawn, faults) = ([:], [:], [])
  }
}

extension PairingEffect {
  fileprivate var asksForPasskey: Bool { if case .ask(_, .enterPasskey) = self { true } else { false } }
}

extension PairingSettings {
  static func with(
    _ io: IOCapability = .noInputNoOutput, mitm: Bool = true, secure: Bool = true, size: UInt8 = 16,
    _ change: (inout Self) -> Void = { _ in }
  ) -> Self {
    var settings = Self()
    settings.ioCapability = io
    settings.requestsMITM = mitm
    settings.allowsSecureConnections = secure
    settings.maximumKeySize = size
    settings.identityResolvingKey = SecretKey(0x1234 + UInt128(io.rawValue))
    change(&settings)
    return settings
  }
}

extension PairingFailure {
  /// The reason and the origin alone.
  var withoutCause: Self { Self(reason, origin) }
}

extension PairingEffect {
  /// A failure with the reason and the origin alone.
  var withoutCause: Self { if case .failed(let failure) = self { .failed(failure.withoutCause) } else { self } }
}
