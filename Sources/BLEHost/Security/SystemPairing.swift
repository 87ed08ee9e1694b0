import BLESMP
import BLEWire

/// How far the system's security manager is with one link, as far as it tells.
struct SystemPairing: Sendable {
  /// It was asked to secure the link, or has asked us something: nothing has come of it yet.
  var isUnderWay = false
  /// We asked for it: until it has come about the kernel carries no ATT on the link.
  var isOurWish = false
  /// A pairing is known to be under way, so that a key is a new one.
  var isPairing = false
  /// What it asked last and has no answer to.
  var questions = PairingQuestions()
  /// The application agreed to an unauthenticated pairing.
  var hasConsent = false
  /// Why we ended the pairing, where we did.
  var refusal: PairingFailure?
}

/// What the system has told of one device's keys, until the link ends or another pairing begins.
struct SystemPairingOutcome: Sendable {
  /// The private address that the device used before it told its identity.
  var usedAddress: DeviceAddress?
  var identityResolvingKey: SecretKey?
  var peerCSRK: SecretKey?
  var ownCSRK: SecretKey?
  /// The first key has come, and with it the news that the devices are paired.
  var isAnnounced = false

  /// Devices whose keys may be on their way at once.
  static let limit = 32
}
