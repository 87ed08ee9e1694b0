import BLEGAP
import BLEWire
import TestSupport
import Testing

@Suite struct ADElementTests {
  private static let sixteen: Bytes = Bytes(0..<16)

  /// Every type: the octets of a structure and its element (Core Specification Supplement, Part A, 1).
  static let golden: [(String, ADElement)] = [
    ("02 01 06", .flags([.generalDiscoverable, .brEDRNotSupported])),
    ("05 02 0d 18 0f 18", .serviceUUIDs(["180D", "180F"], size: .uuid16, isComplete: false)),
    ("03 03 0d 18", .serviceUUIDs(["180D"], size: .uuid16, isComplete: true)),
    ("05 04 78 56 34 12", .serviceUUIDs(["12345678"], size: .uuid32, isComplete: false)),
    ("01 05", .serviceUUIDs([], size: .uuid32, isComplete: true)),
    (
      "11 06 61 a9 07 ad d1 17 2f a1 c4 4b f5 73 f4 39 0a e2",
      .serviceUUIDs(["E20A39F4-73F5-4BC4-A12F-17D1AD07A961"], size: .uuid128, isComplete: false)
    ),
    (
      "11 07 61 a9 07 ad d1 17 2f a1 c4 4b f5 73 f4 39 0a e2",
      .serviceUUIDs(["E20A39F4-73F5-4BC4-A12F-17D1AD07A961"], size: .uuid128, isComplete: true)
    ),
    ("03 08 48 65", .localName(LocalName("He", isComplete: false))),
    ("04 09 e2 99 a5", .localName(LocalName("♥"))),
    ("02 0a f4", .txPowerLevel(-12)),
    ("04 0d 18 f3 ff", .classOfDevice(0xFFF318)),
    ("11 10 000102030405060708090a0b0c0d0e0f", .securityManagerTKValue(sixteen)),
    ("02 11 09", .securityManagerOOBFlags([.oobDataPresent, .randomAddress])),
    ("05 12 06 00 80 0c", .peripheralConnectionIntervalRange(.init(minimum: 6, maximum: 3200))),
    ("03 14 12 18", .serviceSolicitation(["1812"], size: .uuid16)),
    (
      "11 15 d0 00 2d 12 1e 4b 0f a4 99 4e ce b5 31 f4 05 79",
      .serviceSolicitation(["7905F431-B5CE-4E99-A40F-4B1E122D00D0"], size: .uuid128)
    ),
    ("04 16 0f 18 64", .serviceData(.init(uuid: "180F", data: [0x64]))),
    ("0d 17 665544332211 060504030201", .publicTargetAddress([BD_ADDR(0x112233445566), BD_ADDR(0x010203040506)])),
    ("07 18 5544332211c0", .randomTargetAddress([BD_ADDR(0xC01122334455)])),
    ("03 19 40 03", .appearance(.heartRateSensor)),
    ("03 1a a0 00", .advertisingInterval(160)),
    (
      "08 1b 5544332211c0 01",
      .leBluetoothDeviceAddress(.init(DeviceAddress(octets: BD_ADDR(0xC01122334455), kind: .randomIdentity)))
    ),
    ("02 1c 02", .leRole(.bothPeripheralPreferred)),
    ("05 1f 78 56 34 12", .serviceSolicitation(["12345678"], size: .uuid32)),
    ("06 20 78 56 34 12 01", .serviceData(.init(uuid: "12345678", data: [1]))),
    (
      "12 21 61 a9 07 ad d1 17 2f a1 c4 4b f5 73 f4 39 0a e2 01",
      .serviceData(.init(uuid: "E20A39F4-73F5-4BC4-A12F-17D1AD07A961", data: [1]))
    ),
    ("11 22 000102030405060708090a0b0c0d0e0f", .leSecureConnectionsConfirmationValue(sixteen)),
    ("11 23 000102030405060708090a0b0c0d0e0f", .leSecureConnectionsRandomValue(sixteen)),
    ("07 24 17 2f 2f 61 2e 62", .uri(AdvertisedURI("https://a.b"))),
    ("02 25 00", .indoorPositioning([0])),
    ("04 26 01 02 00", .transportDiscoveryData([1, 2, 0])),
    ("03 27 ff 01", .leSupportedFeatures([0xFF, 0x01])),
    (
      "08 28 ff ff ff ff 1f 34 12",
      .channelMapUpdateIndication(.init(channelMap: [255, 255, 255, 255, 31], instant: 0x1234))
    ),
    ("03 29 01 02", .pbADV([1, 2])),
    ("03 2a 01 02", .meshMessage([1, 2])),
    ("03 2b 01 02", .meshBeacon([1, 2])),
    ("03 2c 01 02", .bigInfo([1, 2])),
    ("11 2d 000102030405060708090a0b0c0d0e0f", .broadcastCode(sixteen)),
    ("07 2e 01 02 03 04 05 06", .resolvableSetIdentifier(.init(hash: [1, 2, 3], prand: [4, 5, 6]))),
    ("04 2f a0 00 00", .advertisingIntervalLong(160)),
    ("05 2f 00 00 00 01", .advertisingIntervalLong(0x0100_0000)),
    ("05 30 54 65 73 74", .broadcastName(Bytes("Test".utf8))),
    (
      "0c 31 01 02 03 04 05 aa bb f1 f2 f3 f4",
      .encryptedData(.init(randomizer: [1, 2, 3, 4, 5], payload: [0xAA, 0xBB], mic: [0xF1, 0xF2, 0xF3, 0xF4]))
    ),
    ("09 32 d6 be 89 8e 04 06 08 0a", .periodicAdvertisingResponseTiming(timing)),
    ("03 34 01 02", .electronicShelfLabel([1, 2])),
    ("03 3d 01 02", .threeDInformationData([1, 2])),
    ("05 ff 4c 00 02 15", .manufacturerData(.init(company: .apple, data: [2, 0x15]))),
    ("03 7e 01 02", .opaque(ADType(rawValue: 0x7E), [1, 2])),
  ]

  private static let timing: PeriodicAdvertisingResponseTiming = {
    var timing = PeriodicAdvertisingResponseTiming()
    timing.responseAccessAddress = 0x8E89_BED6
    (timing.subevents, timing.subeventInterval) = (4, 6)
    (timing.responseSlotDelay, timing.responseSlotSpacing) = (8, 10)
    return timing
  }()

  @Test(arguments: golden) func decodesAndEncodesEveryType(hexadecimal: String, element: ADElement) throws {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    #expect(ADStructures(octets[...]).elements == [element])
    var written: [UInt8] = []
    element.encode(to: &written)
    #expect(written == octets)
    #expect(element.encodedLength == octets.count)
  }

  /// Data of the wrong length is kept as octets and encoded unchanged.
  @Test(
    arguments: [
      "01 01", "03 01 06 00", "04 03 0d 18 0f", "04 05 01 02 03", "02 07 01", "01 0a", "03 0a 01 02", "03 0d 01 02",
      "09 10 0102030405060708", "01 11", "04 12 01 02 03", "06 12 01 02 03 04 05", "02 14 01", "02 16 01",
      "04 20 010203",
      "02 21 01", "06 17 01 02 03 04 05", "08 18 01 02 03 04 05 06 07", "02 19 01", "04 19 01 02 03", "02 1a 01",
      "07 1b 01 02 03 04 05 06", "01 1c", "10 22 000102030405060708090a0b0c0d0e", "02 23 00", "02 28 00", "02 2d 00",
      "03 2e 00 00", "03 2f 00 00", "05 2f a0 00 00 00", "09 31 01 02 03 04 05 f1 f2 f3", "08 32 01 02 03 04 05 06 07",
      "02 ff 4c", "01 ff",
    ]) func keepsDataOfTheWrongLengthOpaque(hexadecimal: String) throws
  {
    let octets = try #require([UInt8](hexadecimal: hexadecimal))
    let elements = ADStructures(octets[...]).elements
    #expect(elements == [.opaque(ADType(rawValue: octets[1]), octets[2...])])
    var written: [UInt8] = []
    for element in elements { element.encode(to: &written) }
    #expect(written == octets)
  }

  @Test func encodesAnyDataAsDecoded() {
    var source = SplitMix64(seed: 1)
    for type in UInt8.min ... .max {
      for _ in 0..<40 {
        let data = Bytes(
          (0..<Int.random(in: 0...36, using: &source)).map { _ in UInt8.random(in: 0...255, using: &source) })
        let structure = ADStructure(type: ADType(rawValue: type), data: data)
        #expect(ADElement(structure).structure == structure)
      }
    }
  }

  @Test func encodesItsFormats() throws {
    func check<P: Packet>(_ type: P.Type, open: Bool = false) throws {
      var source = SplitMix64(seed: 1)
      for _ in 0..<50 {
        let packet = P.random(from: &source)
        #expect(try P(decoding: packet.encoded[...]) == packet)
      }
      let shortest = P().encoded
      for length in shortest.indices {
        #expect(throws: CodecError.self) { try P(decoding: shortest[..<length]) }
      }
      if !open { #expect(throws: CodecError.trailing(count: 1)) { try P(decoding: shortest + [0]) } }
    }
    try check(ConnectionIntervalRange.self)
    try check(ServiceData.self, open: true)
    try check(ManufacturerData.self, open: true)
    try check(AdvertisedDeviceAddress.self)
    try check(ChannelMapUpdate.self)
    try check(EncryptedAdvertisingData.self, open: true)
    try check(PeriodicAdvertisingResponseTiming.self)
    try check(ResolvableSetIdentifier.self)
  }

  /// A UUID is encoded in the size of its list, or omitted.
  @Test func listOmitsUUIDsWithoutAValueOfItsSize() {
    let mixed: [BluetoothUUID] = ["180D", "12345678", "E20A39F4-73F5-4BC4-A12F-17D1AD07A961"]
    #expect(ADElement.serviceUUIDs(mixed, size: .uuid16, isComplete: true).data == [0x0D, 0x18])
    #expect(ADElement.serviceUUIDs(mixed, size: .uuid32, isComplete: true).data.hexadecimal == "0d18000078563412")
    #expect(ADElement.serviceUUIDs(mixed, size: .uuid128, isComplete: true).data.count == 48)
  }

  @Test func expandsKnownURISchemes() {
    #expect(AdvertisedURI("https://example.org").octets == [0x17] + Bytes("//example.org".utf8))
    #expect(AdvertisedURI("http://example.org").octets.first == 0x16)
    #expect(AdvertisedURI("urn:a:b").octets == [0x01] + Bytes("urn:a:b".utf8))
    for text in ["https://example.org", "http://a", "urn:a:b", ""] { #expect(AdvertisedURI(text).text == text) }
    // An unknown scheme, octets that are not UTF-8, no octets.
    #expect(AdvertisedURI(octets: [0x7F, 0x61]).text == nil)
    #expect(AdvertisedURI(octets: [0x17, 0xFF]).text == nil)
    #expect(AdvertisedURI(octets: []).text == nil)
  }

  @Test func printsTypeAndDetails() {
    #expect("\(ADElement.flags([]))" == "Flags (0x01)")
    #expect(
      "\(ADElement.manufacturerData(.init(company: .apple, data: [1])))"
        == "Manufacturer Specific Data (0xFF), Apple, Inc. (0x004C)")
    #expect("\(ADElement.serviceData(.init(uuid: "180F", data: [])))" == "Service Data (16-bit UUID) (0x16), 180F")
    #expect(
      "\(ADType(rawValue: 0x07)), \(ADType(rawValue: 0x0B))"
        == "Complete List of 128-bit Service UUIDs (0x07), AD type 0x0B")
  }
}
