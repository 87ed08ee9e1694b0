import BLECrypto
import BLESMP
import BLEWire

/// The bonds of a host, found by identity and by the private addresses that their keys resolve.
struct BondTable: Sendable {
  private(set) var bonds: [Bond] = []
  /// Private addresses resolved lately, the identity for each: a scanner meets the same ones again and again. A nil
  /// identity is an address that no key resolves.
  private var resolved: [DeviceAddress: DeviceAddress?] = [:]
  /// Addresses remembered; with one more all are forgotten and looked up anew.
  static let maximumResolved = 512

  mutating func replaceAll(with bonds: [Bond]) {
    self.bonds = bonds
    resolved = [:]
  }

  subscript(identity: DeviceAddress) -> Bond? { bonds.first { $0.identity == identity.identity } }

  /// Takes a bond in, in the place of one of the same device, else as the newest.
  ///
  /// - Returns: the oldest, where it had to go because there were `limit` already.
  mutating func update(_ bond: Bond, limit: Int) -> Bond? {
    resolved = [:]
    if let index = bonds.firstIndex(where: { $0.identity == bond.identity }) {
      bonds[index] = bond
      return nil
    }
    bonds.append(bond)
    return bonds.count > max(1, limit) ? bonds.removeFirst() : nil
  }

  mutating func remove(_ identity: DeviceAddress) -> Bond? {
    guard let index = bonds.firstIndex(where: { $0.identity == identity.identity }) else { return nil }
    resolved = [:]
    return bonds.remove(at: index)
  }

  /// The identity of a device by the address it uses: that of a bond whose key resolves it, else the address itself.
  mutating func identity(of address: DeviceAddress, _ toolbox: SecurityToolbox) -> DeviceAddress {
    let plain = address.identity
    guard address.randomKind == .resolvablePrivate else { return plain }
    if let known = resolved[plain] { return known ?? plain }
    let identity = bonds.first { bond in
      guard let key = bond.identityResolvingKey else { return false }
      return (try? toolbox.resolves(plain, irk: key.value)) ?? false
    }?.identity
    if resolved.count >= Self.maximumResolved { resolved = [:] }
    resolved[plain] = .some(identity)
    return identity ?? plain
  }

  /// The private address that a bonded device was last heard with.
  func lastAddress(of identity: DeviceAddress) -> DeviceAddress? {
    resolved.first { $0.value == identity.identity }?.key
  }
}
