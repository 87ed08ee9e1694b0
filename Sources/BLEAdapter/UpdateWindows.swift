package import BLEHost
import BLEWire

/// The values of notifications and indications that the host has. Each link has a window of its own.
///
/// A value for several links is sent when each of them has room. When all values of one link have left and another link
/// has no room, that one is late: a late link does not delay the others, and misses values for several links while it
/// has no room. It is in time again when a part of its window is free.
///
/// What happens to a value without room is the client's: `CBPeripheralManager.updateValue` returns false, and BLEKit
/// keeps the value.
package struct UpdateWindows: Sendable {
  private struct Window: Sendable {
    var count = 0
    var isLate = false
  }

  /// The values that the host has for one link at a time.
  package let size: Int
  /// With room for so many values a late link is in time again.
  private let resumingRoom: Int
  private var windows = IdentifierTable<LinkID, Window>()

  package init(size: Int, resumingRoom: Int = 1) { (self.size, self.resumingRoom) = (size, resumingRoom) }

  package func isFull(_ peer: LinkID) -> Bool { count(of: peer) >= size }

  /// Whether all values of a link have left.
  package func isIdle(_ peer: LinkID) -> Bool { count(of: peer) == 0 }

  package func isLate(_ peer: LinkID) -> Bool { windows[peer]?.isLate ?? false }

  /// Whether a link that was late, or waited for, has enough room.
  package func canResume(_ peer: LinkID) -> Bool { size - count(of: peer) >= resumingRoom }

  /// The values that the host has for a link.
  func count(of peer: LinkID) -> Int { windows[peer]?.count ?? 0 }

  /// Whether links have room for a value.
  package enum Room { case all, some, none }

  /// - Returns: `none` if one that is not late has no room, or if all are late and have none.
  package func room(of peers: [LinkID]) -> Room {
    var (count, isAwaited) = (0, false)
    for peer in peers {
      guard let window = windows[peer], window.count >= size else {
        count += 1
        continue
      }
      if !window.isLate { isAwaited = true }
    }
    return count == peers.count ? .all : count > 0 && !isAwaited ? .some : .none
  }

  /// The host gets a value for each of these links.
  package mutating func begin(_ peers: [LinkID]) {
    for peer in peers {
      var window = windows[peer] ?? Window()
      window.count += 1
      windows[peer] = window
    }
  }

  /// Values have left on a link.
  ///
  /// - Returns: false if the link has ended, or never had a value.
  package mutating func finished(_ count: Int = 1, on peer: LinkID) -> Bool {
    guard var window = windows[peer] else { return false }
    window.count = max(0, window.count - count)
    if size - window.count >= resumingRoom { window.isLate = false }
    windows[peer] = window
    return true
  }

  /// The others do not wait for a link from now on.
  package mutating func setLate(_ peer: LinkID) { windows[peer]?.isLate = true }

  /// Those of these links without room are late, if all values of another one have left.
  ///
  /// - Returns: whether the others continue.
  package mutating func passOver(_ peers: [LinkID]) -> Bool {
    guard peers.contains(where: isIdle) else { return false }
    for peer in peers where isFull(peer) { setLate(peer) }
    return true
  }

  /// A link has ended.
  package mutating func remove(_ peer: LinkID) { windows[peer] = nil }
}
