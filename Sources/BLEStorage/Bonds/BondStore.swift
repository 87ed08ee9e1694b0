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
///   succeeds, what it holds and what has changed in this run are put together and saved. So a store whose content is
///   damaged for good puts it aside, throws, and returns nil the next time.
/// - A save that throws is repeated after a pause of 1 second, then of twice as long up to 60 seconds, and at the end of
///   the program. The log has one line at the first failure and one when a save succeeds again.
/// - A bond that is new, paired anew or removed is saved at once; what peers change as often as they like (subscriptions,
///   sign counters) at most once a second.
public protocol BondStore: AnyObject, Sendable {
  /// What was saved last; nil where nothing was.
  func load() throws -> BondRecord?
  /// Replaces the saved record by `record`: all of it or, where it throws, none.
  func save(_ record: BondRecord) throws
}

/// A store that ends with the program.
public final class MemoryBondStore: BondStore {
  /// Creates an empty store.
  public init() {}
  public func load() -> BondRecord? { nil }
  public func save(_ record: BondRecord) {}
}
