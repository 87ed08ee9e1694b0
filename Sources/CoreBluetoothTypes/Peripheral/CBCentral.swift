import BLEGATT
import BLEHost
import Foundation
import Synchronization

/// A central that is connected to this peripheral; mirrors `CBCentral`.
///
/// There is one object per link: a central that connects again gets another one, equal to the first. Two links that are
/// up at once have different identifiers, even if both use the address of one device. The later one gets an identifier
/// that no other link has, until it has proven that it is the bonded device
/// (``CBPeripheralManagerDelegate/peripheralManager(_:didIdentify:as:)``).
///
/// The lock is `link`.
open class CBCentral: CBPeer, @unchecked Sendable {
  /// The link it stands for.
  let peer: LinkID
  private let link: Mutex<Link>

  private struct Link {
    /// The largest MTU of ATT that both sides know of (Vol 3, Part F, 3.2.8).
    var mtu: Int
    var isConnected: Bool
    var security = SecurityState.none
  }

  init(identifier: UUID, peer: LinkID) {
    self.peer = peer
    link = Mutex(Link(mtu: Self.defaultMTU, isConnected: true))
    super.init(identifier: identifier)
  }

  /// The same link under another identifier.
  convenience init(identifier: UUID, replacing other: CBCentral) {
    self.init(identifier: identifier, peer: other.peer)
    let known = other.link.withLock { $0 }
    link.withLock { $0 = known }
  }

  static let defaultMTU = 23

  /// The maximum length of one notification or indication to this central, in octets: what the MTU leaves, at most the
  /// 512 octets that an attribute may have (Vol 3, Part F, 3.2.9).
  open var maximumUpdateValueLength: Int { link.withLock { min($0.mtu - 3, 512) } }

  /// Whether the link is up. CoreBluetooth does not report it.
  public final var isConnected: Bool { link.withLock { $0.isConnected } }

  /// Whether the link is encrypted. CoreBluetooth does not report it.
  public final var isEncrypted: Bool { link.withLock { $0.security.level >= .encrypted } }

  final func update(security: SecurityState) { link.withLock { $0.security = security } }
  final func update(mtu: Int) { link.withLock { $0.mtu = max(Self.defaultMTU, mtu) } }
  final func linkEnded() { link.withLock { $0.isConnected = false } }
}
