import BLECrypto
import BLESMP
import BLEWire

/// The bonds of a host, found by identity and by the private addresses that their keys resolve.
struct BondList: Sendable {
  /// The result for a bond that was to be kept.
  enum Update: Equatable, Sendable {
    /// It replaced an older bond of the same device.
    case replaced(Bond)
    case added
    /// It was added, and the least recently used unprotected bond was removed for it.
    case addedInPlace(of: Bond)
    /// There was no room: there are as many protected bonds as the limit allows.
    case refused
  }

  private(set) var bonds: [Bond] = []
  /// The key strength of each bond, by identity.
  private(set) var strengths: [DeviceAddress: KeyStrength] = [:]
  /// The identity resolving key of each bond that has one, by identity. No two are equal, and none is ``ownKey``.
  private(set) var identityKeys: [DeviceAddress: SecretKey] = [:]
  /// The identity resolving key that this host distributes, which no peer has.
  private var ownKey: SecretKey?
  /// Counts the changes of the devices that can be resolved.
  private(set) var revision = 0
  /// The highest ``Bond/lastUse``.
  private var newestUse: UInt32 = 0
  /// Private addresses that were resolved lately, with the identity of each: a scanner receives the same ones again and
  /// again. The identity is nil for an address that no key resolves.
  private var resolved: [DeviceAddress: DeviceAddress?] = [:]
  /// The private address that each bonded device used last.
  private(set) var latest: [DeviceAddress: DeviceAddress] = [:]
  /// The number of addresses in the cache at most. One more empties it.
  static let maximumResolved = 512
  /// The number in this list.
  private let resolvedLimit: Int

  init() { resolvedLimit = Self.maximumResolved }

  /// A list that takes the memory for a number of bonds, with an address of each.
  init(reserving count: Int) {
    resolvedLimit = min(count, Self.maximumResolved)
    bonds.reserveCapacity(count)
    strengths.reserveCapacity(count)
    identityKeys.reserveCapacity(count)
    resolved.reserveCapacity(count)
    latest.reserveCapacity(count)
  }

  /// Loads the bonds of an earlier run. If there are more than `limit`, those that would be removed first are left out.
  ///
  /// - Returns: the devices that lose their identity resolving keys, because the keys are not theirs alone.
  @discardableResult
  mutating func replaceAll(with new: [Bond], limit: Int) -> [DeviceAddress] {
    bonds.removeAll(keepingCapacity: true)
    for bond in new {
      bonds.removeAll { $0.identity == bond.identity }
      bonds.append(bond)
    }
    while bonds.count > max(1, limit) { bonds.remove(at: leastUsed { _ in true } ?? 0) }
    let keyless = removeEqualKeys()
    strengths.removeAll(keepingCapacity: true)
    identityKeys.removeAll(keepingCapacity: true)
    for bond in bonds { note(bond) }
    newestUse = bonds.map { $0.lastUse }.max() ?? 0
    resolved.removeAll(keepingCapacity: true)
    latest.removeAll(keepingCapacity: true)
    revision += 1
    return keyless
  }

  private mutating func note(_ bond: Bond) {
    (strengths[bond.identity], identityKeys[bond.identity]) = (bond.strength, bond.identityResolvingKey)
  }

  subscript(identity: DeviceAddress) -> Bond? { bonds.first { $0.identity == identity.identity } }
  func contains(_ identity: DeviceAddress) -> Bool { bonds.contains { $0.identity == identity.identity } }

  /// Whether a bond of another device can be added: there is room, or an unprotected one to remove.
  func hasRoom(limit: Int) -> Bool {
    bonds.count < max(1, limit) || bonds.contains { !$0.strength.isAuthenticated }
  }

  /// Adds a bond as the newest, or replaces the one of the same device. A protected bond is never removed for
  /// another one.
  ///
  /// - Parameter inUse: devices whose bonds are removed only after all others.
  mutating func update(_ bond: Bond, limit: Int, inUse: Set<DeviceAddress> = []) -> Update {
    if let index = bonds.firstIndex(where: { $0.identity == bond.identity }) {
      let old = bonds[index]
      if old.identityResolvingKey != bond.identityResolvingKey { forgetAddresses(of: bond.identity) }
      bonds[index] = bond
      note(bond)
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
    note(bond)
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
    (strengths[identity.identity], identityKeys[identity.identity]) = (nil, nil)
    return bonds.remove(at: index)
  }

  /// The devices that addresses resolve to have changed.
  private mutating func forgetAddresses(of identity: DeviceAddress) {
    resolved.removeAll(keepingCapacity: true)
    latest[identity] = nil
    revision += 1
  }

  /// The identity of a device by the address it uses: that of a bond which names the address or whose key resolves it,
  /// otherwise the address itself.
  mutating func identity(of address: DeviceAddress, _ toolbox: SecurityToolbox) -> DeviceAddress {
    let plain = address.identity
    if bonds.isEmpty { return plain }
    guard address.randomKind == .resolvablePrivate else {
      if contains(plain) { return plain }
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
    if resolved.count >= resolvedLimit { resolved.removeAll(keepingCapacity: true) }
    resolved[plain] = .some(identity)
    if let identity { latest[identity] = plain }
    return identity ?? plain
  }
}

/// Identity resolving keys that two devices have distributed (Docs/Decisions/pairing-and-bonds.md#identity-keys). With
/// one key in two bonds a private address stands for two devices. The authenticated bond keeps the key, otherwise the
/// one that was made first.
extension BondList {
  /// Sets the key that this host distributes.
  ///
  /// - Returns: the devices that lose this key.
  mutating func setOwnKey(_ key: SecretKey?) -> [DeviceAddress] {
    guard key != ownKey else { return [] }
    ownKey = key
    let keyless = removeEqualKeys()
    for identity in keyless {
      identityKeys[identity] = nil
      forgetAddresses(of: identity)
    }
    return keyless
  }

  /// Removes the key from each bond that does not keep it.
  ///
  /// - Returns: the identities of these bonds.
  private mutating func removeEqualKeys() -> [DeviceAddress] {
    let order =
      bonds.indices.filter { bonds[$0].strength.isAuthenticated }
      + bonds.indices.filter { !bonds[$0].strength.isAuthenticated }
    var kept: [SecretKey] = []
    var keyless: [DeviceAddress] = []
    for index in order {
      guard let key = bonds[index].identityResolvingKey else { continue }
      if key.value != 0, key != ownKey, !kept.contains(key) {
        kept.append(key)
      } else {
        bonds[index].identityResolvingKey = nil
        keyless.append(bonds[index].identity)
      }
    }
    return keyless
  }

  /// Whether the identity resolving key of a bond that is to be kept is all zeros, that of this host, or that of
  /// another bond which keeps it.
  func isKeyRefused(of bond: Bond) -> Bool {
    guard let key = bond.identityResolvingKey else { return false }
    return key.value == 0 || key == ownKey || bonds.contains { $0.keepsKey(from: bond) }
  }

  /// The devices whose identity resolving key the bond of another device takes.
  func devices(losingTheirKeyTo bond: Bond) -> [DeviceAddress] {
    bonds.filter { $0.hasKey(of: bond) && !$0.keepsKey(from: bond) }.map { $0.identity }
  }
}

extension Bond {
  /// Whether this is the bond of another device with the same identity resolving key.
  fileprivate func hasKey(of other: Bond) -> Bool {
    guard let key = other.identityResolvingKey, identity != other.identity else { return false }
    return identityResolvingKey == key
  }

  /// Whether both bonds have the same identity resolving key, and this one keeps it. It was made first.
  func keepsKey(from newer: Bond) -> Bool {
    hasKey(of: newer) && (strength.isAuthenticated || !newer.strength.isAuthenticated)
  }
}
