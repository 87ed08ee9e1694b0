import BLEGAP
import BLEWire
import Foundation
import TestVectors
import Testing

@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct ADVectors {
  struct Case: Decodable, CustomTestStringConvertible, Sendable {
    struct Structure: Decodable, Sendable { var type: UInt8, data: String }
    struct Interval: Decodable, Sendable { var min, max: UInt16 }
    struct Data16: Decodable, Sendable { var uuid: String, data: String }
    struct Company: Decodable, Sendable { var company: UInt16, data: String }
    struct Fields: Decodable, Sendable {
      var flags: UInt8?
      var uuids16, uuids32, uuids128, solicitation16, solicitation128: [String]?
      var name, nameBytes: String?
      var nameComplete: Bool?
      var txPower: Int8?
      var appearance: UInt16?
      var connectionInterval: Interval?
      var serviceData: [Data16]?
      var manufacturerData: [Company]?
    }
    struct Expected: Decodable, Sendable {
      var flags: UInt8?
      var txPower: Int8?
      var uuids: [String]
      var name: String?
      var nameComplete: Bool?
    }

    var name, hex: String
    var structures: [Structure]
    var wellFormed: Bool
    var fields: Fields
    var expected: Expected?
    var encode: Bool?

    var testDescription: String { name }
    var octets: Bytes { ([UInt8](hexadecimal: hex) ?? [])[...] }
  }

  static let cases: [Case] = (try? TestVectors.load("ad", as: Case.self).cases) ?? []

  @Test func theyAreRead() { #expect(!Self.cases.isEmpty) }

  @Test(arguments: cases) func structures(vector: Case) {
    let read = ADStructures(vector.octets)
    #expect(read.map(\.type.rawValue) == vector.structures.map(\.type))
    #expect(read.map(\.data.hexadecimal) == vector.structures.map(\.data))
    #expect(read.isWellFormed == vector.wellFormed)
  }

  @Test(arguments: cases) func fields(vector: Case) {
    let fields = vector.fields
    let elements = ADStructures(vector.octets).elements
    let seen = AdvertisedData(advertisingData: vector.octets)

    #expect(seen.flags?.rawValue == fields.flags)
    for (size, listed) in [
      (BluetoothUUID.Size.uuid16, fields.uuids16), (.uuid32, fields.uuids32), (.uuid128, fields.uuids128),
    ] {
      #expect(serviceUUIDs(elements) { $0 == size } == uuids(listed))
    }
    #expect(seen.serviceUUIDs == distinct(serviceUUIDs(elements) { _ in true }))
    #expect(seen.solicitedServiceUUIDs == distinct(uuids(fields.solicitation16) + uuids(fields.solicitation128)))
    #expect(seen.localName?.octets.hexadecimal == fields.nameBytes)
    #expect(seen.localName?.text == fields.name)
    #expect(seen.localName?.isComplete == fields.nameComplete)
    #expect(seen.txPowerLevel == fields.txPower)
    #expect(seen.appearance?.rawValue == fields.appearance)
    #expect(seen.connectionIntervalRange?.minimum == fields.connectionInterval?.min)
    #expect(seen.connectionIntervalRange?.maximum == fields.connectionInterval?.max)
    #expect(seen.serviceData == serviceData(fields))
    #expect(seen.manufacturerData == manufacturerData(fields))
  }

  @Test(arguments: cases.filter { $0.expected != nil }) func expectedBySource(vector: Case) throws {
    let expected = try #require(vector.expected)
    let seen = AdvertisedData(advertisingData: vector.octets)
    #expect(seen.flags?.rawValue ?? 0 == expected.flags)
    #expect(seen.txPowerLevel == expected.txPower)
    // One of the sources names a service twice, as it stands in its octets; the view says it once.
    #expect(seen.serviceUUIDs == distinct(uuids(expected.uuids)))
    #expect(seen.localName?.text == expected.name)
    #expect(seen.localName?.isComplete == expected.nameComplete)
  }

  /// Every payload, and those that their source builds above all, is the encoding of its elements.
  @Test(arguments: cases) func rebuiltFromElements(vector: Case) {
    var octets: [UInt8] = []
    for element in ADStructures(vector.octets).elements { element.encode(to: &octets) }
    #expect(vector.octets.starts(with: octets))
    #expect(vector.octets.dropFirst(octets.count).allSatisfy { $0 == 0 })
  }

  @Test(arguments: cases.filter { $0.encode == true }) func rebuiltFromFields(vector: Case) throws {
    var octets: [UInt8] = []
    for structure in vector.structures { try element(structure, vector.fields).encode(to: &octets) }
    #expect(octets[...] == vector.octets)
  }

  /// The element made from the fields; where the collection has no field for a type, from the data of the structure.
  private func element(_ structure: Case.Structure, _ fields: Case.Fields) throws -> ADElement {
    let type = ADType(rawValue: structure.type)
    switch type {
    case .flags: return .flags(.init(rawValue: try #require(fields.flags)))
    case .completeServiceUUIDs16: return .serviceUUIDs(uuids(fields.uuids16), size: .uuid16, isComplete: true)
    case .incompleteServiceUUIDs16: return .serviceUUIDs(uuids(fields.uuids16), size: .uuid16, isComplete: false)
    case .completeServiceUUIDs32: return .serviceUUIDs(uuids(fields.uuids32), size: .uuid32, isComplete: true)
    case .incompleteServiceUUIDs32: return .serviceUUIDs(uuids(fields.uuids32), size: .uuid32, isComplete: false)
    case .completeServiceUUIDs128: return .serviceUUIDs(uuids(fields.uuids128), size: .uuid128, isComplete: true)
    case .incompleteServiceUUIDs128: return .serviceUUIDs(uuids(fields.uuids128), size: .uuid128, isComplete: false)
    case .shortenedLocalName, .completeLocalName:
      return .localName(LocalName(try #require(fields.name), isComplete: fields.nameComplete == true))
    case .txPowerLevel: return .txPowerLevel(try #require(fields.txPower))
    case .peripheralConnectionIntervalRange:
      let interval = try #require(fields.connectionInterval)
      return .peripheralConnectionIntervalRange(.init(minimum: interval.min, maximum: interval.max))
    case .serviceData16, .serviceData32, .serviceData128: return .serviceData(try #require(serviceData(fields).first))
    case .appearance: return .appearance(.init(rawValue: try #require(fields.appearance)))
    case .publicTargetAddress: return .publicTargetAddress([BD_ADDR(0x0605_0403_0201), BD_ADDR(0x0102_0304_0506)])
    case .advertisingInterval: return .advertisingInterval(0x1234)
    case .uri: return .uri(.init(octets: [1, 2, 3, 4]))
    default: return .opaque(type, ([UInt8](hexadecimal: structure.data) ?? [])[...])
    }
  }

  private func serviceUUIDs(_ elements: [ADElement], _ isWanted: (BluetoothUUID.Size) -> Bool) -> [BluetoothUUID] {
    elements.flatMap { element in
      if case .serviceUUIDs(let uuids, let size, _) = element, isWanted(size) { uuids } else { [BluetoothUUID]() }
    }
  }

  private func uuids(_ texts: [String]?) -> [BluetoothUUID] { (texts ?? []).compactMap { BluetoothUUID($0) } }

  private func distinct(_ uuids: [BluetoothUUID]) -> [BluetoothUUID] {
    var seen: Set<BluetoothUUID> = []
    return uuids.filter { seen.insert($0).inserted }
  }

  private func serviceData(_ fields: Case.Fields) -> [ServiceData] {
    (fields.serviceData ?? []).compactMap { listed in
      BluetoothUUID(listed.uuid).map { ServiceData(uuid: $0, data: ([UInt8](hexadecimal: listed.data) ?? [])[...]) }
    }
  }

  private func manufacturerData(_ fields: Case.Fields) -> [ManufacturerData] {
    (fields.manufacturerData ?? []).map {
      ManufacturerData(company: .init(rawValue: $0.company), data: ([UInt8](hexadecimal: $0.data) ?? [])[...])
    }
  }
}
