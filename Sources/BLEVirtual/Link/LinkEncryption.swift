internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The encryption of a link and the procedures that start and pause it (Vol 6, Part B, 5.1.3; Vol 4, Part E, 7.8.24 to
/// 7.8.26).
///
/// ```
///  off ──host enables (central)──► requested ──LL_START_ENC_REQ──► on
///  off ──LL_ENC_REQ (peripheral)─► awaitingKey ──host's key──► starting ──LL_START_ENC_RSP──► on
///  on follows the same paths again with a new key; data waits during the procedure
/// ```
struct LinkEncryption: Sendable {
  private enum Procedure: Sendable {
    case none
    /// The central has sent LL_ENC_REQ.
    case requested(longTermKey: UInt128, sessionKeyDiversifier: UInt128)
    /// The peripheral waits for the key from its host.
    case awaitingKey(sessionKeyDiversifier: UInt128)
    /// The peripheral has sent LL_START_ENC_REQ and waits for LL_START_ENC_RSP; with airtime the central does too.
    case starting
    /// The peripheral has paused encryption and waits for the central's request.
    case paused
  }

  private var procedure = Procedure.none
  private var isOn = false
  /// LL_ENC_REQ for a new key. It is sent after both ends have paused encryption.
  private var requestAfterPause: LinkLayerPDU?

  /// Whether a procedure is in progress. Data then waits (Vol 6, Part B, 5.1.3.1).
  var isInProgress: Bool { if case .none = procedure { false } else { true } }

  /// Whether the peripheral waits for the key from its host.
  var awaitsKey: Bool { if case .awaitingKey = procedure { true } else { false } }

  /// Whether PDUs from this end currently have a message integrity check (Vol 6, Part B, 5.1.3).
  func protectsPDUs(of role: HCI.Role) -> Bool {
    switch procedure {
    case .none: isOn
    case .requested: isOn && requestAfterPause != nil
    case .starting: role == .central
    case .awaitingKey, .paused: false
    }
  }

  // MARK: Central

  /// Whether LE Enable Encryption is allowed: only for the central, one procedure at a time.
  func mayBegin(as role: HCI.Role) -> Bool { role == .central && !isInProgress }

  /// Performs LE Enable Encryption: sends LL_ENC_REQ. With airtime, an encrypted link pauses encryption first (Vol 6,
  /// Part B, 5.1.3.2).
  mutating func begin(
    _ command: HCI.LEEnableEncryption, diversifier: UInt128, _ turn: inout ProcedureTurn, _ pacing: VirtualRadio.Pacing
  ) {
    procedure = .requested(longTermKey: command.longTermKey, sessionKeyDiversifier: diversifier)
    let request = LinkLayerPDU.encryptionRequest(
      randomNumber: command.randomNumber, encryptedDiversifier: command.encryptedDiversifier,
      sessionKeyDiversifier: diversifier)
    if pacing == .airtime, isOn {
      requestAfterPause = request
      turn.send(.pauseEncryptionRequest)
    } else {
      turn.send(request)
    }
  }

  /// Receives LL_PAUSE_ENC_RSP: confirms the pause and requests encryption with the new key.
  mutating func resume(_ turn: inout ProcedureTurn) {
    guard let request = requestAfterPause else { return }
    requestAfterPause = nil
    turn.send(.pauseEncryptionResponse)
    turn.send(request)
  }

  /// Receives LL_START_ENC_REQ and compares the session keys. They are equal if both hosts provided the same long term
  /// key.
  ///
  /// Otherwise the message integrity check of the first encrypted packet fails, and both ends end the link at once.
  mutating func start(_ sessionKey: UInt128, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext) {
    guard case .requested(let key, let diversifier) = procedure else { return }
    guard let own = try? context.cryptography.encrypt(diversifier, key: key),
      context.cryptography.areEqual(own, sessionKey)
    else {
      turn.send(.integrityFailure)
      return turn.end(.terminatedMICFailure)
    }
    turn.send(.encryptionStarted)
    if context.pacing == .airtime {
      procedure = .starting
    } else {
      finish(.success, &turn, &context)
    }
  }

  // MARK: Peripheral

  /// Receives LL_PAUSE_ENC_REQ.
  mutating func pause(_ turn: inout ProcedureTurn) {
    procedure = .paused
    turn.send(.pauseEncryptionResponse)
  }

  /// Receives LL_ENC_REQ: requests the long term key from the host.
  mutating func receiveRequest(
    _ randomNumber: UInt64, _ encryptedDiversifier: UInt16, sessionKeyDiversifier: UInt128, _ turn: inout ProcedureTurn,
    _ context: inout VirtualRadioContext
  ) {
    guard turn.controller.features.contains(.encryption) else {
      return turn.send(.encryptionReject(.unsupportedRemoteFeature))
    }
    if context.pacing == .airtime { turn.send(.encryptionResponse) }
    procedure = .awaitingKey(sessionKeyDiversifier: sessionKeyDiversifier)
    let isAsked = turn.host.send(
      HCI.LELongTermKeyRequest {
        $0.connectionHandle = turn.handle
        $0.randomNumber = randomNumber
        $0.encryptedDiversifier = encryptedDiversifier
      }, &context)
    if !isAsked { reject(&turn) }
  }

  /// Performs LE Long Term Key Request Reply.
  mutating func reply(with longTermKey: UInt128, _ turn: inout ProcedureTurn, _ cryptography: any Cryptography) {
    guard case .awaitingKey(let diversifier) = procedure else { return }
    guard let key = try? cryptography.encrypt(diversifier, key: longTermKey) else { return reject(&turn) }
    procedure = .starting
    turn.send(.startEncryption(sessionKey: key))
  }

  /// Rejects encryption without a key. An encrypted link ends (Vol 6, Part B, 5.1.3.2).
  mutating func reject(_ turn: inout ProcedureTurn) {
    if isOn {
      turn.send(.terminate(.pinOrKeyMissing))
    } else {
      procedure = .none
      turn.send(.encryptionReject(.pinOrKeyMissing))
      turn.releaseData()
    }
  }

  // MARK: Both

  /// Receives LL_START_ENC_RSP.
  mutating func receiveStarted(_ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext) {
    if context.pacing == .airtime, turn.role == .peripheral { turn.send(.encryptionStarted) }
    finish(.success, &turn, &context)
  }

  /// Ends the procedure: reports the result to the host and sends the waiting data.
  mutating func finish(_ status: HCIErrorCode, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext) {
    let wasOn = isOn
    procedure = .none
    if status.isSuccess { isOn = true }
    if wasOn {
      turn.host.send(
        HCI.EncryptionKeyRefreshComplete {
          $0.status = status
          $0.connectionHandle = turn.handle
        }, &context)
    } else if turn.host.allows(.encryptionChangeV2) {
      turn.host.send(
        HCI.EncryptionChangeV2 {
          $0.status = status
          $0.connectionHandle = turn.handle
          $0.encryptionEnabled = status.isSuccess ? .on : .off
          $0.encryptionKeySize = status.isSuccess ? 16 : 0
        }, &context)
    } else {
      turn.host.send(
        HCI.EncryptionChange {
          $0.status = status
          $0.connectionHandle = turn.handle
          $0.encryptionEnabled = status.isSuccess ? .on : .off
        }, &context)
    }
    turn.releaseData()
  }
}
