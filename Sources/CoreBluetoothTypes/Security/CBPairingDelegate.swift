import BLEHost
import BLESMP
public import Foundation

/// Hears of pairing and trust, and answers what only the user or the program can; CoreBluetooth has no such thing, there
/// the system does it.
///
/// Calls come on the manager's queue. All have defaults: questions are declined, news is passed over.
///
/// A ``PairingReply`` answers the question it came with and no other: an answer that comes after the question was answered,
/// or after its pairing has ended, changes nothing and is logged.
public protocol CBPairingDelegate: AnyObject {
  /// Somebody wants to pair and nothing vouches for them; asked only with ``PairingOptions/asksConsent``.
  func manager(_ manager: CBManager, shouldPairWith peer: CBPeer, reply: PairingReply)

  /// A device pairs without authentication under the identity of a bonded device, and has not proven that it is this
  /// device: it has forgotten the bond, or it is another one. Asked only with
  /// ``PairingOptions/BondReplacement-swift.enum/ask``. ``PairingReply/accept()`` replaces the bond.
  func manager(_ manager: CBManager, shouldReplaceBondOf peer: CBPeer, reply: PairingReply)

  /// Show these six digits to the user, who types them on the other device, until
  /// ``manager(_:didWithdrawQuestion:of:)`` names the reply. ``PairingReply/reject()`` ends the pairing; no other answer is
  /// expected. The default calls ``manager(_:display:toPairWith:)``.
  func manager(_ manager: CBManager, display passkey: String, toPairWith peer: CBPeer, reply: PairingReply)

  /// As ``manager(_:display:toPairWith:reply:)``, for a user who cannot reject.
  func manager(_ manager: CBManager, display passkey: String, toPairWith peer: CBPeer)

  /// The user of the other device types the passkey that is shown here, where that device tells (Vol 3, Part H, 3.5.8).
  func manager(_ manager: CBManager, peer: CBPeer, didType keypress: PasskeyKeypress)

  /// Ask the user for the passkey that the other device shows, and ``PairingReply/enter(passkey:)``.
  func manager(_ manager: CBManager, enterPasskeyToPairWith peer: CBPeer, reply: PairingReply)

  /// Ask the user whether the other device shows the same six digits.
  func manager(_ manager: CBManager, compare number: String, toPairWith peer: CBPeer, reply: PairingReply)

  /// A question is void: close its dialogue. Its pairing has ended without an answer to it (failed, the link lost), or
  /// another question has taken its place. For digits that are displayed this call always comes, when the pairing ends.
  ///
  /// - Parameter id: ``PairingReply/id`` of the reply that came with the question.
  func manager(_ manager: CBManager, didWithdrawQuestion id: PairingReply.ID, of peer: CBPeer)

  /// The devices are paired. `bond` is there where they will know each other again; its identifier is the peer's from the
  /// next link on. On this one a device that came with a private address keeps the identifier it came with.
  func manager(_ manager: CBManager, didPairWith peer: CBPeer, bond: Bond?)
  func manager(_ manager: CBManager, didFailToPairWith peer: CBPeer, error: PairingError)

  /// The link is encrypted now, by a pairing or by the keys of an earlier one, or is no longer.
  func manager(_ manager: CBManager, didChangeSecurityOf peer: CBPeer, to security: PeerSecurity)

  /// A bond was removed: by ``CBManager/remove(_:)``, or to make room for a newer one.
  func manager(_ manager: CBManager, didRemoveBondOf identifier: UUID)

  /// A pairing replaced the bond of this device without proof that it is the same device: it has forgotten the bond, or
  /// another device has taken its place. ``manager(_:didPairWith:bond:)`` follows.
  func manager(_ manager: CBManager, didReplaceBondOf peer: CBPeer)

  /// The link was to be encrypted with the keys of a bond and could not be; the error says what mends it.
  func manager(_ manager: CBManager, didLoseBondOf peer: CBPeer, error: BondLostError)
}

extension CBPairingDelegate {
  public func manager(_ manager: CBManager, shouldPairWith peer: CBPeer, reply: PairingReply) { reply.reject() }
  public func manager(_ manager: CBManager, shouldReplaceBondOf peer: CBPeer, reply: PairingReply) { reply.reject() }
  public func manager(_ manager: CBManager, display passkey: String, toPairWith peer: CBPeer, reply: PairingReply) {
    self.manager(manager, display: passkey, toPairWith: peer)
  }
  public func manager(_ manager: CBManager, display passkey: String, toPairWith peer: CBPeer) {}
  public func manager(_ manager: CBManager, peer: CBPeer, didType keypress: PasskeyKeypress) {}
  public func manager(_ manager: CBManager, enterPasskeyToPairWith peer: CBPeer, reply: PairingReply) { reply.reject() }
  public func manager(_ manager: CBManager, compare number: String, toPairWith peer: CBPeer, reply: PairingReply) {
    reply.reject()
  }
  public func manager(_ manager: CBManager, didWithdrawQuestion id: PairingReply.ID, of peer: CBPeer) {}
  public func manager(_ manager: CBManager, didPairWith peer: CBPeer, bond: Bond?) {}
  public func manager(_ manager: CBManager, didFailToPairWith peer: CBPeer, error: PairingError) {}
  public func manager(_ manager: CBManager, didChangeSecurityOf peer: CBPeer, to security: PeerSecurity) {}
  public func manager(_ manager: CBManager, didRemoveBondOf identifier: UUID) {}
  public func manager(_ manager: CBManager, didReplaceBondOf peer: CBPeer) {}
  public func manager(_ manager: CBManager, didLoseBondOf peer: CBPeer, error: BondLostError) {}
}

/// Answers one question, once, on any thread; within 30 seconds, after which the other device ends the pairing.
///
/// It is bound to its question. A second answer, an answer after ``CBPairingDelegate/manager(_:didWithdrawQuestion:of:)``, and
/// an answer of another kind than the question asks for change nothing and are logged.
public struct PairingReply: Sendable, Identifiable {
  /// Identifies the question among all questions of the adapter, for as long as the process lives.
  public struct ID: Hashable, Sendable {
    let rawValue: UInt64
  }

  let link: any HostLink
  let peer: PeerID
  let question: PairingQuestionID

  public var id: ID { ID(rawValue: question.rawValue) }

  /// Says yes: to pair, or that the numbers agree.
  public func accept() { answer(.accept) }

  /// Says no, or ends the pairing whose digits are displayed.
  public func reject() { answer(.reject) }

  /// - Parameter passkey: 0 to 999999; a larger number rejects.
  public func enter(passkey: UInt32) { answer(Passkey(passkey).map { .passkey($0) } ?? .reject) }

  private func answer(_ answer: PairingAnswer) { link.post(.answerPairing(peer, question, answer)) }
}

/// What somebody does who types a passkey; which digits they are, nobody tells.
public enum PasskeyKeypress: UInt8, Sendable {
  case started = 0, digitEntered, digitErased, cleared, completed
}

/// What a link is worth.
public struct PeerSecurity: Hashable, Sendable {
  /// LE security mode 1, levels 1 to 4 (Vol 3, Part C, 10.2.1).
  public enum Level: Int, Comparable, Sendable {
    case none = 1
    /// Encrypted; nobody vouches for who is at the other end.
    case encrypted
    /// Encrypted, and protected against somebody in the middle.
    case authenticated
    /// As before, with LE Secure Connections and a key of 128 bits.
    case secureConnections

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  public var level: Level
  /// The length of the encryption key in octets; 0 on a link in the clear.
  public var keySize: Int
  /// Whether a bond is stored for the address that the peer uses. Any device can use that address: decide by
  /// ``isBondProven``.
  public var isBonded: Bool
  /// Whether the peer has proven on this link that it is the bonded device: the link is encrypted with the bond's key, or
  /// the pairing on it made the bond.
  public var isBondProven: Bool
  /// Whether ``CBPeripheralManager/setAuthorized(_:for:)`` let this central in.
  public var isAuthorized: Bool
}

/// Why a pairing failed, and who ended it.
public struct PairingError: Error, Hashable, Sendable, CustomStringConvertible, LocalizedError {
  /// The reason as it travels (Vol 3, Part H, 3.5.5).
  public let reason: UInt8
  public let description: String

  init(_ failure: PairingFailure) {
    reason = failure.reason.rawValue
    description = "the pairing failed, \(failure)"
  }

  public var errorDescription: String? { description }
}

/// How a bond turned out to be worthless, and what mends it.
public struct BondLostError: Error, Hashable, Sendable, CustomStringConvertible, LocalizedError {
  public enum Cause: Hashable, Sendable {
    /// The other device does not have the key any more.
    case forgottenByPeer
    /// The other device has a key that is not here.
    case missingHere
    /// Both have one, and they differ.
    case keysDiffer
    /// The link could not be encrypted, for another reason: the other device does not answer, or cannot encrypt.
    case notEncrypted
  }

  public let cause: Cause
  public let description: String

  init(_ loss: BondLoss) {
    cause =
      switch loss {
      case .forgottenByPeer: .forgottenByPeer
      case .missingHere: .missingHere
      case .keysDiffer: .keysDiffer
      case .notEncrypted: .notEncrypted
      }
    description = "\(loss)"
  }

  public var errorDescription: String? { description }
}
