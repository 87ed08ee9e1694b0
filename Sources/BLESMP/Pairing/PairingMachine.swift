package import BLECrypto
package import BLEWire

/// One link's side of the Security Manager Protocol (Vol 3, Part H, 2.3 and 2.4).
///
/// ```
///          Pairing Request                 confirm, random, …                  Encryption Change
///   idle ──────────────────► features ──┬► legacy ──────────────┐ key made ┌─► distributing ──► idle
///    ▲                                  └► secureConnections ───┴► encrypting
///    │          anything wrong, from any state: Pairing Failed      │
///    └──────────────────────────────────────────────────────────────┘       30 s of silence ──► closed
/// ```
///
/// The machine decides nothing about encryption of links with keys that are there already: the host does, and keeps the
/// keys. It asks nobody to pair by itself: ``start(now:into:)`` and ``requestSecurity(into:)`` are called for that.
package struct PairingMachine: Sendable {
  package enum Role: Hashable, Sendable { case initiator, responder }

  package let role: Role
  package var settings: PairingSettings
  /// Whether Pairing Requests are refused with Repeated Attempts: the host's memory of earlier failures says so.
  package var refusesAttempts = false
  /// The last identifier that the host has given to a question, on any link; the host keeps it across machines.
  package var lastQuestion: UInt64 = 0
  var questions = PairingQuestions()
  /// The device that the link was made with, by the address it used on the air.
  let peer: DeviceAddress
  let own: DeviceAddress
  let toolbox: SecurityToolbox
  var random: RandomSource
  var phase = Phase.idle
  /// Whether the application agreed to the pairing under way, or began it.
  var hasConsent = false
  /// The identity that the peer named in the pairing under way or, where that has failed, in the last one.
  package internal(set) var claimedIdentity: DeviceAddress?
  package internal(set) var deadline: Instant?

  enum Phase: Sendable {
    case idle
    /// The initiator waits for the Pairing Response.
    case requested(PairingFeatures)
    /// The application is asked whether it wants to pair at all: the responder's before it answers the Pairing Request, the
    /// initiator's after the Pairing Response, when the association model is known.
    case consent(Agreement)
    case legacy(LegacyPairing)
    case secureConnections(SecureConnectionsPairing)
    case encrypting(EncryptionStart)
    case distributing(KeyExchange)
    /// The peer has named a bonded device as its identity; the application is asked whether the bond is replaced.
    case replacement(KeyExchange)
    /// After a timeout: nothing is sent or taken until the link is made anew.
    case closed
  }

  /// - Parameters:
  ///   - own: the address that the link was made with on our side.
  ///   - peer: the peer's address as it was on the air, not the identity it resolves to.
  package init(
    role: Role, own: DeviceAddress, peer: DeviceAddress, settings: PairingSettings,
    cryptography: any Cryptography, random: RandomSource
  ) {
    self.role = role
    self.own = own
    self.peer = peer
    self.settings = settings
    toolbox = SecurityToolbox(cryptography)
    self.random = random
  }

  /// Whether a pairing is under way.
  package var isPairing: Bool {
    switch phase {
    case .idle, .closed: false
    default: true
    }
  }

  /// Whether a timeout has ended all pairing on this link.
  package var isClosed: Bool {
    if case .closed = phase { true } else { false }
  }

  /// The initiator begins (2.3.1). Where a pairing is under way already, that one goes on.
  ///
  /// - Parameter isConsented: the application itself wants to pair with this device, and is not asked for consent.
  package mutating func start(isConsented: Bool, now: Instant, into effects: inout [PairingEffect]) {
    guard role == .initiator else { return }
    guard case .idle = phase else {
      if isConsented { consent(now: now, into: &effects) }
      return
    }
    guard !refusesAttempts else { return effects.append(.failed(PairingFailure(.repeatedAttempts, .local))) }
    (hasConsent, claimedIdentity) = (isConsented, nil)
    let request = offer()
    phase = .requested(request)
    send(.pairingRequest(request), now: now, into: &effects)
  }

  /// The responder asks the initiator to encrypt or pair (2.4.6).
  package mutating func requestSecurity(into effects: inout [PairingEffect]) {
    guard role == .responder, case .idle = phase else { return }
    effects.append(.send(.securityRequest(SecurityRequest(authReq: settings.authReq))))
  }

  /// Takes one PDU of the Security Manager's channel.
  package mutating func receive(_ octets: Bytes, now: Instant, into effects: inout [PairingEffect]) {
    guard !isClosed else { return }
    let pdu: SMPPDU
    do throws(CodecError) {
      pdu = try SMPPDU(decoding: octets)
    } catch .invalid(field: "Code") {
      return  // Reserved codes are ignored (3.3).
    } catch {
      return fail(.invalidParameters, now: now, into: &effects)
    }
    do throws(PairingFailedReason) {
      try handle(pdu, now: now, into: &effects)
    } catch {
      fail(error, isRefusal: pdu.code == .pairingRequest && role == .responder, now: now, into: &effects)
    }
  }

  /// Takes the answer to one ``PairingEffect/ask(_:_:)``. An answer to a question that is not open, and one of another
  /// kind than the question asks for, change nothing.
  package mutating func answer(
    _ id: PairingQuestionID, _ answer: PairingAnswer, now: Instant, into effects: inout [PairingEffect]
  ) {
    do throws(PairingAnswerFault) {
      _ = try questions.close(id, with: answer)
    } catch {
      return effects.append(.ignoredAnswer(error))
    }
    do throws(PairingFailedReason) {
      switch phase {
      case .consent(let agreement):
        hasConsent = answer == .accept
        try consented(agreement, answer, now: now, into: &effects)
      case .replacement(let exchange): try replace(exchange, answer, now: now, into: &effects)
      case .legacy(var pairing):
        try answered(&pairing, answer, now: now, into: &effects)
      case .secureConnections(var pairing):
        try answered(&pairing, answer, now: now, into: &effects)
      // What is displayed stays open until the pairing ends; its one answer is no.
      case .requested, .encrypting, .distributing: throw .unspecifiedReason
      // A question is closed with its pairing.
      case .idle, .closed: break
      }
    } catch {
      fail(error, now: now, into: &effects)
    }
  }

  mutating func ask(_ question: PairingQuestion, into effects: inout [PairingEffect]) {
    effects.append(.ask(questions.ask(question, after: &lastQuestion), question))
  }

  /// The key with this name, where it is one of the pairing under way (Vol 4, Part E, 7.7.65.5).
  package mutating func longTermKey(ediv: UInt16, rand: UInt64) -> LongTermKey? {
    guard role == .responder, ediv == 0, rand == 0, case .encrypting(var start) = phase else { return nil }
    start.isKeyInUse = true
    phase = .encrypting(start)
    return start.key
  }

  /// The controller says that the link is encrypted, or that it could not be.
  package mutating func encryptionChanged(isEnabled: Bool, now: Instant, into effects: inout [PairingEffect]) {
    guard case .encrypting(let start) = phase, start.isKeyInUse else { return }
    guard isEnabled else { return finish(.failed(PairingFailure(.unspecifiedReason, .encryption)), into: &effects) }
    distribute(start, now: now, into: &effects)
  }

  /// The link ended.
  package mutating func linkEnded(into effects: inout [PairingEffect]) {
    guard isPairing else { return }
    finish(.failed(PairingFailure(.unspecifiedReason, .linkLost)), into: &effects)
  }

  package mutating func tick(now: Instant, into effects: inout [PairingEffect]) {
    guard let deadline, deadline <= now else { return }
    finish(.failed(PairingFailure(.unspecifiedReason, .timeout)), into: &effects)
    phase = .closed
  }

  /// Sends a PDU of the pairing, which gives the peer another 30 seconds (3.4).
  mutating func send(_ pdu: SMPPDU, now: Instant, into effects: inout [PairingEffect]) {
    effects.append(.send(pdu))
    deadline = now + settings.timeout
  }

  /// Ends what is under way and tells the peer why; a stray PDU is answered the same way while nothing is.
  private mutating func fail(
    _ reason: PairingFailedReason, isRefusal: Bool = false, now: Instant, into effects: inout [PairingEffect]
  ) {
    effects.append(.send(.pairingFailed(PairingFailed(reason: reason))))
    guard isPairing || isRefusal else { return }
    finish(.failed(PairingFailure(reason, .local)), into: &effects)
  }

  mutating func finish(_ end: PairingEffect, into effects: inout [PairingEffect]) {
    phase = .idle
    deadline = nil
    if let id = questions.withdraw() { effects.append(.withdraw(id)) }
    effects.append(end)
  }

  private mutating func handle(
    _ pdu: SMPPDU, now: Instant, into effects: inout [PairingEffect]
  ) throws(PairingFailedReason) {
    switch pdu {
    case .pairingFailed(let failed):
      guard isPairing else { return }
      return finish(.failed(PairingFailure(failed.reason, .peer)), into: &effects)
    case .securityRequest(let request):
      guard role == .initiator else { throw .commandNotSupported }
      // While a pairing is under way it is answered by that (2.4.6).
      if case .idle = phase { effects.append(.securityRequested(request.authReq)) }
      return
    case .pairingRequest(let request): return try requested(request, now: now, into: &effects)
    default: break
    }
    switch phase {
    case .requested(let request):
      guard case .pairingResponse(let response) = pdu else { throw .unspecifiedReason }
      try responded(Agreement(request, response, own: own, peer: peer, role: role), now: now, into: &effects)
    case .legacy(var pairing): try receive(pdu, &pairing, now: now, into: &effects)
    case .secureConnections(var pairing): try receive(pdu, &pairing, now: now, into: &effects)
    case .distributing(var exchange): try receive(pdu, &exchange, now: now, into: &effects)
    case .idle, .consent, .encrypting, .replacement, .closed: throw .unspecifiedReason
    }
  }
}

extension PairingFailedReason: Error {}

/// Runs cryptography inside a pairing: a forged key is the peer's fault, anything else is nobody's.
func attempt<Value>(
  _ body: () throws(CryptographyError) -> Value
) throws(PairingFailedReason) -> Value {
  do throws(CryptographyError) {
    return try body()
  } catch .notOnCurve {
    throw .invalidParameters
  } catch {
    throw .unspecifiedReason
  }
}
