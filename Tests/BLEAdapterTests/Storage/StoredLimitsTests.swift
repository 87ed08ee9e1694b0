import AdapterFixtures
import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Foundation
import Glibc
import Synchronization
import Testing

@testable import BLEAdapter
@testable import BLELinux

/// A writer never makes a file that its reader refuses: each stored file is filled to its limits with the largest
/// values, saved and loaded.
@Suite("Stored files at their limits")
struct StoredLimitsTests {
  private static let uuid: BluetoothUUID = "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"
  private static let top = AttributeHandle(rawValue: 0xFFFF)
  private static let range = top...top

  private static func bond(_ number: Int) -> Bond {
    let strength = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: false)
    let key = SecretKey(.max)
    var bond = Bond(
      identity: DeviceAddress(octets: BD_ADDR(0xFFFF_FFFF_FFFF - UInt64(number)), kind: .random), strength: strength)
    bond.nameOctets = [UInt8](repeating: 1, count: Bond.nameLimit)
    bond.addressOnAir = DeviceAddress(octets: BD_ADDR(0xFFFF_FFFF_FFFF), kind: .random)
    bond.identityResolvingKey = key
    bond.peripheralKey = LongTermKey(value: key, ediv: .max, rand: .max, strength: strength)
    bond.centralKey = bond.peripheralKey
    (bond.peerCSRK, bond.ownCSRK) = (key, key)
    (bond.peerSignCounter, bond.ownSignCounter, bond.lastUse) = (.max, .max, .max)
    bond.client = ClientRecord(
      configurations: [], supportedFeatures: ClientSupportedFeatures(rawValue: 0xFF),
      databaseHash: [UInt8](repeating: 0xFF, count: 16))
    return bond
  }

  /// A cache with so many results of each procedure, each in its longest form.
  private static func cache(_ results: Int) throws -> AttributeCache {
    let service = DiscoveredService(handles: range, uuid: uuid)
    let characteristic = DiscoveredCharacteristic(
      declaration: top, properties: GATTCharacteristicProperties(rawValue: 0xFF), valueHandle: top, uuid: uuid)
    func many<T>(_ value: T) -> [T] { Array(repeating: value, count: results) }
    return try #require(
      AttributeCache(
        hash: [UInt8](repeating: 0xFF, count: 16), hasRobustCaching: false,
        serviceChanged: .init(valueHandle: top, configuration: top),
        discoveries: [
          .discoverPrimaryServices: .services(many(service)),
          .discoverPrimaryServicesByUUID(uuid): .services(many(service)),
          .findIncludedServices(range): .includedServices(many(IncludedService(declaration: top, service: service))),
          .discoverCharacteristics(range): .characteristics(many(characteristic)),
          .discoverCharacteristicsByUUID(uuid, range): .characteristics(many(characteristic)),
          .discoverDescriptors(range): .descriptors(many(DiscoveredDescriptor(handle: top, uuid: uuid))),
        ]))
  }

  /// A cache with as many discoveries as it counts, which have no results.
  private static func discoveries(_ count: Int) throws -> AttributeCache {
    var empty: [GATTClient.Operation.Kind: GATTClient.Outcome] = [:]
    for number in 0..<count {
      let handle = AttributeHandle(rawValue: UInt16(0xFFFF - number))
      empty[.discoverCharacteristicsByUUID(uuid, handle...handle)] = .characteristics([])
    }
    return try #require(
      AttributeCache(
        hash: [UInt8](repeating: 0xFF, count: 16), hasRobustCaching: false, serviceChanged: nil, discoveries: empty))
  }

  private static func subscriptions(_ count: Int) -> [ClientRecord.Configuration] {
    (0..<count).map { .init(descriptor: AttributeHandle(rawValue: UInt16(0xFFFF - $0)), value: [.notify, .indicate]) }
  }

  private func saved(_ record: BondRecord) throws -> (record: BondRecord, octets: Int, lines: [String]) {
    let folder = try BondFixtures.Folder()
    let log = Lines()
    try FileBondStore(path: folder.file, log: { log.append($0.text) }).save(record)
    let octets = try #require(FileManager.default.contents(atPath: folder.file)).count
    return (try #require(try FileBondStore(path: folder.file).load()), octets, log.take())
  }

  private func octets(_ bond: Bond) throws -> Int {
    var record = BondRecord()
    let empty = try record.encoded().count
    record.bonds = [bond]
    return try record.encoded().count - empty
  }

  /// What the limits calculate with is never less than what is written.
  @Test func eachPartIsAsLongAsStatedAtMost() throws {
    let bond = Self.bond(0)
    let octets = try octets(bond)
    #expect(octets <= BondRecord.bondOctets)
    for cache in [try Self.cache(0), try Self.cache(1), try Self.cache(50), try Self.discoveries(50)] {
      var cached = bond
      cached.attributeCache = cache
      #expect(try self.octets(cached) - octets <= AttributeCacheForm.octets(of: cache))
    }
    for count in [1, 50] {
      var subscribed = bond
      subscribed.client.configurations = Self.subscriptions(count)
      #expect(try self.octets(subscribed) - octets <= count * BondField.configurationOctets)
    }
    let whole =
      BondRecord.maximumBonds * BondRecord.bondOctets + BondRecord.attributeCachesLimit
      + BondRecord.configurationsLimit
    #expect(whole < PrivateFolder.lengthLimit - 1_024)
  }

  /// As many bonds as a host keeps, each with as many cached results as a client keeps: the bonds are all there.
  @Test func cachesNeverCostABond() throws {
    let limits = GATTClient.Limits()
    var record = BondRecord()
    for number in 0..<HostConfiguration().maximumBonds {
      var bond = Self.bond(number)
      bond.attributeCache =
        number % 2 == 0 ? try Self.cache(limits.cachedResults / 6 - 1) : try Self.discoveries(limits.cachedResults)
      record.bonds.append(bond)
    }
    let (loaded, octets, lines) = try saved(record)
    #expect(octets <= PrivateFolder.lengthLimit && lines == [])
    let caches = loaded.bonds.compactMap(\.attributeCache).map(AttributeCacheForm.octets)
    #expect(!caches.isEmpty && caches.reduce(0, +) <= BondRecord.attributeCachesLimit)
    #expect(loaded.withoutCaches == record.withoutCaches)
  }

  /// The caches at the limit, and one result more: the longest cache is left out, and the others stay.
  @Test(arguments: [0, 1]) func cachesOfAllBondsAreLimited(more: Int) throws {
    let one = try Self.discoveries(1)
    let item = AttributeCacheForm.octets(of: try Self.discoveries(2)) - AttributeCacheForm.octets(of: one)
    let rest = BondRecord.attributeCachesLimit - 3 * AttributeCacheForm.octets(of: one)
    var record = BondRecord()
    record.bonds = (0..<3).map(Self.bond)
    for index in 0..<3 { record.bonds[index].attributeCache = one }
    record.bonds[1].attributeCache = try Self.discoveries(1 + rest / item + more)
    let (loaded, _, lines) = try saved(record)
    if more > 0 { record.bonds[1].attributeCache = nil }
    #expect(loaded == record && lines == [])
  }

  /// Of caches of one length, that of the device that was used longest ago is left out.
  @Test func theCacheThatWasUsedLongestAgoIsLeftOut() throws {
    let limit = BondRecord.attributeCachesLimit
    let cache = try Self.discoveries(1_000)
    let count = limit / AttributeCacheForm.octets(of: cache) + 1
    var record = BondRecord()
    record.bonds = (0..<count).map(Self.bond)
    for index in 0..<count {
      record.bonds[index].attributeCache = cache
      record.bonds[index].lastUse = index == 1 ? 3 : 7
    }
    #expect(record.limit() == BondRecord.Removal())
    #expect(record.bonds.map { $0.attributeCache != nil } == (0..<count).map { $0 != 1 })
  }

  @Test(arguments: [0, 1]) func subscriptionsOfAllBondsAreLimited(more: Int) throws {
    let count = BondRecord.configurationsLimit / BondField.configurationOctets
    var record = BondRecord()
    record.bonds = (0..<3).map(Self.bond)
    let (few, many) = (count / 5, count - 2 * (count / 5))
    for index in 0..<3 { record.bonds[index].client.configurations = Self.subscriptions(few) }
    record.bonds[2].client.configurations = Self.subscriptions(many + more)
    let (loaded, _, lines) = try saved(record)
    if more > 0 { record.bonds[2].client.configurations = [] }
    #expect(loaded == record)
    #expect(
      lines.map { $0.drop { $0 != ":" } }
        == (more > 0
          ? [": the subscriptions of the 1 devices that have most of them are not stored: the file would be too long"]
          : []))
  }

  /// With one bond more than the limit, the unauthenticated one that was used longest ago is left out.
  @Test(arguments: [0, 1]) func theNumberOfBondsIsLimited(more: Int) throws {
    var record = BondRecord()
    record.bonds = (0..<BondRecord.maximumBonds + more).map(Self.bond)
    record.bonds[0].strength = KeyStrength(size: 16, isAuthenticated: true, isSecureConnections: true)
    (record.bonds[0].lastUse, record.bonds[5].lastUse) = (1, 2)
    let (loaded, octets, lines) = try saved(record)
    if more > 0 { record.bonds.remove(at: 5) }
    #expect(loaded == record && lines.count == more && octets <= PrivateFolder.lengthLimit)
  }

  /// Everything at once.
  @Test func aRecordAtAllLimitsIsLoadedAsItWasSaved() throws {
    var record = BondRecord()
    record.identityResolvingKey = SecretKey(.max)
    record.bonds = (0..<BondRecord.maximumBonds).map(Self.bond)
    let cache = try Self.cache(20)
    let caches = BondRecord.attributeCachesLimit / AttributeCacheForm.octets(of: cache)
    for index in 0..<caches { record.bonds[index].attributeCache = cache }
    let subscriptions = BondRecord.configurationsLimit / BondField.configurationOctets / BondRecord.maximumBonds
    for index in record.bonds.indices { record.bonds[index].client.configurations = Self.subscriptions(subscriptions) }
    let (loaded, octets, lines) = try saved(record)
    #expect(loaded == record && octets <= PrivateFolder.lengthLimit && lines == [])
  }

  @Test func theDevicesAtTheLimitAreLoadedAsTheyWereSaved() throws {
    let folder = try BondFixtures.Folder()
    let all = (0..<UInt64(DeviceFile.limit)).map {
      DeviceAddress(octets: BD_ADDR(0xFFFF_FFFF_FFFE - $0), kind: .random)
    }
    // In a file, a control character has six octets.
    let name = String(repeating: "\u{1}", count: DeviceFile.nameLimit)
    let devices = DeviceFile(path: folder.file)
    for device in all { devices.connected(to: device, name: name) }
    devices.settle()
    let later = DeviceFile(path: folder.file)
    #expect(later.all == all)
    #expect(all.allSatisfy { later.device(of: PeerIdentifier($0)) == $0 && later.name(of: $0) == name })
    #expect(try #require(FileManager.default.contents(atPath: folder.file)).count <= PrivateFolder.lengthLimit)
  }

  /// For each file: octets that the reader would refuse are not written, and the old file stays.
  @Test(arguments: [0, 1]) func aFileHasAsManyOctetsAsItsReaderAcceptsAtMost(more: Int) throws {
    let path = try BondFixtures.Folder()
    guard let folder = try PrivateFolder.open(path.path) else { return #expect(Bool(false), "no folder") }
    try folder.replace("file", with: [1])
    let octets = [UInt8](repeating: 0x20, count: PrivateFolder.lengthLimit + more)
    if more == 0 {
      try folder.replace("file", with: octets)
      #expect(try folder.read("file") == octets)
    } else {
      #expect(throws: FileRefusal.isTooLong) { try folder.replace("file", with: octets) }
      #expect(try folder.read("file") == [1])
      #expect(path.names == ["file"])
    }
  }
}

extension BondRecord {
  fileprivate var withoutCaches: Self {
    var record = self
    for index in record.bonds.indices { record.bonds[index].attributeCache = nil }
    return record
  }
}
