public import BLEHost
package import BLESMP

extension Bond {
  /// The device's identifier, the same on every run.
  public var identifier: PeerIdentifier { PeerIdentifier(identity) }
}

/// Everything that an adapter stores: its own key and the bonds, the oldest first.
public struct BondRecord: Hashable, Sendable {
  /// The bonds, the oldest first.
  public var bonds: [Bond]
  /// The key that resolves our own private addresses; bonded peers have it.
  package var identityResolvingKey: SecretKey?

  /// A record without bonds.
  public init() { bonds = [] }
}

/// Stores the bonds of an adapter between runs of the program.
///
/// Its functions are called one at a time, on a thread of their own, and may block.
///
/// - A store whose ``load()`` throws is not saved to. Before each later attempt to save, it is loaded again; once that
///   succeeds, its content and the changes of this run are merged and saved. Therefore a store whose content is damaged
///   permanently puts it aside, throws, and returns nil the next time.
/// - A save that throws is repeated after a pause of 1 second, then of twice as long up to 60 seconds, and at the end
///   of the program. The log has one line at the first failure and one when a save succeeds again.
/// - A bond that is new, paired anew or removed is saved at once; changes that peers can cause at any rate
///   (subscriptions, sign counters) are saved at most once a second.
public protocol BondStore: AnyObject, Sendable {
  /// The record that was saved last; nil if none was.
  func load() throws -> BondRecord?
  /// Replaces the saved record with `record`: all of it or, if it throws, none.
  func save(_ record: BondRecord) throws
}

/// A store that ends with the program.
public final class MemoryBondStore: BondStore {
  /// Creates an empty store.
  public init() {}
  public func load() -> BondRecord? { nil }
  public func save(_ record: BondRecord) {}
}
