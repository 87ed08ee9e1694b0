import BLEGAP
import BLEWire
import TestSupport
import Testing

@Suite struct OverflowAreaTests {
  /// Bits seen in captures and published tables.
  @Test(
    arguments: [
      ("180D", 61), ("180F", 115), ("E20A39F4-73F5-4BC4-A12F-17D1AD07A961", 53),
      ("00000000-0000-0000-0000-000000000000", 0), ("9aa4730f-b25c-4cc3-b821-c931559fc196", 66), ("C007", 36),
      ("C008", 59), ("1001", 57), ("3333", 57), ("428132af-4746-42d3-801e-4572d65bfd9b", 85),
    ]) func hashesUUIDsToTheKnownBits(text: String, bit: Int) throws
  {
    let uuid = try #require(BluetoothUUID(text))
    #expect(OverflowArea.bit(of: uuid) == bit)
    #expect(OverflowArea([uuid]).mask == 1 << UInt128(bit))
    #expect(OverflowArea([uuid]).contains(uuid))
  }

  @Test func encodesBitsLeastSignificantOctetFirst() throws {
    let area = OverflowArea(["180D", "180F"])
    // Bit 61 is bit 5 of octet 7, bit 115 is bit 3 of octet 14.
    let octets = try #require([UInt8](hexadecimal: "14 ff 4c 00 01 00000000000000 20 000000000000 08 00"))
    var written: [UInt8] = []
    ADElement.manufacturerData(area.manufacturerData).encode(to: &written)
    #expect(written == octets)
    let seen = AdvertisedData(advertisingData: octets[...])
    #expect(seen.overflowArea == area)
    #expect(seen.overflowArea?.matches(of: ["180A", "180F", "180D"]) == ["180F", "180D"])
    #expect(seen.serviceUUIDs.isEmpty)
  }

  @Test func rejectsOtherManufacturerData() {
    let mask = Bytes(repeating: 0xFF, count: 16)
    #expect(OverflowArea(ManufacturerData(company: .apple, data: [1] + mask)) != nil)
    #expect(OverflowArea(ManufacturerData(company: .internalUse, data: [1] + mask)) == nil)
    #expect(OverflowArea(ManufacturerData(company: .apple, data: [2] + mask)) == nil)
    #expect(OverflowArea(ManufacturerData(company: .apple, data: [1] + mask.dropLast())) == nil)
    #expect(OverflowArea(ManufacturerData(company: .apple, data: [1] + mask + [0])) == nil)
    #expect(OverflowArea(ManufacturerData(company: .apple, data: [])) == nil)
  }

  @Test func decodesTheEncodedMask() {
    var source = SplitMix64(seed: 1)
    for _ in 0..<200 {
      let uuids = (0..<Int.random(in: 0...20, using: &source)).map { _ in
        BluetoothUUID(uuid128: .random(in: .min ... .max, using: &source))
      }
      let area = OverflowArea(uuids)
      #expect(OverflowArea(area.manufacturerData) == area)
      #expect(area.matches(of: uuids) == uuids)
    }
  }
}
