import BLECrypto
import BLEGATT
import BLEHCI
import BLESMP
import BLEWire

/// Links that claim an identity, and the link that has proven it
/// (Docs/Decisions/pairing-and-bonds.md#two-links-of-one-identity). Any device can use the address of another one.
///
/// ```
///   first link of an identity ──► reported by the identity ───────────── another link proves it ──► ended
///   another link ──► reported by a drawn address ── proves the bond ──► reported by the identity
/// ```
extension LinkTable {
  /// Whether a link is reported by this identity, or has proven its bond.
  func isReported(_ identity: DeviceAddress) -> Bool {
    contains { $0.device.isReported(as: identity) }
  }

  /// Whether there is a link to this device. One that only claims the identity, as a central, is no reason not to
  /// connect to the device that has it.
  func isConnected(_ identity: DeviceAddress) -> Bool { contains { $0.identity == identity && $0.hasCertainIdentity } }

  /// The devices whose links were asked to end and are still up.
  var disconnecting: [DeviceAddress] {
    filter { $0.isClosing && $0.hasCertainIdentity }.map { $0.identity } + endingDevices
  }

  /// The devices that have proven their bonds, on other links than this one.
  func provenIdentities(except peer: LinkID? = nil) -> Set<DeviceAddress> {
    Set(lazy.filter { $0.peer != peer && $0.security.isBondProven }.map { $0.identity })
  }

  /// Reports a link by its identity from now on: it has proven the bond, by the key or by the pairing that made it.
  ///
  /// Another link in the same role that is reported by the identity, or has proven it, is ended. A device has one link
  /// with us in a role: the other link is left from before, or of another device. A link that is reported by a drawn
  /// address stays.
  mutating func confirmIdentity(of peer: LinkID, into effects: inout [Effect<LinkEffect>]) {
    guard let index = index(of: peer) else { return }
    let (identity, role) = (self[index].identity, self[index].role)
    for other in self where other.peer != peer && other.identity == identity && other.role == role {
      if other.device.isReported(as: identity) { supersede(other, into: &effects) }
    }
    if self[index].device.confirm() { effects.append(.event(.link(peer, .identified(identity)), to: .everyone)) }
  }

  /// Ends a link for the application at once, and at the controller as soon as possible. The controller needs the
  /// supervision timeout for a device out of range, and the device that has reconnected does not wait for that.
  private func supersede(_ link: Link, into effects: inout [Effect<LinkEffect>]) {
    let text = "the link is ended: link \(link.peer.rawValue) has an identity that another link has proven"
    effects.append(.report(.peer, text, peer: link.peer))
    let command = HCI.Disconnect {
      $0.connectionHandle = link.handle
      $0.reason = .remoteUserTerminatedConnection
    }
    effects.append(.command(command, for: .endingSuperseded(link.handle)))
    effects.append(.own(.superseded(link.handle)))
  }

  /// A bond was removed: no link has it any longer.
  mutating func bondRemoved(_ identity: DeviceAddress) {
    for index in indices where self[index].identity == identity {
      self[index].device.bondRemoved()
      self[index].client.forgetBond()
    }
  }

  /// A pairing on the link `peer` has made another bond of this device. The one that other links have proven is no
  /// longer the device's bond.
  mutating func bondReplaced(_ identity: DeviceAddress, on peer: LinkID, into effects: inout [Effect<LinkEffect>]) {
    for index in indices where self[index].identity == identity && self[index].peer != peer {
      self[index].client.forgetBond()
      guard self[index].device.loseProof() else { continue }
      effects.append(.event(.link(self[index].peer, .security(self[index].security)), to: .everyone))
    }
  }

  /// The application has replaced the bonds.
  mutating func bondsReplaced(by bonds: inout BondTable, _ toolbox: SecurityToolbox) {
    for index in indices { self[index].device.identify(with: &bonds, toolbox) }
  }

  /// The facts that the bond of a pairing on this link depends on.
  func pairedLink(_ index: Int, _ database: AttributeDatabase, of own: DeviceAddress) -> PairedLink {
    let link = self[index]
    return PairedLink(
      peer: link.peer, address: link.address, identity: link.identity, isBondProven: link.security.isBondProven,
      ownIdentity: own, client: link.server.record(database), inUse: provenIdentities(except: link.peer))
  }

  /// A pairing on the link `peer` has made a bond.
  mutating func bonded(_ peer: LinkID, _ bond: Bond) {
    guard let index = index(of: peer) else { return }
    self[index].device.bonded(as: bond.identity)
    self[index].client.startCaching(nil)
  }
}

extension Link {
  /// Whether the device is the one that the link is reported for: our central has connected to it, or it has proven the
  /// bond.
  fileprivate var hasCertainIdentity: Bool { role == .central || security.isBondProven }
}
