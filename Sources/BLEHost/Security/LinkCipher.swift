import BLEHCI
import BLESMP
import BLEWire

/// What the controller and the system's security manager say of the encryption of one link.
struct LinkCipher: Sendable {
  /// What the system's security manager said of the key that is in use.
  var systemStrength: KeyStrength?
  /// Whether the controller says that the link is encrypted, whatever key that is with.
  var isOn = false
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
    guard link.manager.isStartingWithBond || link.client.reconnection.isPending else { return nil }
    switch reason {
    case .terminatedMICFailure, .authenticationFailure: self = .keysDiffer
    case .pinOrKeyMissing: self = .forgottenByPeer
    case .linkLayerResponseTimeout: self = .notEncrypted(reason)
    // The kernel ends a link that it could not encrypt.
    case .terminatedByLocalHost where link.system.isUnderWay && !link.isClosing: self = .notEncrypted(reason)
    default: return nil
    }
  }
}
