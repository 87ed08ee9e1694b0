import BLECrypto
import BLESMP
import BLEWire

/// The bonds of a host, found by identity and by the private addresses that their keys resolve.
struct BondList: Sendable {
  /// What became of a bond that was to be kept.
  enum Update: Equatable, Sendable {
    /// It took the place of an older one of the same device.
    case replaced(Bond)
    case added
    /// It was added, and the least recently used unprotected bond was removed for it.
    case addedInPlace(of: Bond)
    /// There was no room: as many protected bonds as the limit allows.
    case refused
  }

  private(set) var bonds: [Bond] = []
  /// The key strength of each bond, by identity.
  private(set) var strengths: [DeviceAddress: KeyStrength] = [:]
  /// Counts the changes of who can be resolved.
  private(set) var revision = 0
  /// The highest ``Bond/lastUse``.
  private var newestUse: UInt32 = 0
  /// Private addresses resolved lately, the identity for each: a scanner meets the same ones again and again. A nil
  /// identity is an address that no key resolves.
  private var resolved: [DeviceAddress: DeviceAddress?] = [:]
  /// The private address that each bonded device used last.
  private(set) var latest: [DeviceAddress: DeviceAddress] = [:]
  /// The number of addresses in the cache. One more empties it.
  static let maximumResolved = 512

  /// Takes over bonds of an earlier run; where they are more than `limit`, those that would be removed first stay out.
  mutating func replaceAll(with new: [Bond], limit: Int) {
    bonds = []
    for bond in new {
      bonds.removeAll { $0.identity == bond.identity }
      bonds.append(bond)
    }
    while bonds.count > max(1, limit) { bonds.remove(at: leastUsed { _ in true } ?? 0) }
    strengths = [:]
    for bond in bonds { strengths[bond.identity] = bond.strength }
    newestUse = bonds.map(\.lastUse).max() ?? 0
    (resolved, latest) = ([:], [:])
    revision += 1
  }

  subscript(identity: DeviceAddress) -> Bond? { bonds.first { $0.identity == identity.identity } }

  /// Whether a bond of another device can be added: there is room, or an unprotected one to remove.
  func hasRoom(limit: Int) -> Bool {
    bonds.count < max(1, limit) || bonds.contains { !$0.strength.isAuthenticated }
  }

  /// Takes a bond in, in the place of one of the same device, else as the newest. A protected bond is never removed for
  /// another one.
  ///
  /// - Parameter inUse: devices whose bonds are removed after all others only.
  mutating func update(_ bond: Bond, limit: Int, inUse: Set<DeviceAddress> = []) -> Update {
    if let index = bonds.firstIndex(where: { $0.identity == bond.identity }) {
      let old = bonds[index]
      if old.identityResolvingKey != bond.identityResolvingKey { forgetAddresses(of: bond.identity) }
      (bonds[index], strengths[bond.identity]) = (bond, bond.strength)
      return .replaced(old)
    }
    guard hasRoom(limit: limit) else { return .refused }
    var removed: Bond?
    if bonds.count >= max(1, limit) {
      guard let index = leastUsed(where: { !$0.strength.isAuthenticated }, inUse: inUse) else { return .refused }
      removed = remove(bonds[index].identity)
    }
    forgetAddresses(of: bond.identity)
    bonds.append(bond)
    strengths[bond.identity] = bond.strength
    return removed.map { .addedInPlace(of: $0) } ?? .added
  }

  /// Notes that a device has proven its bond.
  ///
  /// - Returns: whether the bond changed: the one used last keeps its number.
  mutating func use(_ identity: DeviceAddress) -> Bool {
    guard let index = bonds.firstIndex(where: { $0.identity == identity.identity }) else { return false }
    guard bonds[index].lastUse < newestUse || newestUse == 0 else { return false }
    if newestUse < .max { newestUse += 1 }
    bonds[index].lastUse = newestUse
    return true
  }

  /// The bond that is removed first: an unprotected one, not in use, the one used longest ago.
  private func leastUsed(
    where isCandidate: (Bond) -> Bool, inUse: Set<DeviceAddress> = []
  ) -> Int? {
    func rank(_ bond: Bond) -> (Int, Int, UInt32) {
      (bond.strength.isAuthenticated ? 1 : 0, inUse.contains(bond.identity) ? 1 : 0, bond.lastUse)
    }
    return bonds.indices.filter { isCandidate(bonds[$0]) }.min { rank(bonds[$0]) < rank(bonds[$1]) }
  }

  mutating func remove(_ identity: DeviceAddress) -> Bond? {
    guard let index = bonds.firstIndex(where: { $0.identity == identity.identity }) else { return nil }
    forgetAddresses(of: identity.identity)
    strengths[identity.identity] = nil
    return bonds.remove(at: index)
  }

  /// What resolves to whom has changed.
  private mutating func forgetAddresses(of identity: DeviceAddress) {
    resolved = [:]
    latest[identity] = nil
    revision += 1
  }

  /// The identity of a device by the address it uses: that of a bond which names the address or whose key resolves it,
  /// else the address itself.
  mutating func identity(of address: DeviceAddress, _ toolbox: SecurityToolbox) -> DeviceAddress {
    let plain = address.identity
    if bonds.isEmpty { return plain }
    guard address.randomKind == .resolvablePrivate else {
      if self[plain] != nil { return plain }
      return bonds.last { $0.addressOnAir == plain }?.identity ?? plain
    }
    if let known = resolved[plain] {
      if let known { latest[known] = plain }
      return known ?? plain
    }
    let identity = bonds.first { bond in
      guard let key = bond.identityResolvingKey else { return false }
      return (try? toolbox.resolves(plain, irk: key.value)) ?? false
    }?.identity
    if resolved.count >= Self.maximumResolved { resolved = [:] }
    resolved[plain] = .some(identity)
    if let identity { latest[identity] = plain }
    return identity ?? plain
  }

}
