public import BLECrypto
public import BLEWire

/// The Security Manager Protocol of one device on one link (Vol 3, Part H, 2.3 and 2.4).
///
/// ```
///          Pairing Request                 confirm, random, …                  Encryption Change
///   idle ──────────────────► features ──┬► legacy ──────────────┐          ┌─► distributing ──► idle
///    ▲                                  └► secureConnections ───┴► encrypting
///    │                    error in any state: Pairing Failed        │
///    └──────────────────────────────────────────────────────────────┘   no PDU within 30 s ──► closed
/// ```
///
/// The machine makes keys. The owner of the link stores them and encrypts later links. A pairing begins with
/// ``start(isConsented:now:into:)``, or with a Pairing Request from the peer.
///
/// ```swift
/// var machine = PairingMachine(
///   role: .initiator, own: ownAddress, peer: peerAddress, settings: PairingSettings(), cryptography: LibCrypto(),
///   random: .system)
/// var effects: [PairingEffect] = []
/// machine.start(isConsented: true, now: now, into: &effects)
/// // effects == [.send(.pairingRequest(.init(…)))]
/// ```
public struct PairingMachine: Sendable {
  /// The role of a device in a pairing.
  public enum Role: Hashable, Sendable {
    /// The central.
    case initiator
    /// The peripheral.
    case responder
  }

  /// The role of this device.
  public let role: Role
  /// The settings. A change during a pairing applies to the next one.
  public var settings: PairingSettings
  /// Whether pairings are rejected with Repeated Attempts: see ``RepeatedAttempts``.
  public var rejectsAttempts = false
  /// The last question identifier on any link. The owner copies it from one machine to the next, so that each question
  /// has a unique identifier.
  public var lastQuestion: UInt64 = 0
  var questions = PairingQuestions()
  /// The address of the peer in the connection.
  let peer: DeviceAddress
  let own: DeviceAddress
  let toolbox: SecurityToolbox
  var random: RandomSource
  var phase = Phase.idle
  /// Whether the application has accepted or started the current pairing.
  var hasConsent = false
  /// The identity address that the peer has distributed in the current pairing, or in the last one if that failed.
  public internal(set) var claimedIdentity: DeviceAddress?
  /// As the initiator: whether this device has ended the last pairing with Pairing Failed. PDUs that the peer had sent
  /// before it received that may arrive in the next pairing.
  private var ignoresLatePDUs = false
  /// The time at which ``tick(now:into:)`` must be called; nil while no pairing is active.
  public internal(set) var deadline: Instant?

  enum Phase: Sendable {
    case idle
    /// The initiator waits for the Pairing Response.
    case requested(PairingFeatures)
    /// The application decides whether to pair. The responder asks before it sends the Pairing Response; the initiator
    /// asks after it has received it, when the association model is known.
    case consent(Agreement)
    case legacy(LegacyPairing)
    case secureConnections(SecureConnectionsPairing)
    case encrypting(EncryptionStart)
    case distributing(KeyExchange)
    /// The peer has distributed the identity of a bonded device. The application decides whether to replace the bond.
    case replacement(KeyExchange)
    /// A timeout has occurred: on this link no further PDU is sent or handled.
    case closed
  }

  /// The machine of a new link.
  ///
  /// - Parameters:
  ///   - role: the role of this device.
  ///   - own: the address of this device in the connection.
  ///   - peer: the address of the peer in the connection, not the identity address that it resolves to.
  ///   - settings: the settings.
  ///   - cryptography: the cryptographic primitives.
  ///   - random: the source of keys and random values.
  public init(
    role: Role, own: DeviceAddress, peer: DeviceAddress, settings: PairingSettings,
    cryptography: some Cryptography, random: RandomSource
  ) {
    self.role = role
    self.own = own
    self.peer = peer
    self.settings = settings
    toolbox = SecurityToolbox(cryptography)
    self.random = random
  }

  /// Whether a pairing is active.
  public var isPairing: Bool {
    switch phase {
    case .idle, .closed: false
    case .requested, .consent, .legacy, .secureConnections, .encrypting, .distributing, .replacement: true
    }
  }

  /// Whether a timeout has occurred. No further pairing is then possible on this link.
  public var isClosed: Bool {
    if case .closed = phase { true } else { false }
  }

  /// Begins a pairing as the initiator (Vol 3, Part H, 2.3.1). An active pairing continues.
  ///
  /// - Parameters:
  ///   - isConsented: whether the application has requested the pairing, so that it is not asked for its consent.
  ///   - now: the current time.
  ///   - effects: gets the output.
  public mutating func start(isConsented: Bool, now: Instant, into effects: inout [PairingEffect]) {
    guard role == .initiator else { return }
    guard case .idle = phase else {
      if isConsented { consent(now: now, into: &effects) }
      return
    }
    guard !rejectsAttempts else {
      return effects.append(.failed(PairingFailure(.repeatedAttempts, at: .features)))
    }
    (hasConsent, claimedIdentity) = (isConsented, nil)
    let request = ownFeatures()
    phase = .requested(request)
    send(.pairingRequest(.init(request)), now: now, into: &effects)
  }

  /// Requests encryption or a pairing from the initiator, as the responder (Vol 3, Part H, 2.4.6).
  public mutating func requestSecurity(into effects: inout [PairingEffect]) {
    guard role == .responder, case .idle = phase else { return }
    effects.append(.send(.securityRequest(.init(authReq: settings.authReq))))
  }

  /// Receives one PDU of the Security Manager channel, without the L2CAP header.
  public mutating func receive(_ octets: Bytes, now: Instant, into effects: inout [PairingEffect]) {
    guard !isClosed else { return }
    let pdu: SMPPDU
    do throws(CodecError) {
      pdu = try SMPPDU(decoding: octets)
    } catch .invalid(field: "Code") {
      return  // Reserved codes are ignored (Vol 3, Part H, 3.3).
    } catch {
      return fail(.malformed, now: now, into: &effects)
    }
    do throws(PairingFault) {
      try handle(pdu, now: now, into: &effects)
    } catch {
      fail(error, isRejection: pdu.code == .pairingRequest && role == .responder, now: now, into: &effects)
    }
  }

  /// Receives the answer to a ``PairingEffect/ask(_:_:)``. An answer to a question that is not open, or an answer of
  /// the wrong kind, only results in ``PairingEffect/ignoredAnswer(_:)``.
  public mutating func answer(
    _ id: PairingQuestionID, _ answer: PairingAnswer, now: Instant, into effects: inout [PairingEffect]
  ) {
    do throws(PairingAnswerError) {
      _ = try questions.close(id, with: answer)
    } catch {
      return effects.append(.ignoredAnswer(error))
    }
    do throws(PairingFault) {
      switch phase {
      case .consent(let agreement):
        hasConsent = answer == .accept
        try receiveConsent(answer, agreement, now: now, into: &effects)
      case .replacement(let exchange): try receiveReplacement(answer, exchange, now: now, into: &effects)
      case .legacy(var pairing):
        try receive(answer, &pairing, now: now, into: &effects)
      case .secureConnections(var pairing):
        try receive(answer, &pairing, now: now, into: &effects)
      // A passkey that is shown stays open until the pairing ends. Its only answer is to reject.
      case .requested, .encrypting, .distributing: throw .cancelled
      // A pairing that ends closes its question, so none is open.
      case .idle, .closed: break
      }
    } catch {
      fail(error, now: now, into: &effects)
    }
  }

  mutating func ask(_ question: PairingQuestion, into effects: inout [PairingEffect]) {
    effects.append(.ask(questions.ask(question, after: &lastQuestion), question))
  }

  /// The key for an LE Long Term Key Request from the controller (Vol 4, Part E, 7.7.65.5); nil if the active pairing
  /// has not made a key with this identifier.
  public mutating func longTermKey(ediv: UInt16, rand: UInt64) -> LongTermKey? {
    guard role == .responder, ediv == 0, rand == 0, case .encrypting(var start) = phase else { return nil }
    start.isKeyInUse = true
    phase = .encrypting(start)
    return start.key
  }

  /// Receives the result of an encryption from the controller (Vol 4, Part E, 7.7.8).
  public mutating func encryptionChanged(isEnabled: Bool, now: Instant, into effects: inout [PairingEffect]) {
    guard case .encrypting(let start) = phase, start.isKeyInUse else { return }
    guard isEnabled else { return end(.encryption, into: &effects) }
    distribute(start, now: now, into: &effects)
  }

  /// Ends the pairing. Call it when the link has ended.
  public mutating func linkEnded(into effects: inout [PairingEffect]) {
    guard isPairing else { return }
    end(.linkLost, into: &effects)
  }

  /// Ends the pairing if the peer has not sent the next PDU in time (Vol 3, Part H, 3.4).
  public mutating func tick(now: Instant, into effects: inout [PairingEffect]) {
    guard let deadline, deadline <= now else { return }
    end(.timeout, into: &effects)
    phase = .closed
  }

  /// Sends a PDU of the pairing, and restarts the timeout (Vol 3, Part H, 3.4).
  mutating func send(_ pdu: SMPPDU, now: Instant, into effects: inout [PairingEffect]) {
    effects.append(.send(pdu))
    deadline = now + settings.timeout
  }

  /// Sends Pairing Failed and ends the active pairing. An unexpected PDU outside a pairing is answered in the same way.
  private mutating func fail(
    _ fault: PairingFault, isRejection: Bool = false, now: Instant, into effects: inout [PairingEffect]
  ) {
    effects.append(.send(.pairingFailed(.init(reason: fault.reason))))
    guard isPairing || isRejection else { return }
    if isPairing { ignoresLatePDUs = true }
    finish(.failed(PairingFailure(fault, at: step)), into: &effects)
  }

  /// Ends the pairing for a reason that neither device has sent.
  private mutating func end(_ origin: PairingFailure.Origin, into effects: inout [PairingEffect]) {
    finish(.failed(PairingFailure(.unspecifiedReason, origin, at: step)), into: &effects)
  }

  /// The step of the pairing, for the report of a failure.
  private var step: PairingStep {
    switch phase {
    case .idle, .requested, .closed: .features
    case .consent: .consent
    case .legacy(let pairing): .authentication(by: pairing.agreement.model)
    case .secureConnections(let pairing): pairing.step
    case .encrypting: .encryption
    case .distributing: .keyDistribution
    case .replacement: .bondReplacement
    }
  }

  mutating func finish(_ end: PairingEffect, into effects: inout [PairingEffect]) {
    phase = .idle
    deadline = nil
    if let id = questions.withdraw() { effects.append(.withdraw(id)) }
    effects.append(end)
  }

  private mutating func handle(
    _ pdu: SMPPDU, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFault) {
    switch pdu {
    case .pairingFailed(let failed):
      guard isPairing else { return }
      return finish(.failed(PairingFailure(failed.reason, .peer, at: step)), into: &effects)
    case .securityRequest(let request):
      guard role == .initiator else { throw .wrongRole(pdu.code) }
      // During a pairing it is ignored (Vol 3, Part H, 2.4.6).
      if case .idle = phase { effects.append(.securityRequested(request.authReq)) }
      return
    case .pairingRequest(let request): return try receive(request, now: now, into: &effects)
    case .pairingResponse, .pairingConfirm, .pairingRandom, .encryptionInformation, .centralIdentification,
      .identityInformation, .identityAddressInformation, .signingInformation, .pairingPublicKey, .pairingDHKeyCheck,
      .pairingKeypressNotification:
      break
    }
    switch phase {
    case .requested(let request):
      guard case .pairingResponse(let response) = pdu else {
        if ignoresLatePDUs { return }
        throw .unexpected(pdu.code)
      }
      ignoresLatePDUs = false
      try receive(response, to: request, now: now, into: &effects)
    case .legacy(var pairing): try receive(pdu, &pairing, now: now, into: &effects)
    case .secureConnections(var pairing): try receive(pdu, &pairing, now: now, into: &effects)
    case .distributing(var exchange): try receive(pdu, &exchange, now: now, into: &effects)
    case .idle, .consent, .encrypting, .replacement, .closed: throw .unexpected(pdu.code)
    }
  }
}

/// Calls a cryptographic function. Its errors become faults of the pairing.
func attempt<Value>(
  _ body: () throws(CryptographyError) -> Value
) throws(PairingFault) -> Value {
  do throws(CryptographyError) {
    return try body()
  } catch .notOnCurve {
    throw .publicKeyNotOnCurve
  } catch {
    throw .cryptographyFailed
  }
}
