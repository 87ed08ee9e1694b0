import BLEWire
import Testing

@testable import BLEGAP

/// Long lists: extended advertisements have up to 1,650 octets (Vol 4, Part E, 7.8.54), and their senders choose them.
@Suite struct AdvertisedListTests {
  /// AD structures of one type that differ, as octets.
  struct Kind: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let type: UInt8
    /// The octets of the data of each structure.
    let length: Int

    /// - Parameter count: the octets at most.
    func octets(_ count: Int) -> Bytes {
      var (octets, number): (Bytes, UInt16) = ([], 0)
      while octets.count + length + 2 <= count {
        octets += [UInt8(length + 1), type]
        // Two octets each are another number.
        for start in stride(from: 0, to: length, by: 2) {
          number += 1
          octets.append(UInt8(truncatingIfNeeded: number))
          if start + 1 < length { octets.append(UInt8(truncatingIfNeeded: number >> 8)) }
        }
      }
      return octets
    }
  }

  static let kinds = [
    Kind(testDescription: "16-bit UUIDs", type: 0x03, length: 252),
    Kind(testDescription: "lists of one 16-bit UUID", type: 0x02, length: 2),
    Kind(testDescription: "32-bit UUIDs", type: 0x05, length: 252),
    Kind(testDescription: "128-bit UUIDs", type: 0x07, length: 240),
    Kind(testDescription: "solicited services", type: 0x14, length: 252),
    Kind(testDescription: "solicited services, one by one", type: 0x1F, length: 4),
    Kind(testDescription: "service data", type: 0x16, length: 2),
    Kind(testDescription: "service data of 32-bit UUIDs", type: 0x20, length: 4),
    Kind(testDescription: "manufacturer data", type: 0xFF, length: 2),
    Kind(testDescription: "long manufacturer data", type: 0xFF, length: 200),
    Kind(testDescription: "Class of Device", type: 0x0D, length: 3),
    Kind(testDescription: "mesh messages", type: 0x2A, length: 2),
    Kind(testDescription: "target addresses", type: 0x17, length: 6),
    Kind(testDescription: "lists of target addresses", type: 0x18, length: 252),
    Kind(testDescription: "encrypted data", type: 0x31, length: 10),
  ]

  private func parser(_ octets: Bytes) -> AdvertisedListParser {
    var parser = AdvertisedListParser()
    for structure in ADStructures(octets) { parser.add(structure) }
    _ = parser.finish()
    return parser
  }

  /// Each element of a list is compared with a number of others that does not grow with the list. Comparing each one
  /// with all others would take 800 comparisons for each octet of the longest lists here.
  @Test(arguments: kinds, [1650, 3300, 6600, 13_200]) func theWorkIsInProportionToTheOctets(kind: Kind, count: Int) {
    let octets = kind.octets(count)
    let comparisons = parser(octets).comparisons
    #expect(comparisons <= 17 * octets.count)
    let structures = octets.count / (kind.length + 2)
    #expect(structures < 4 || comparisons >= structures, "each of them counts")
  }

  @Test(arguments: kinds) func theMemoryIsInProportionToTheOctets(kind: Kind) {
    for count in [31, 62, 255, 500, 1650] {
      let octets = kind.octets(count)
      let parsed = AdvertisedLists(parsing: [octets])
      #expect(parsed.allocatedOctets <= AdvertisedLists.memoryBound(of: octets))
      let data = AdvertisedData(advertisingData: octets)
      #expect(data.allocatedOctets <= 2048)
      #expect(data.areListsParsed || AdvertisedLists.memoryBound(of: octets) > AdvertisedListStorage.maximumOctets)
    }
  }

  /// Manufacturer data counts 160 octets at most beside its own.
  @Test(arguments: [(12, true), (13, false)]) func listsAreKeptUpToTheLimit(count: Int, isKept: Bool) {
    let data = AdvertisedData(advertisingData: Kind(testDescription: "", type: 0xFF, length: 2).octets(count * 4))
    #expect(AdvertisedListStorage.maximumOctets / 160 == 12 && data.areListsParsed == isKept)
    #expect(data.manufacturerData.count == count)
  }

  /// The lists by their definition: each element is compared with all others.
  private func reference(_ octets: Bytes) -> AdvertisedData {
    var data = AdvertisedData()
    for structure in ADStructures(octets) {
      switch ADElement(structure) {
      case .serviceUUIDs(let uuids, let size, let isComplete):
        for uuid in uuids where !data.serviceUUIDs.contains(uuid) { data.serviceUUIDs.append(uuid) }
        let list = AdvertisedUUIDList(uuids, size: size, isComplete: isComplete)
        if !data.serviceUUIDLists.contains(list) { data.serviceUUIDLists.append(list) }
      case .serviceSolicitation(let uuids, _):
        for uuid in uuids where !data.solicitedServiceUUIDs.contains(uuid) { data.solicitedServiceUUIDs.append(uuid) }
      case .serviceData(let value):
        data.serviceData.removeAll { $0.uuid == value.uuid }
        data.serviceData.append(value)
      case .manufacturerData(let value):
        if !data.manufacturerData.contains(value) { data.manufacturerData.append(value) }
      case let element:
        if !data.otherElements.contains(element) { data.otherElements.append(element) }
      }
    }
    return data
  }

  /// A long advertisement has the content that its structures have, in either area.
  @Test(arguments: kinds) func longListsHaveTheSameContent(kind: Kind) {
    let octets = kind.octets(1650)
    let expected = reference(octets)
    let data = AdvertisedData(advertisingData: octets)
    #expect(data == expected && data.withParsedLists == data && data.withParsedLists.areListsParsed)
    #expect(AdvertisedData(advertisingData: [], scanResponse: octets) == expected)
    #expect(AdvertisedData(advertisingData: octets, scanResponse: octets) == expected, "repeats count once")
    let name: Bytes = [2, 0x09, 0x41]
    var named = expected
    named.localName = LocalName("A")
    #expect(AdvertisedData(advertisingData: name, scanResponse: octets) == named && data != named)
    var added = data
    added.add(name)
    #expect(added == named)
    #expect(data.serviceUUIDs == expected.serviceUUIDs && data.serviceData == expected.serviceData)
    #expect(data.solicitedServiceUUIDs == expected.solicitedServiceUUIDs)
    #expect(data.serviceUUIDLists == expected.serviceUUIDLists && data.otherElements == expected.otherElements)
    let count = data.serviceUUIDs.count + data.solicitedServiceUUIDs.count + data.serviceData.count
    #expect(count + data.manufacturerData.count + data.otherElements.count >= 6)
  }

  @Test func longListsCanBeChanged() {
    let octets = Self.kinds[0].octets(1650)
    var data = AdvertisedData(advertisingData: octets)
    #expect(!data.areListsParsed && data.serviceUUIDs.count == 756)
    data.serviceUUIDs.removeAll { $0 == BluetoothUUID(1) }
    #expect(data.areListsParsed && data.serviceUUIDs.count == 755 && data.serviceUUIDLists.count == 6)
    data.solicitedServiceUUIDs = ["180D"]
    data.serviceData = [ServiceData(uuid: "180F", data: [1])]
    data.manufacturerData = []
    data.serviceUUIDLists = []
    data.otherElements = [.leRole(.onlyCentral)]
    #expect(data.solicitedServiceUUIDs == ["180D"] && data.serviceData.count == 1 && data.leRole == .onlyCentral)
    #expect(data.manufacturerData.isEmpty && data.serviceUUIDLists.isEmpty)
  }

  /// Before and behind the length from which repeats are found in a table of hashes.
  @Test(arguments: [3, 15, 16, 17, 100]) func aRepeatIsFoundInAListOfAnyLength(count: Int) {
    var octets: Bytes = []
    for round in 0..<2 {
      for number in 0..<UInt8(count) {
        octets += [3, 0x02, number, 0x18, 3, 0x14, number, 0x19, 4, 0x16, number, 0x18, UInt8(round)]
        octets += [3, 0xFF, number, 0xFF, 2, 0x2A, number]
      }
    }
    let data = AdvertisedData(advertisingData: octets)
    let uuids = (0..<UInt16(count)).map { BluetoothUUID(0x1800 + $0) }
    #expect(data.serviceUUIDs == uuids && data.serviceUUIDLists.map(\.uuids) == uuids.map { [$0] })
    #expect(data.solicitedServiceUUIDs == (0..<UInt16(count)).map { BluetoothUUID(0x1900 + $0) })
    #expect(data.serviceData == uuids.map { ServiceData(uuid: $0, data: [1]) }, "the last one counts")
    #expect(data.manufacturerData.count == count && data.otherElements.count == count)
    // In the order of the last occurrences.
    var again = data
    again.add([4, 0x16, 0, 0x18, 7])
    #expect(again.serviceData == Array(data.serviceData.dropFirst()) + [ServiceData(uuid: "1800", data: [7])])
    again.add([3, 0x02, 0, 0x18, 3, 0xFF, 0, 0xFF])
    #expect(again.serviceUUIDs == uuids && again.manufacturerData.count == count)
  }
}
