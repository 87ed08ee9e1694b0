public import Foundation
import Synchronization

/// A remote device; mirrors `CBPeer`.
///
/// Two objects for the same device are equal. To remember a device, store its ``identifier``.
///
/// Immutable, so it needs no lock.
open class CBPeer: NSObject, NSCopying, @unchecked Sendable {
  /// The identifier of the device. It is derived from the identity address, so it is the same on every run (see
  /// `PeerIdentifier`).
  open var identifier: UUID { name }

  private let name: UUID

  init(identifier: UUID) { name = identifier }

  /// The ``identifier`` as an `NSUUID` for the key `identifier`, which programs for Apple's systems read this way; nil
  /// for any other key.
  open func value(forKey key: String) -> Any? {
    key == "identifier" ? NSUUID(uuidString: identifier.uuidString) : nil
  }

  /// Itself: a peer stands for a device, and there is one of each.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CBPeer else { return false }
    return other.identifier == identifier
  }

  open override var hash: Int { identifier.hashValue }

  open override var description: String { "<\(type(of: self)) \(identifier.uuidString)>" }
}
