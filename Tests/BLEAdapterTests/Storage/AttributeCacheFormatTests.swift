import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

@testable import BLEAdapter

@Suite("The form of an attribute cache in a file of bonds")
struct AttributeCacheFormatTests {
  private func bond(with cache: AttributeCache?) throws -> Bond {
    let identity = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    var record = Bond(
      identity: identity, strength: .init(size: 16, isAuthenticated: true, isSecureConnections: true))
    record.attributeCache = cache
    return record
  }

  private func cache() throws -> AttributeCache {
    let service = DiscoveredService(handles: 1...4, uuid: "1800")
    let long = DiscoveredService(handles: 5...9, uuid: "58AF3DCA-6FC0-4FA3-9464-74662F043A39")
    return try #require(
      AttributeCache(
        hash: [UInt8](0..<16), hasRobustCaching: true, serviceChanged: .init(valueHandle: 7, configuration: 8),
        discoveries: [
          .discoverPrimaryServices: .services([service, long]),
          .discoverPrimaryServicesByUUID("180D"): .services([]),
          .findIncludedServices(5...9): .includedServices([IncludedService(declaration: 6, service: service)]),
          .discoverCharacteristics(1...4): .characteristics([
            DiscoveredCharacteristic(declaration: 2, properties: [.read, .notify], valueHandle: 3, uuid: "2A00")
          ]),
          .discoverCharacteristicsByUUID("2A01", 1...4): .characteristics([]),
          .discoverDescriptors(4...4): .descriptors([DiscoveredDescriptor(handle: 4, uuid: "2902")]),
        ]))
  }

  @Test func aCacheIsReadAsItWasWritten() throws {
    var record = BondRecord()
    record.bonds = [try bond(with: cache())]
    #expect(try BondRecord(decoding: record.encoded()) == record)
    #expect(try record.encoded() == record.encoded(), "the same octets each time")
  }

  @Test(arguments: [
    "\"hash\" : \"00\"", "\"hash\" : \"zz0102030405060708090a0b0c0d0e0f\"",
  ])
  func aBondIsReadWithoutACacheThatIsNone(_ hash: String) throws {
    var record = BondRecord()
    record.bonds = [try bond(with: cache())]
    let text = String(decoding: try record.encoded(), as: UTF8.self)
      .replacing("\"hash\" : \"000102030405060708090a0b0c0d0e0f\"", with: hash)
    let read = try BondRecord(decoding: Array(text.utf8))
    #expect(read.bonds == [try bond(with: nil)])
  }

  @Test func rangesThatAreNoneAreLeftOut() throws {
    var record = BondRecord()
    record.bonds = [try bond(with: cache())]
    let text = String(decoding: try record.encoded(), as: UTF8.self).replacing("\"last\" : 9", with: "\"last\" : 0")
    #expect(try BondRecord(decoding: Array(text.utf8)).bonds == [try bond(with: nil)])
  }
}
