public import BLEAdapter
public import BLEHost
public import Foundation

/// The delegate for pairing and security. CoreBluetooth has none: there the system asks the user.
///
/// Calls come on the manager's queue. All have defaults: questions are declined, reports are ignored.
///
/// A `PairingReply` answers the question it came with and no other: an answer that comes after the question was
/// answered, or after its pairing has ended, changes nothing and is logged.
///
/// Declare the conformance at the class that has the methods. A method that only a subclass of the conforming class has
/// is not called: Swift on Linux chooses the methods of a protocol where the conformance is declared. The log names
/// such a class once.
public protocol CBPairingDelegate: AnyObject {
  /// An unauthenticated device requests a pairing; called only with `PairingOptions.asksConsent`.
  func manager(_ manager: CBManager, shouldPairWith peer: CBPeer, reply: PairingReply)

  /// A device pairs without authentication under the identity of a bonded device, and has not proven that it is this
  /// device: it has forgotten the bond, or it is another one. Asked only with
  /// `PairingOptions.BondReplacement.ask`. `PairingReply.accept()` replaces the bond.
  func manager(_ manager: CBManager, shouldReplaceBondOf peer: CBPeer, reply: PairingReply)

  /// Show these six digits to the user, who types them on the other device, until
  /// ``manager(_:didWithdrawQuestion:of:)`` names the reply. `PairingReply.reject()` ends the pairing; no other answer
  /// is expected. The default calls ``manager(_:display:toPairWith:)``.
  func manager(_ manager: CBManager, display passkey: String, toPairWith peer: CBPeer, reply: PairingReply)

  /// As ``manager(_:display:toPairWith:reply:)``, for a user who cannot reject.
  func manager(_ manager: CBManager, display passkey: String, toPairWith peer: CBPeer)

  /// The user of the other device types the passkey that is shown here, where that device reports it (Vol 3, Part H,
  /// 3.5.8).
  func manager(_ manager: CBManager, peer: CBPeer, didType keypress: PasskeyKeypress)

  /// Ask the user for the passkey that the other device shows, and `PairingReply.enter(passkey:)`.
  func manager(_ manager: CBManager, enterPasskeyToPairWith peer: CBPeer, reply: PairingReply)

  /// Ask the user whether the other device shows the same six digits.
  func manager(_ manager: CBManager, compare number: String, toPairWith peer: CBPeer, reply: PairingReply)

  /// A question is void: close its dialogue. Its pairing has ended without an answer to it (it failed, or the link was
  /// lost), or another question has taken its place. For digits that are displayed, this call always comes when the
  /// pairing ends.
  ///
  /// - Parameter id: `PairingReply.id` of the reply that came with the question.
  func manager(_ manager: CBManager, didWithdrawQuestion id: PairingReply.ID, of peer: CBPeer)

  /// The devices are paired. `bond` is nil if they did not bond. Its identifier is the peer's from the next link on; on
  /// this link, a device that connected with a private address keeps the identifier that it has.
  func manager(_ manager: CBManager, didPairWith peer: CBPeer, bond: Bond?)
  /// A pairing failed; the error contains the reason and the side that ended it.
  func manager(_ manager: CBManager, didFailToPairWith peer: CBPeer, error: PairingError)

  /// The link is now encrypted, by a pairing or with the keys of an earlier one, or is no longer encrypted.
  func manager(_ manager: CBManager, didChangeSecurityOf peer: CBPeer, to security: PeerSecurity)

  /// A bond was removed: by ``CBManager/remove(_:)``, or to make room for a newer one.
  func manager(_ manager: CBManager, didRemoveBondOf identifier: UUID)

  /// A pairing replaced the bond of this device without proof that it is the same device: it has forgotten the bond, or
  /// another device has taken its place. ``manager(_:didPairWith:bond:)`` follows.
  func manager(_ manager: CBManager, didReplaceBondOf peer: CBPeer)

  /// The link could not be encrypted with the keys of a bond; the error contains what to do.
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
