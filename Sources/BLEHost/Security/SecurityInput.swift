import BLEHCI
import BLESMP
import BLEWire

/// One input of the security manager of a link. The router supplies the facts that it depends on (``SecurityContext``).
enum SecurityInput: Sendable {
  /// A PDU of the peer.
  case pdu([UInt8])
  /// The kernel reports something about the link.
  case report(KernelLinkReport)
  /// An owner requests security, with a demand or without.
  case requested(by: OwnerID, SecurityDemand? = nil)
  /// The peer has refused an operation of our client because the link lacks security.
  case refused
  /// The link is to be encrypted with the key of the bond before our client sends.
  case bond
  /// The application answers a question.
  case answer(PairingQuestionID, PairingAnswer)
  /// The central encrypts and names the key.
  case keyRequested(HCI.LELongTermKeyRequest)
  /// The kernel has no key for a central that encrypts (Vol 4, Part E, 7.8.26).
  case keyMissed
  /// The controller reports the encryption of the link.
  case encryptionChanged(HCIErrorCode, isOn: Bool)
  /// The controller did not accept the command to encrypt.
  case encryptionFailed(HCIErrorCode)
  /// The level of ``SecurityEffect/encrypted(_:)`` is in force.
  case levelApplied(KeyStart)
  case tick
}
