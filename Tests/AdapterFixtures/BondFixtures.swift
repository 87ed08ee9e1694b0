import BLEATT
package import BLEAdapter
import BLECrypto
import BLEGATT
import BLEHost
package import BLESMP
import BLEWire
package import Foundation
package import Synchronization

/// Bonds and places for them.
package enum BondFixtures {
  /// A folder of its own for each test, gone afterwards.
  package final class Folder: Sendable {
    package let path = NSTemporaryDirectory() + "bonds-" + UUID().uuidString
    package init() throws {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    package var file: String { path + "/bonds.json" }
    /// A file that only the owner may read or write.
    package func write(_ octets: Data, permissions: Int = 0o600) {
      _ = FileManager.default.createFile(atPath: file, contents: octets, attributes: [.posixPermissions: permissions])
    }
    package func permissions(_ path: String) -> Int? {
      (try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
    }
    package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
  }

  /// Notes what is saved.
  package final class Notebook: BondStore {
    package struct Full: Error, CustomStringConvertible { package var description: String { "the notebook is full" } }
    package let records = Mutex<[BondRecord]>([])
    package let isFull: Bool
    package let first: BondRecord?
    package init(_ first: BondRecord? = nil, isFull: Bool = false) { (self.first, self.isFull) = (first, isFull) }
    package func load() throws -> BondRecord? { if isFull { throw Full() } else { first } }
    package func save(_ record: BondRecord) throws {
      if isFull { throw Full() } else { records.withLock { $0.append(record) } }
    }
  }

  package static func record(_ seed: UInt64, bonds: Int = 3) -> BondRecord {
    var random = RandomSource.seeded(seed)
    var record = BondRecord()
    record.identityResolvingKey = SecretKey(random.uint128())
    for number in 0..<bonds {
      let strength = KeyStrength(
        size: UInt8(7 + number % 10), isAuthenticated: number % 2 == 0, isSecureConnections: number % 3 == 0)
      var bond = Bond(
        identity: DeviceAddress(octets: BD_ADDR(random.next()), kind: number % 2 == 0 ? .random : .public),
        strength: strength)
      bond.peripheralKey = LongTermKey(
        value: SecretKey(random.uint128()), ediv: UInt16(truncatingIfNeeded: random.next()), rand: random.next(),
        strength: strength)
      if number % 2 == 0 {
        bond.centralKey = LongTermKey(value: SecretKey(random.uint128()), strength: strength)
        bond.identityResolvingKey = SecretKey(random.uint128())
        bond.peerCSRK = SecretKey(random.uint128())
        bond.ownCSRK = SecretKey(random.uint128())
        (bond.peerSignCounter, bond.ownSignCounter) = (.max, 7)
        bond.addressOnAir = DeviceAddress(octets: BD_ADDR(random.next()), kind: number % 4 == 0 ? .random : .public)
      }
      bond.lastUse = UInt32(number)
      bond.client = ClientRecord(
        configurations: [.init(descriptor: AttributeHandle(rawValue: 0x2A), value: [.notify])],
        supportedFeatures: .robustCaching, databaseHash: random.octets(16))
      record.bonds.append(bond)
    }
    return record
  }

  package static func keys(of record: BondRecord) -> [SecretKey] {
    record.bonds.flatMap { bond in
      [
        bond.peripheralKey?.value, bond.centralKey?.value, bond.identityResolvingKey, bond.peerCSRK, bond.ownCSRK,
      ].compactMap(\.self)
    } + [record.identityResolvingKey].compactMap(\.self)
  }
}
