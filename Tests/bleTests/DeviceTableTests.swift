import BLEWire
import Testing

@testable import ble

/// The devices of the table that `ble scan --table` draws.
struct DeviceTableTests {
  private func device(_ number: Int) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(UInt64(number)), kind: .public)
  }

  @Test func theWeakestOfMoreThanTheLimitIsLeftOut() {
    var rows = DeviceRows<Int>()
    for number in 0..<DeviceTable.limit { rows.add(number, of: device(number), strength: number - 1_000) }
    #expect(rows.strongestFirst == (0..<DeviceTable.limit).reversed())
    // One past the limit: the first device is the weakest.
    rows.add(DeviceTable.limit, of: device(DeviceTable.limit), strength: -900)
    #expect(rows.strongestFirst.count == DeviceTable.limit && !rows.strongestFirst.contains(0))
    #expect(rows.strongestFirst.contains(DeviceTable.limit))
    // The new one is the weakest itself.
    rows.add(-1, of: device(DeviceTable.limit + 1), strength: -2_000)
    #expect(rows.strongestFirst.count == DeviceTable.limit && !rows.strongestFirst.contains(-1))
  }

  @Test func theLastReportOfADeviceStands() {
    var rows = DeviceRows<String>()
    rows.add("first", of: device(1), strength: -40)
    rows.add("other", of: device(2), strength: nil)
    rows.add("last", of: device(1), strength: -90)
    #expect(rows.strongestFirst == ["last", "other"])
  }
}
