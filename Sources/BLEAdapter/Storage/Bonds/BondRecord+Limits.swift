import BLEGATT
import BLEHost
import BLESMP

/// The limits of a stored record, which keep a file of bonds shorter than its reader accepts.
///
/// Devices decide how much a client discovers of them and what they configure, and programs that share a file add their
/// bonds. Therefore each of these parts has a limit over all bonds, in octets of the file: `AttributeCacheForm` and
/// `BondField` state how many octets a part has at most. The caches are removed first: without a cache a device is
/// discovered again. A part of a bond is removed from the bonds that have most of it, so that a device that is
/// described with few octets loses nothing to one that takes many.
extension BondRecord {
  /// The bonds in a file at most: those of several programs that share it. The longest bond has ``bondOctets``.
  static let maximumBonds = 1_024
  /// The octets of all attribute caches at most: for example the discoveries of 128 devices with 30 results each.
  static let attributeCachesLimit = 1 << 20
  /// The octets of all client configurations at most: for example 200 subscriptions of each of 128 devices.
  static let configurationsLimit = 2 << 20
  /// The octets of a bond without these parts at most: a name has up to 248 characters, each in six.
  static let bondOctets = 4_096

  /// What was removed so that the record is within its limits, apart from attribute caches.
  struct Removal: Hashable, CustomStringConvertible {
    var bonds = 0
    /// The number of bonds that have lost their client configurations.
    var configurations = 0

    var description: String {
      var parts: [String] = []
      if bonds > 0 { parts.append("the \(bonds) bonds that were used longest ago, unauthenticated ones first") }
      if configurations > 0 {
        parts.append("the subscriptions of the \(configurations) devices that have most of them")
      }
      return parts.joined(separator: ", and ") + " are not stored: the file would be too long"
    }
  }

  /// Removes what is beyond the limits.
  mutating func limit() -> Removal {
    var removal = Removal(bonds: max(0, bonds.count - Self.maximumBonds))
    if removal.bonds > 0 {
      let first = bonds.indices.sorted { bonds[$0].removalRank < bonds[$1].removalRank }.prefix(removal.bonds)
      let removed = Set(first)
      bonds = bonds.indices.filter { !removed.contains($0) }.map { bonds[$0] }
    }
    limitAttributeCaches()
    removal.configurations = limit(to: Self.configurationsLimit) {
      $0.client.configurations.count * BondField.configurationOctets
    } removing: {
      $0.client.configurations = []
    }
    return removal
  }

  /// Removes the attribute caches that are beyond their limit.
  mutating func limitAttributeCaches() {
    _ = limit(to: Self.attributeCachesLimit) {
      $0.attributeCache.map(AttributeCacheForm.octets) ?? 0
    } removing: {
      $0.attributeCache = nil
    }
  }

  /// Removes a part from the bonds that have most of it, of equal ones from those that were used longest ago.
  ///
  /// - Returns: the number of these bonds.
  private mutating func limit(to limit: Int, of octets: (Bond) -> Int, removing remove: (inout Bond) -> Void) -> Int {
    let sizes = bonds.map(octets)
    var total = sizes.reduce(0, +)
    guard total > limit else { return 0 }
    let order = bonds.indices.sorted { (sizes[$1], bonds[$0].lastUse) < (sizes[$0], bonds[$1].lastUse) }
    var count = 0
    for index in order where total > limit {
      remove(&bonds[index])
      total -= sizes[index]
      count += 1
    }
    return count
  }
}

extension Bond {
  /// The order in which bonds are removed: unauthenticated ones first, then the one that was used longest ago.
  fileprivate var removalRank: (Int, UInt32) { (strength.isAuthenticated ? 1 : 0, lastUse) }
}
