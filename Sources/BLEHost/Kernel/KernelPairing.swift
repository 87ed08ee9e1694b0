import BLESMP
import BLEWire

/// What the kernel reports about one link.
enum KernelLinkReport: Sendable {
  /// A pairing needs an answer.
  case asked(PairingQuestion)
  /// A pairing has failed.
  case failed
  /// The strength of the key that encrypts the link; nil: it is not encrypted.
  case level(KeyStrength?)
  /// The peer has distributed this identity address.
  case identified(DeviceAddress)
  /// The pairing of the link has made its first key. The report is the one to repeat if the application is asked first.
  case keyMade(PairingOutcome, of: DeviceAddress, KernelReport)
  /// The keys of the pairing are refused.
  case keysRefused(PairingFailure, claimed: DeviceAddress)
}

/// One pairing of the kernel on one link, or a request to secure the link, as far as the kernel reports it.
struct KernelPairing: Sendable {
  /// The kernel was asked to secure the link, or has asked a question, and there is no result yet.
  var isUnderWay = false
  /// We requested it: until it has succeeded the kernel carries no ATT on the link.
  var isOurs = false
  /// The application requested it as the central, which is its consent.
  var isRequested = false
  /// A pairing is known to be in progress, so a key is a new one.
  var isPairing = false
  /// The link is encrypted with its key.
  var isKeyInUse = false
  /// The application agreed to an unauthenticated pairing, or began it.
  var hasConsent = false
  /// The device whose bond the application is asked to have replaced, and the one whose bond it agreed to.
  var replacing: DeviceAddress?
  var agreedReplacement: DeviceAddress?
  /// The question that has no answer.
  var questions = PairingQuestions()
  /// Reports of an unauthenticated pairing that the kernel made without a question. They count when the
  /// application agrees.
  var withheld: [KernelReport] = []
  /// Why we ended the pairing; nil if we did not.
  var refusal: PairingFailure?

  /// A level, and two keys of legacy pairing with what signs.
  static let withheldLimit = 8

  /// The application agreed to an unauthenticated pairing, and to what it replaces.
  mutating func agree(to question: PairingQuestion) {
    guard question == .consent || question == .replaceBond else { return }
    hasConsent = true
    if question == .replaceBond { agreedReplacement = replacing }
  }

  /// Whether the application has to agree to a key of this strength.
  func needsConsent(to strength: KeyStrength, _ settings: PairingSettings?) -> Bool {
    settings?.asksConsent == true && !strength.isAuthenticated && !hasConsent
  }

  /// The question to the application before a key counts that an unauthenticated pairing has made for `identity`; nil
  /// if it has agreed, or does not have to.
  mutating func question(
    before outcome: PairingOutcome, of identity: DeviceAddress, _ context: SecurityContext
  ) -> PairingQuestion? {
    guard !outcome.strength.isAuthenticated else { return nil }
    if outcome.isBonded, agreedReplacement != identity, context.replacement(of: identity) == .ask {
      replacing = identity
      return .replaceBond
    }
    return needsConsent(to: outcome.strength, context.settings) ? .consent : nil
  }

  /// Takes the withheld reports: the last level first, because a key ends the pairing.
  mutating func takeWithheld() -> [KernelReport] {
    func isLevel(_ report: KernelReport) -> Bool { if case .level = report { true } else { false } }
    defer { withheld = [] }
    return withheld.filter(isLevel).suffix(1) + withheld.filter { !isLevel($0) }
  }
}
