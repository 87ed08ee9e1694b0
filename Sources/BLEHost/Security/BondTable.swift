import BLECrypto
import BLESMP
import BLEWire

/// The bonds of a host, found by identity and by the private addresses that their keys resolve.
struct BondTable: Sendable {
  private(set) var bonds: [Bond] = []
  /// Counts the changes of who can be resolved.
  private(set) var revision = 0
  /// Private addresses resolved lately, the identity for each: a scanner meets the same ones again and again. A nil
  /// identity is an address that no key resolves.
  private var resolved: [DeviceAddress: DeviceAddress?] = [:]
  /// The private address that each bonded device was last heard with.
  private var latest: [DeviceAddress: DeviceAddress] = [:]
  /// Addresses remembered; with one more all are forgotten and looked up anew.
  static let maximumResolved = 512

  mutating func replaceAll(with bonds: [Bond]) {
    self.bonds = bonds
    (resolved, latest) = ([:], [:])
    revision += 1
  }

  subscript(identity: DeviceAddress) -> Bond? { bonds.first { $0.identity == identity.identity } }

  /// Takes a bond in, in the place of one of the same device, else as the newest.
  ///
  /// - Returns: the oldest, where it had to go because there were `limit` already.
  mutating func update(_ bond: Bond, limit: Int) -> Bond? {
    if let index = bonds.firstIndex(where: { $0.identity == bond.identity }) {
      if bonds[index].identityResolvingKey != bond.identityResolvingKey { forgetAddresses(of: bond.identity) }
      bonds[index] = bond
      return nil
    }
    forgetAddresses(of: bond.identity)
    bonds.append(bond)
    return bonds.count > max(1, limit) ? remove(bonds[0].identity) : nil
  }

  mutating func remove(_ identity: DeviceAddress) -> Bond? {
    guard let index = bonds.firstIndex(where: { $0.identity == identity.identity }) else { return nil }
    forgetAddresses(of: identity.identity)
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

  /// The private address that a bonded device was last heard with.
  func lastAddress(of identity: DeviceAddress) -> DeviceAddress? { latest[identity.identity] }
}
