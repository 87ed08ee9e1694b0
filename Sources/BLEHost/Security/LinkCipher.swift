import BLEHCI
import BLESMP
import BLEWire

/// How far the encryption of one link has come: which key the controller was given, and whose it is.
///
/// ```
///   plain ──key given──► starting(key of a pairing, or of a bond) ──Encryption Change: on──► encrypted
///     ▲                        │ failed                                                        │ off
///     └────────────────────────┴───────────────────────────────────────────────────────────────┘
/// ```
struct LinkCipher: Sendable {
  enum Origin: Equatable, Sendable { case pairing, bond }
  struct Start: Equatable, Sendable {
    var strength: KeyStrength
    var origin: Origin
  }

  /// The key that the controller was given and has not spoken of yet.
  var start: Start?
  /// What the system's security manager said of the key that is in use.
  var systemStrength: KeyStrength?
  /// Whether the controller says that the link is encrypted, whatever key that is with.
  var isOn = false
  /// Whether the peer asked to be given a key that is not here.
  var hasMissedKey = false
}

extension BondLoss {
  /// The bond loss that a failed encryption means; nil where the link has ended, which means none.
  init?(encryptionFailed status: HCIErrorCode) {
    switch status {
    case .pinOrKeyMissing: self = .forgottenByPeer
    case .terminatedMICFailure, .authenticationFailure: self = .keysDiffer
    case .unknownConnectionIdentifier, .connectionTimeout, .remoteUserTerminatedConnection,
      .remoteDeviceTerminatedLowResources, .remoteDeviceTerminatedPowerOff, .terminatedByLocalHost,
      .connectionFailedToBeEstablished:
      return nil
    default: self = .notEncrypted(status)
    }
  }

  /// The bond loss that the end of a link means while it was being encrypted; nil where it means none. With different keys the
  /// controllers end the link at the first encrypted PDU (Vol 6, Part B, 5.1.3.1).
  init?(linkEnded reason: HCIErrorCode, of link: Link) {
    guard link.cipher.start?.origin == .bond || link.client.reconnection.isPending else { return nil }
    switch reason {
    case .terminatedMICFailure, .authenticationFailure: self = .keysDiffer
    case .pinOrKeyMissing: self = .forgottenByPeer
    case .linkLayerResponseTimeout: self = .notEncrypted(reason)
    // The kernel ends a link that it could not encrypt.
    case .terminatedByLocalHost where link.system.isUnderWay && !link.hasAskedToEnd: self = .notEncrypted(reason)
    default: return nil
    }
  }
}
