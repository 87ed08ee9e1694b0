import BLEGAP
import BLEWire
import Testing

private let long: [BluetoothUUID] = [
  "E20A39F4-73F5-4BC4-A12F-17D1AD07A961", "9AA4730F-B25C-4CC3-B821-C931559FC196",
  "428132AF-4746-42D3-801E-4572D65BFD9B", "7905F431-B5CE-4E99-A40F-4B1E122D00D0",
]
private let longOnAir = "61a907add1172fa1c44bf573f4390ae2"
private let policies: [AdvertisingPolicy] = [.coreBluetooth, .background, .full, .extended(limit: 251)]

@Suite struct AdvertisementTests {
  private func expect(
    _ advertisement: Advertisement, _ policy: AdvertisingPolicy, _ advertisingData: String, _ scanResponse: String = "",
    name: LocalName? = nil, overflow: [BluetoothUUID] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let payload = try advertisement.payload(under: policy)
    func digits(_ text: String) -> String { text.split(separator: " ").joined() }
    #expect(payload.advertisingData.hexadecimal == digits(advertisingData), sourceLocation: sourceLocation)
    #expect(payload.scanResponse.hexadecimal == digits(scanResponse), sourceLocation: sourceLocation)
    #expect(payload.localName == name, sourceLocation: sourceLocation)
    #expect(payload.overflowServiceUUIDs == overflow, sourceLocation: sourceLocation)
    #expect(payload.overflowArea == (overflow.isEmpty ? nil : OverflowArea(overflow)), sourceLocation: sourceLocation)
  }

  private func hexadecimal(_ text: String) -> String { Array(text.utf8).hexadecimal }

  @Test func emptyAdvertisementHasFlagsOnly() throws {
    for policy in policies { try expect(Advertisement(), policy, "020106") }
    for policy in policies { try expect(Advertisement(localName: ""), policy, "020106") }
    var silent = Advertisement()
    silent.flags = nil
    try expect(silent, .full, "")
    silent.flags = [.limitedDiscoverable, .brEDRNotSupported]
    try expect(silent, .full, "020105")
  }

  /// Name and UUIDs fit into the 28 octets together.
  @Test func placesNameAndUUIDsInTheAdvertisingData() throws {
    let advertisement = Advertisement(localName: "Heart Rate Sensor", serviceUUIDs: ["180D", "180A"])
    try expect(
      advertisement, .coreBluetooth, "020106 05030d180a18 1209\(hexadecimal("Heart Rate Sensor"))",
      name: LocalName("Heart Rate Sensor"))
  }

  /// 28 octets: a list of 12 UUIDs takes 26, one more takes all 28; then the name is in the scan response.
  @Test func movesTheNameToTheScanResponse() throws {
    let uuids = (0..<13).map { BluetoothUUID(UInt16(0x1800 + $0)) }
    let list = uuids.map { $0.littleEndian.hexadecimal }.joined()
    try expect(
      Advertisement(localName: "Ten octets", serviceUUIDs: uuids), .coreBluetooth, "020106 1b03\(list)",
      "0b09\(hexadecimal("Ten octets"))", name: LocalName("Ten octets"))
    // Eleven octets are one too many for the scan response.
    try expect(
      Advertisement(localName: "Eleven here", serviceUUIDs: uuids), .coreBluetooth, "020106 1b03\(list)",
      "0b08\(hexadecimal("Eleven her"))", name: LocalName("Eleven her", isComplete: false))
  }

  /// A shortened name goes where most of it fits: here 18 + 2 octets are left in the advertising data.
  @Test func shortensTheNameWhereMostOfItFits() throws {
    let name = "A sensor with a rather long name"
    try expect(
      Advertisement(localName: name, serviceUUIDs: ["180D", "180A", "180F"]), .coreBluetooth,
      "020106 07030d180a180f18 1308\(hexadecimal("A sensor with a ra"))",
      name: LocalName("A sensor with a ra", isComplete: false))
  }

  /// A second 128-bit UUID does not fit into 28 octets; the name takes the remaining octets.
  @Test func movesUUIDsToTheOverflowArea() throws {
    try expect(
      Advertisement(localName: "Heart Rate", serviceUUIDs: [long[0], long[1]]), .coreBluetooth,
      "020106 1106\(longOnAir) 0908\(hexadecimal("Heart Ra"))",
      "14ff4c0001 0000000000000000 04 00000000000000",
      name: LocalName("Heart Ra", isComplete: false), overflow: [long[1]])
    // A name of eight octets is complete either way.
    try expect(
      Advertisement(localName: "Heart Ra", serviceUUIDs: [long[0], long[1], "180D"]), .coreBluetooth,
      "020106 03030d18 1106\(longOnAir)",
      "0909\(hexadecimal("Heart Ra")) 14ff4c0001 0000000000000000 04 00000000000000",
      name: LocalName("Heart Ra"), overflow: [long[1]])
  }

  /// The AD type of each list shows whether it has every UUID of its size.
  @Test func marksListsCompleteForEachSize() throws {
    var advertisement = Advertisement(serviceUUIDs: ["180D", "12345678"])
    try expect(advertisement, .coreBluetooth, "020106 03030d18 050578563412")
    advertisement.marksServiceUUIDsIncomplete = true
    try expect(advertisement, .coreBluetooth, "020106 03020d18 050478563412")
  }

  @Test func sendsRepeatedUUIDsOnce() throws {
    // The same service in its short and its long form is one service; the first form is sent.
    let advertisement = Advertisement(serviceUUIDs: ["180D", "0000180D-0000-1000-8000-00805F9B34FB", "180D"])
    try expect(advertisement, .coreBluetooth, "020106 03030d18")
  }

  @Test func cutsNamesBetweenCharacters() throws {
    let uuids = (0..<13).map { BluetoothUUID(UInt16(0x1800 + $0)) }
    func sent(_ name: String) throws -> String? {
      try Advertisement(localName: name, serviceUUIDs: uuids).payload(under: .coreBluetooth).localName?.text
    }
    // Three octets a heart: three of them make nine, and the tenth octet stays unused.
    #expect(try sent("♥♥♥♥♥") == "♥♥♥")
    // An e with a combining accent is one character.
    #expect(try sent("123456789e\u{301}") == "123456789")
    // A family of 25 octets does not fit; its first member does.
    #expect(try sent("👨‍👩‍👧‍👦") == "👨‍")
    #expect(try sent("abcd👨‍👩‍👧‍👦") == "abcd")
  }

  @Test func backgroundPolicySendsTheOverflowAreaOnly() throws {
    try expect(
      Advertisement(localName: "Pulse", serviceUUIDs: ["180D", "180F"]), .background,
      "020106 14ff4c0001 00000000000000 20 000000000000 08 00", overflow: ["180D", "180F"])
    try expect(Advertisement(localName: "Pulse"), .background, "020106")
  }

  /// One 128-bit UUID in each area, the name in the area with the most space.
  @Test func fullPolicyUsesBothAreas() throws {
    try expect(
      Advertisement(localName: "Heart Rate", serviceUUIDs: [long[0], long[1]]), .full,
      "020106 1106\(longOnAir)",
      "110696c19f5531c921b8c34c5cb20f73a49a 0b09\(hexadecimal("Heart Rate"))", name: LocalName("Heart Rate"))
  }

  /// In the given order one UUID does not fit, with the long ones first all do: 6 x 2 octets displace two of 16.
  @Test func placesLongUUIDsFirstWhereThatFitsAll() throws {
    let short = (0..<6).map { BluetoothUUID(UInt16(0x1800 + $0)) }
    let payload = try Advertisement(serviceUUIDs: short + [long[0], long[1]]).payload(under: .full)
    #expect(payload.overflowServiceUUIDs.isEmpty)
    #expect(Set(payload.contents.serviceUUIDs) == Set(short + [long[0], long[1]]))
  }

  @Test func fullPolicyMovesUUIDsToTheOverflowArea() throws {
    let payload = try Advertisement(localName: "Heart Rate", serviceUUIDs: long).payload(under: .full)
    #expect(payload.contents.serviceUUIDs == [long[0]])
    #expect(payload.overflowServiceUUIDs == Array(long[1...]))
    #expect(payload.contents.overflowArea == OverflowArea(long[1...]))
    #expect(payload.localName?.text == "Heart Ra")
  }

  @Test func extendedPolicyHasOneArea() throws {
    let payload = try Advertisement(localName: "Heart Rate", serviceUUIDs: long).payload(under: .extended(limit: 251))
    #expect(payload.scanResponse.isEmpty)
    #expect(payload.contents.serviceUUIDs == long)
    #expect(payload.localName == LocalName("Heart Rate"))
    #expect(ADStructures(payload.advertisingData[...]).contains { $0.type == .completeServiceUUIDs128 })
  }

  /// Fifteen 128-bit UUIDs fill a structure; sixteen take two, of which neither is complete.
  @Test(arguments: [15, 16, 31]) func splitsAListThatExceedsAStructure(count: Int) throws {
    let uuids = (1...count).map { BluetoothUUID(uuid128: UInt128($0)) }
    let payload = try Advertisement(serviceUUIDs: uuids).payload(under: .extended(limit: 1650))
    #expect(payload.contents.serviceUUIDs == uuids)
    let types = ADStructures(payload.advertisingData[...]).map(\.type)
    #expect(
      types == [.flags]
        + (count == 15
          ? [.completeServiceUUIDs128] : Array(repeating: .incompleteServiceUUIDs128, count: (count + 14) / 15)))
  }

  @Test func limitsExtendedAdvertisingTo1650Octets() throws {
    let name = String(repeating: "n", count: 300)
    let payload = try Advertisement(localName: name).payload(under: .extended(limit: 5000))
    #expect(payload.localName == LocalName(String(repeating: "n", count: 254), isComplete: false))
    let many = (0..<1000).map { BluetoothUUID(UInt16($0)) }
    #expect(try Advertisement(serviceUUIDs: many).payload(under: .extended(limit: 5000)).advertisingData.count <= 1650)
    #expect(throws: AdvertisingDataError.self) { try Advertisement().payload(under: .extended(limit: 2)) }
    #expect(throws: AdvertisingDataError.self) { try Advertisement().payload(under: .extended(limit: -1)) }
    #expect(try Advertisement(localName: "n").payload(under: .extended(limit: 3)).localName == nil)
  }

  @Test func placesElementsBeforeNameAndUUIDs() throws {
    let advertisement = Advertisement(
      localName: "Pulse", serviceUUIDs: ["180D"],
      elements: [
        .txPowerLevel(-4), .appearance(.heartRateSensor),
        .manufacturerData(.init(company: .internalUse, data: [1, 2])),
      ])
    try expect(
      advertisement, .full, "020106 03030d18 020afc 03194003 05ffffff0102 0609\(hexadecimal("Pulse"))",
      name: LocalName("Pulse"))
    // Ten octets for the elements, and the 21 of the overflow area no longer fit beside them.
    try expect(
      advertisement, .background, "020106 020afc 03194003 05ffffff0102",
      "14ff4c0001 00000000000000 20 0000000000000000",
      overflow: ["180D"])
  }

  /// 29 octets fit only into the scan response, 28 into what the flags leave.
  @Test func placesElementsInEitherArea() throws {
    let large = ADElement.manufacturerData(.init(company: .internalUse, data: Bytes(repeating: 7, count: 27)))
    let rest = ADElement.opaque(ADType(rawValue: 0x7E), Bytes(repeating: 8, count: 26))
    for elements in [[large, rest], [rest, large]] {
      let payload = try Advertisement(localName: "Name", serviceUUIDs: ["180D"], elements: elements).payload(
        under: .full)
      #expect(payload.advertisingData.count == 31)
      #expect(payload.scanResponse.count == 31)
      // No space for anything else is reported.
      #expect(payload.localName == nil)
      #expect(payload.overflowServiceUUIDs == ["180D"])
      #expect(payload.overflowArea == nil)
    }
  }

  /// In the given order the last element does not fit (10 + 12 in 28, 16 in 31, then 20); in another all do.
  @Test func rearrangesElementsToFit() throws {
    let elements = [10, 12, 16, 20].map { ADElement.opaque(ADType(rawValue: 0x7E), Bytes(repeating: 0, count: $0 - 2)) }
    let payload = try Advertisement(elements: elements).payload(under: .full)
    #expect(payload.advertisingData.count + payload.scanResponse.count == 3 + 58)
  }

  @Test func rejectsElementThatFitsInNoArea() throws {
    let advertisement = Advertisement(
      elements: [.txPowerLevel(0), .manufacturerData(.init(company: .apple, data: Bytes(repeating: 7, count: 28)))])
    let error = #expect(throws: AdvertisingDataError.self) { try advertisement.payload(under: .full) }
    #expect(
      error
        == .tooLarge(
          [
            .init(name: "Flags (0x01)", octets: 3), .init(name: "TX Power Level (0x0A)", octets: 3),
            .init(name: "Manufacturer Specific Data (0xFF), Apple, Inc. (0x004C)", octets: 32),
          ], areas: [31, 31]))
    #expect(
      error?.description
        == "the advertisement does not fit: Flags (0x01) takes 3 octets, TX Power Level (0x0A) takes 3 octets, "
        + "Manufacturer Specific Data (0xFF), Apple, Inc. (0x004C) takes 32 octets, available are 31 and 31. "
        + "Shorten or remove an element, or use extended advertising")
  }

  @Test func rejectsNULInTheNameAndTypesOfProperties() {
    #expect(throws: AdvertisingDataError.nameContainsNUL) {
      try Advertisement(localName: "a\0b").payload(under: .coreBluetooth)
    }
    #expect(throws: AdvertisingDataError.setByProperty(.flags)) {
      try Advertisement(elements: [.flags([])]).payload(under: .full)
    }
    #expect(throws: AdvertisingDataError.setByProperty(.shortenedLocalName)) {
      try Advertisement(elements: [.localName(LocalName("n", isComplete: false))]).payload(under: .full)
    }
    #expect(throws: AdvertisingDataError.setByProperty(.completeServiceUUIDs16)) {
      try Advertisement(elements: [.serviceUUIDs([], size: .uuid16, isComplete: true)]).payload(under: .full)
    }
  }
}
