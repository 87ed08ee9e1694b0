public import Foundation
import Synchronization

/// A remote device; mirrors `CBPeer`.
///
/// Two objects for the same device are equal; ``identifier`` is what to remember a device by.
public class CBPeer: NSObject, NSCopying, @unchecked Sendable {
  /// The same for the same identity address, on every run (see ``PeerIdentifier``).
  public let identifier: UUID

  init(identifier: UUID) { self.identifier = identifier }

  /// Itself: a peer stands for a device, and there is one of each.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CBPeer else { return false }
    return other.identifier == identifier
  }

  public override var hash: Int { identifier.hashValue }

  public override var description: String { "<\(type(of: self)) \(identifier.uuidString)>" }
}
