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
