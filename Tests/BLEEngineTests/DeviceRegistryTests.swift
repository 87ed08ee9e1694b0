import BLEGAP
import BLEHost
import BLEWire
import Testing

@testable import BLEEngine

@Suite struct DeviceRegistryTests {
  private static func address(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
  }

  private static func discovery(
    _ number: UInt64, _ data: String, isScanResponse: Bool = false, isTruncated: Bool = false
  ) throws -> Discovery {
    Discovery(
      address: address(number), isConnectable: true, isScanResponse: isScanResponse,
      data: try #require([UInt8](hexadecimal: data)), isTruncated: isTruncated, rssi: -40)
  }

  /// Of more devices than the limit, the one that was not used for the longest time is removed.
  @Test func removesTheDeviceThatIsNotUsed() {
    var registry = DeviceRegistry<Bool>(limit: 3)
    func remember(_ number: UInt64, isNeeded: Bool = false) -> Bool {
      registry.remember(Self.address(number), isNeeded: { $0 }, content: { _ in isNeeded })
    }
    #expect(remember(1, isNeeded: true) && remember(2) && remember(3))
    #expect(registry.all.count == 3)
    #expect(remember(2) && remember(4))
    #expect(Set(registry.all) == Set([1, 2, 4].map(Self.address)))
    #expect(registry.address(of: PeerIdentifier(Self.address(3))) == nil)
    #expect(registry.address(of: PeerIdentifier(Self.address(4))) == Self.address(4))
    registry[Self.address(2)] = true
    registry[Self.address(4)] = true
    #expect(!remember(5) && registry.all.count == 3, "every device is needed")
    registry[Self.address(6)] = true
    #expect(registry[Self.address(6)] == nil, "unknown")
  }

  @Test func reportsADeviceOnceAndAgainForItsScanResponse() throws {
    var registry = DeviceRegistry<Bool>(limit: 3)
    let filter = ScanFilter(number: 1)
    #expect(registry.add(try Self.discovery(1, "020106"), for: filter).report == nil, "unknown")
    _ = registry.remember(Self.address(1), isNeeded: { $0 }, content: { _ in false })
    #expect(registry.add(try Self.discovery(1, "020106"), for: filter).report?.rssi == -40)
    #expect(registry.add(try Self.discovery(1, "020106"), for: filter).report == nil)
    let answered = registry.add(try Self.discovery(1, "03094142", isScanResponse: true), for: filter)
    #expect(answered.name?.new == "AB" && answered.name?.isChange == false)
    #expect(answered.report?.data.localName?.text == "AB")
    let renamed = registry.add(try Self.discovery(1, "03094143", isScanResponse: true), for: filter)
    #expect(renamed.name?.new == "AC" && renamed.name?.isChange == true)
    #expect(registry.add(try Self.discovery(1, "020106"), for: ScanFilter(number: 2)).report != nil, "another scan")
    let all = ScanFilter(number: 3, allowsDuplicates: true)
    for _ in 0..<2 { #expect(registry.add(try Self.discovery(1, "020106"), for: all).report != nil) }
    registry.removeRecords()
    #expect(registry.record(of: Self.address(1)).name == nil && registry.all.count == 1)
  }

  @Test(arguments: [("180D", true), ("180F", false)])
  func reportsWhatTheFilterWants(uuid: String, isReported: Bool) throws {
    var registry = DeviceRegistry<Bool>(limit: 3)
    _ = registry.remember(Self.address(1), isNeeded: { $0 }, content: { _ in false })
    let filter = ScanFilter(number: 1, services: [try #require(BluetoothUUID(uuid))])
    #expect((registry.add(try Self.discovery(1, "03030d18"), for: filter).report != nil) == isReported)
  }
}
