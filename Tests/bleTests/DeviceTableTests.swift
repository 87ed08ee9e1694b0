import BLEGAP
import BLEWire
import Testing
import ToolCore

@testable import BLETrace
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

  private func row(_ name: String?, _ services: [BluetoothUUID] = [], elements: [ADElement] = []) throws
    -> DeviceTable.Row
  {
    let payload = try Advertisement(localName: name, serviceUUIDs: services, elements: elements).payload(under: .full)
    let address = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)
    return DeviceTable.Row(strength: -50, address: address, name: name, contents: payload.contents)
  }

  private var beacon: ADElement {
    let octets = [UInt8](hexadecimal: "0215e2c56db5dffb48d2b060d0f5a71096e000010002c5") ?? []
    return .manufacturerData(ManufacturerData(company: .apple, data: octets[...]))
  }

  @Test func namesOfWideAndCombiningCharactersKeepTheColumns() throws {
    let rows = try ["温度計", "Cafe\u{301}", "Plain", "温度計温度計温度計1"].map { try row($0, ["181A"]) }
    #expect(
      DeviceTable.lines(rows, width: 80, isWide: false) == [
        "RSSI  ADDRESS                   NAME              CONTENT",
        " -50  C0:11:22:33:44:55-random  温度計            Environmental Sensing",
        " -50  C0:11:22:33:44:55-random  Cafe\u{301}              Environmental Sensing",
        " -50  C0:11:22:33:44:55-random  Plain             Environmental Sensing",
        " -50  C0:11:22:33:44:55-random  温度計温度計温…   Environmental Sensing",
      ])
  }

  @Test func aNarrowWindowHasTheContentBelowTheName() throws {
    let rows = try [row("温度計", ["181A", "180F", "180A", "180D"]), row("Plain"), row(nil)]
    #expect(
      DeviceTable.lines(rows, width: 50, isWide: false) == [
        "RSSI  ADDRESS                   NAME",
        " -50  C0:11:22:33:44:55-random  温度計",
        "      Environmental Sensing, Battery, Device Info…",
        " -50  C0:11:22:33:44:55-random  Plain",
        " -50  C0:11:22:33:44:55-random  ",
        "      no name and no services",
      ])
  }

  @Test func aNameAloneIsNotCalledNoNameAndNoServices() throws {
    let rows = try [row("Plain"), row(nil)]
    #expect(
      DeviceTable.lines(rows, width: 80, isWide: false).dropFirst() == [
        " -50  C0:11:22:33:44:55-random  Plain             ",
        " -50  C0:11:22:33:44:55-random                    no name and no services",
      ])
    #expect(AdvertisementText.line(try row("Plain").contents) == "\"Plain\"")
  }

  @Test func aWideTableHasTheWholeContent() throws {
    let rows = try [row(nil, elements: [beacon])]
    #expect(
      DeviceTable.lines(rows, width: 80, isWide: false)[1]
        == " -50  C0:11:22:33:44:55-random                    iBeacon E2C56DB5-DFFB-48D2-B0…")
    for width in [30, 50, 76, 77, 80, 132] {
      let lines = DeviceTable.lines(rows, width: width, isWide: true)
      #expect(lines.allSatisfy { $0.columns <= width })
      let words = lines.dropFirst().joined().filter { $0 != " " }
      #expect(words.hasSuffix("iBeaconE2C56DB5-DFFB-48D2-B060-D0F5A71096E01/2,-59dBmat1m"))
    }
  }

  @Test func noLineIsWiderThanTheWindow() throws {
    let rows = try [
      row("温度計温度計温度計", ["181A", "180F"]), row("Plain", ["180D", "12345678-1234-1234-1234-123456789ABC"]),
      row(nil, elements: [beacon]),
    ]
    for width in 1...140 {
      for isWide in [false, true] {
        let lines = DeviceTable.lines(rows, width: width, isWide: isWide)
        #expect(lines.allSatisfy { $0.columns <= width }, "\(width)")
      }
    }
  }

  @Test func aPageHasTheStrongestDevicesAndTheNumberOfTheOthers() throws {
    let rows = try (0..<5).map { try row("Device \($0)", ["181A"]) }
    #expect(DeviceTable.page(rows, width: 80, height: 6, isWide: false).count == 6)
    let short = DeviceTable.page(rows, width: 80, height: 5, isWide: false)
    #expect(short.count == 5 && short.last == "… 2 more, with weaker signals")
    // Two lines for each device.
    let narrow = DeviceTable.page(rows, width: 50, height: 6, isWide: false)
    #expect(narrow.count == 6 && narrow.last == "… 3 more, with weaker signals")
    for height in 1...12 {
      #expect(DeviceTable.page(rows, width: 50, height: height, isWide: true).count <= max(1, height))
    }
  }

  @Test func aTableWithoutDevicesSaysThatItScans() {
    #expect(
      DeviceTable.page([], width: 80, height: 24, isWide: false).last == "scanning: no device so far")
    #expect(DeviceTable.page([], width: 10, height: 2, isWide: false).last == "scanning:…")
    #expect(DeviceTable.page([], width: 80, height: 1, isWide: false).count == 1)
  }

  @Test func theLastReportOfADeviceStands() {
    var rows = DeviceRows<String>()
    rows.add("first", of: device(1), strength: -40)
    rows.add("other", of: device(2), strength: nil)
    rows.add("last", of: device(1), strength: -90)
    #expect(rows.strongestFirst == ["last", "other"])
  }
}
