import BLEGAP
import BLEWire
import Testing

@Suite struct AdvertisedDataTests {
  private func seen(_ advertisingData: String, _ scanResponse: String = "") throws -> AdvertisedData {
    let first = try #require([UInt8](hexadecimal: advertisingData))
    let second = try #require([UInt8](hexadecimal: scanResponse))
    return AdvertisedData(advertisingData: first[...], scanResponse: second[...])
  }

  @Test func joinsBothAreas() throws {
    let seen = try seen(
      "02 01 06  03 02 0d 18  02 0a f4  04 16 0f 18 64",
      "06 09 50 75 6c 73 65  05 03 0a 18 0d 18  03 19 40 03  05 ff ff ff 01 02  03 14 12 18  05 12 06 00 0c 00")
    #expect(seen.flags == [.generalDiscoverable, .brEDRNotSupported])
    #expect(seen.serviceUUIDs == ["180D", "180A"])
    #expect(seen.txPowerLevel == -12)
    #expect(seen.serviceData == [ServiceData(uuid: "180F", data: [0x64])])
    #expect(seen.localName == LocalName("Pulse"))
    #expect(seen.appearance == .heartRateSensor)
    #expect(seen.manufacturerData == [ManufacturerData(company: .internalUse, data: [1, 2])])
    #expect(seen.solicitedServiceUUIDs == ["1812"])
    #expect(seen.connectionIntervalRange == ConnectionIntervalRange(minimum: 6, maximum: 12))
    #expect(seen.overflowArea == nil)
    #expect(seen.isWellFormed)
  }

  @Test func usesTheLastOccurrence() throws {
    let seen = try seen("02 0a 7b 02 0a ea 03 16 0f 18 04 16 0f 18 64 05 ff ff ff 01 02 05 ff ff ff 01 02")
    #expect(seen.txPowerLevel == -22)
    #expect(seen.serviceData == [ServiceData(uuid: "180F", data: [0x64])])
    #expect(seen.manufacturerData.count == 1)
  }

  @Test func prefersTheCompleteName() throws {
    #expect(try seen("03 08 50 75", "06 09 50 75 6c 73 65").localName == LocalName("Pulse"))
    #expect(try seen("06 09 50 75 6c 73 65", "03 08 50 75").localName == LocalName("Pulse"))
    #expect(try seen("03 08 50 75").localName == LocalName("Pu", isComplete: false))
  }

  @Test func replacesInvalidUTF8InTheName() throws {
    let name = try #require(try seen("03 09 41 c3").localName)
    #expect(name.text == nil)
    #expect(name.displayText == "A\u{FFFD}")
    #expect(name.octets == [0x41, 0xC3])
  }

  @Test func aNameHasNoPaddingButItsOctetsStay() throws {
    let seen = try seen("08 09 50 61 64 00 00 00 00")
    let name = try #require(seen.localName)
    #expect(name.text == "Pad" && name.displayText == "Pad" && "\(name)" == "Pad" && seen.name == "Pad")
    #expect(name.octets == [0x50, 0x61, 0x64, 0, 0, 0, 0])
    #expect(AdvertisedData(advertisingData: [4, 0x30, 0x41, 0, 0]).broadcastName == "A")
  }

  /// The last identifier of a set counts, and each encrypted part.
  @Test func setIdentifiersAndEncryptedPartsAreDecoded() throws {
    let seen = try seen(
      "07 2e 01 02 03 04 05 06  0d 31 01 02 03 04 05 aa bb cc 11 22 33 44",
      "07 2e 11 12 13 14 15 16  0a 31 06 07 08 09 0a 55 66 77 88")
    #expect(
      seen.resolvableSetIdentifier == ResolvableSetIdentifier(hash: [0x11, 0x12, 0x13], prand: [0x14, 0x15, 0x16]))
    #expect(
      seen.encryptedData == [
        EncryptedAdvertisingData(
          randomizer: [1, 2, 3, 4, 5], payload: [0xAA, 0xBB, 0xCC], mic: [0x11, 0x22, 0x33, 0x44]),
        EncryptedAdvertisingData(randomizer: [6, 7, 8, 9, 10], payload: [], mic: [0x55, 0x66, 0x77, 0x88]),
      ])
    let none = try self.seen("02 01 06")
    #expect(none.resolvableSetIdentifier == nil && none.encryptedData.isEmpty)
  }

  @Test func aNameWithoutTextReplacesNone() throws {
    #expect(try seen("06 09 50 75 6c 73 65", "02 09 00").name == "Pulse")
    #expect(try seen("03 08 50 75", "02 09 00").name == "Pu")
    #expect(try seen("02 09 00", "03 08 50 75").name == "Pu")
    #expect(try seen("02 09 00").name == nil && seen("01 09").name == nil && seen("").name == nil)
  }

  /// Of a list, complete UUIDs are used, of flags the first octet; other data of the wrong length is ignored.
  @Test func ignoresDataOfTheWrongLength() throws {
    let seen = try seen("03 01 06 01  04 03 0d 18 0f  03 0a 01 02  02 19 01  02 16 0f  02 ff 4c")
    var expected = AdvertisedData()
    expected.flags = [.generalDiscoverable, .brEDRNotSupported]
    expected.serviceUUIDs = ["180D"]
    #expect(seen == expected)
  }

  @Test func keepsStructuresBeforeAnInvalidLength() throws {
    let seen = try seen("02 01 06 09 09 50 75", "03 03 0d 18")
    #expect(!seen.isWellFormed)
    #expect(seen.flags == [.generalDiscoverable, .brEDRNotSupported])
    #expect(seen.localName == nil)
    #expect(seen.serviceUUIDs == ["180D"])
  }

  /// Core Specification Supplement, Part A: types without a stored property.
  @Test func containsEveryTypeThatIsParsed() {
    let data = AdvertisedData(advertisingData: [
      4, 0x0D, 0x04, 0x25, 0x00,  // Class of Device
      3, 0x1A, 0x40, 0x06,  // Advertising Interval, 1 s
      3, 0x27, 0x01, 0x10,  // LE Supported Features
      2, 0x1C, 0x02,  // LE Role
      8, 0x1B, 1, 2, 3, 4, 5, 6, 1,  // LE Bluetooth Device Address, random
      7, 0x17, 1, 0, 0, 0, 0, 0,  // Public Target Address
      7, 0x18, 2, 0, 0, 0, 0, 0xC0,  // Random Target Address
      3, 0x30, 0x48, 0x69,  // Broadcast_Name
      5, 0x02, 0x0D, 0x18, 0x0A, 0x18,  // Incomplete List of 16-bit UUIDs
      5, 0x05, 1, 0, 0, 0,  // Complete List of 32-bit UUIDs
      2, 0x1A, 0x40,  // too short
    ])
    #expect(data.classOfDevice == 0x002504 && data.advertisingInterval == 1600)
    #expect(data.leSupportedFeatures == [0x01, 0x10] && data.leRole == .bothPeripheralPreferred)
    #expect(data.deviceAddress != nil && data.broadcastName == "Hi")
    #expect(
      data.targetAddresses == [
        DeviceAddress(octets: BD_ADDR(1), kind: .public),
        DeviceAddress(octets: BD_ADDR(0xC000_0000_0002), kind: .random),
      ])
    #expect(
      data.serviceUUIDLists == [
        AdvertisedUUIDList(["180D", "180A"], size: .uuid16, isComplete: false),
        AdvertisedUUIDList([BluetoothUUID(uuid32: 1)], size: .uuid32, isComplete: true),
      ])
    #expect(data.otherElements.count == 8 && data.isWellFormed)
    #expect(AdvertisedData(advertisingData: [5, 0x2F, 0, 0, 0, 1]).advertisingInterval == 0x0100_0000)
  }
}
