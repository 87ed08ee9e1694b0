import BLESMP
import BLEWire

/// How far the system's security manager is with one link, as far as it tells.
struct SystemPairing: Sendable {
  /// It was asked to secure the link, or has asked us something: nothing has come of it yet.
  var isUnderWay = false
  /// We asked for it: until it has come about the kernel carries no ATT on the link.
  var isOurWish = false
  /// The application asked for it as the central, which is its consent.
  var isRequested = false
  /// A pairing is known to be under way, so that a key is a new one.
  var isPairing = false
  /// The application agreed to an unauthenticated pairing, or began it.
  var hasConsent = false
  /// The device whose bond the application is asked to have replaced, and the one whose bond it agreed to.
  var replacing: DeviceAddress?
  var agreedReplacement: DeviceAddress?
  /// What it asked last and has no answer to.
  var questions = PairingQuestions()
  /// Its reports of an unauthenticated pairing that it made without a question. They count when the application agrees.
  var withheld: [SecurityReport] = []
  /// Why we ended the pairing, where we did.
  var refusal: PairingFailure?

  /// A level, and two keys of legacy pairing with what signs.
  static let withheldLimit = 8
}

/// What the system has told of one device's keys, until the link ends or another pairing begins.
struct SystemPairingOutcome: Sendable {
  /// The link whose pairing made the keys; nil where it has ended.
  var link: PeerID?
  /// The application agreed to the pairing whose link has ended.
  var hasConsent = false
  /// The device whose bond it agreed to have replaced.
  var agreedReplacement: DeviceAddress?
  /// The system named the device's identity in this pairing.
  var isIdentified = false
  /// Another link has that identity, or it cannot be told whose pairing it was: the keys are refused.
  var isRefused = false
  var identityResolvingKey: SecretKey?
  var peerCSRK: SecretKey?
  var ownCSRK: SecretKey?
  /// The first key has come, and with it the news that the devices are paired.
  var isAnnounced = false

  /// Devices whose keys may be on their way at once.
  static let limit = 32
}
