import BLEGAP
import BLEWire
import TestVectors
import Testing

@Suite(.enabled(if: TestVectors.areHere, Comment(rawValue: TestVectors.whereToPutThem)))
struct ADVectors {
  struct Case: Decodable, Sendable {
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
      var uuids: [String]?
      var name: String?
      var nameComplete: Bool?
    }

    var hex: String
    var policy: [String]?
    var structures: [Structure]?
    var wellFormed: Bool?
    var fields: Fields?
    var expected: Expected?
    var encode: Bool?
  }

  @Test func everyPayloadIsReadAndRebuilt() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("AD")
    #expect(report.failures == [])
  }

  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("ad", cases: Case.self, into: &report)
    for (name, vector) in file.cases(of: ["payload"], notingAllBut: ["payload"], into: &report) {
      report.check(name, policy: vector.policy) { checks in
        let octets = try checks.need([UInt8](hexadecimal: vector.hex), "hex")[...]
        checkStructures(vector, octets, &checks)
        if let fields = vector.fields { checkFields(fields, octets, &checks) }
        if let expected = vector.expected { checkExpected(expected, octets, &checks) }
        checkElements(octets, &checks)
        if vector.encode == true { try rebuild(vector, octets, &checks) }
      }
    }
    return report
  }

  private static func checkStructures(_ vector: Case, _ octets: Bytes, _ checks: inout VectorChecks) {
    let read = ADStructures(octets)
    checks.equal(read.map(\.type.rawValue), ifGiven: vector.structures?.map(\.type), "the types")
    checks.equal(read.map(\.data.hexadecimal), ifGiven: vector.structures?.map(\.data), "the data")
    checks.equal(read.isWellFormed, ifGiven: vector.wellFormed, "whether it is well-formed")
  }

  private static func checkFields(_ fields: Case.Fields, _ octets: Bytes, _ checks: inout VectorChecks) {
    let elements = ADStructures(octets).elements
    let seen = AdvertisedData(advertisingData: octets)
    checks.equal(seen.flags?.rawValue, fields.flags, "flags")
    for (size, listed) in [
      (BluetoothUUID.Size.uuid16, fields.uuids16), (.uuid32, fields.uuids32), (.uuid128, fields.uuids128),
    ] {
      checks.equal(serviceUUIDs(elements) { $0 == size }, uuids(listed), "service UUIDs")
    }
    checks.equal(seen.serviceUUIDs, distinct(serviceUUIDs(elements) { _ in true }), "all service UUIDs")
    let solicited = distinct(uuids(fields.solicitation16) + uuids(fields.solicitation128))
    checks.equal(seen.solicitedServiceUUIDs, solicited, "solicited services")
    checks.equal(seen.localName?.octets.hexadecimal, fields.nameBytes, "the name's octets")
    checks.equal(seen.localName?.text, fields.name, "the name")
    checks.equal(seen.localName?.isComplete, fields.nameComplete, "whether the name is complete")
    checks.equal(seen.txPowerLevel, fields.txPower, "TX power")
    checks.equal(seen.appearance?.rawValue, fields.appearance, "appearance")
    checks.equal(seen.connectionIntervalRange?.minimum, fields.connectionInterval?.min, "the shortest interval")
    checks.equal(seen.connectionIntervalRange?.maximum, fields.connectionInterval?.max, "the longest interval")
    checks.equal(seen.serviceData, serviceData(fields), "service data")
    checks.equal(seen.manufacturerData, manufacturerData(fields), "manufacturer data")
  }

  /// The expectation of the vector's source.
  private static func checkExpected(_ expected: Case.Expected, _ octets: Bytes, _ checks: inout VectorChecks) {
    let seen = AdvertisedData(advertisingData: octets)
    checks.equal(seen.flags?.rawValue ?? 0, ifGiven: expected.flags, "flags")
    checks.equal(seen.txPowerLevel, expected.txPower, "TX power")
    // One of the sources lists a service twice, as the octets do; the view has it once.
    checks.equal(seen.serviceUUIDs, ifGiven: expected.uuids.map { distinct(uuids($0)) }, "services")
    checks.equal(seen.localName?.text, expected.name, "the name")
    checks.equal(seen.localName?.isComplete, expected.nameComplete, "whether the name is complete")
  }

  /// Every payload is the encoding of its elements.
  private static func checkElements(_ payload: Bytes, _ checks: inout VectorChecks) {
    var octets: [UInt8] = []
    for element in ADStructures(payload).elements { element.encode(to: &octets) }
    checks.expect(payload.starts(with: octets), "its elements are encoded as \(octets.hexadecimal)")
    checks.expect(payload.dropFirst(octets.count).allSatisfy { $0 == 0 }, "octets that are in no element")
  }

  /// Payloads that their source builds from fields are built from the same fields.
  private static func rebuild(_ vector: Case, _ payload: Bytes, _ checks: inout VectorChecks) throws {
    let structures = try checks.need(vector.structures, "structures")
    let fields = try checks.need(vector.fields, "fields")
    var octets: [UInt8] = []
    for structure in structures { try element(structure, fields).encode(to: &octets) }
    checks.equal(octets.hexadecimal, payload.hexadecimal, "what the fields make")
  }

  /// The element made from the fields; where the collection has no field for a type, from the data of the structure.
  private static func element(_ structure: Case.Structure, _ fields: Case.Fields) throws -> ADElement {
    func need<Value>(_ value: Value?, _ name: String) throws(MissingValue) -> Value {
      try VectorChecks().need(value, name)
    }
    let type = ADType(rawValue: structure.type)
    switch type {
    case .flags: return .flags(.init(rawValue: try need(fields.flags, "flags")))
    case .completeServiceUUIDs16: return .serviceUUIDs(uuids(fields.uuids16), size: .uuid16, isComplete: true)
    case .incompleteServiceUUIDs16: return .serviceUUIDs(uuids(fields.uuids16), size: .uuid16, isComplete: false)
    case .completeServiceUUIDs32: return .serviceUUIDs(uuids(fields.uuids32), size: .uuid32, isComplete: true)
    case .incompleteServiceUUIDs32: return .serviceUUIDs(uuids(fields.uuids32), size: .uuid32, isComplete: false)
    case .completeServiceUUIDs128: return .serviceUUIDs(uuids(fields.uuids128), size: .uuid128, isComplete: true)
    case .incompleteServiceUUIDs128: return .serviceUUIDs(uuids(fields.uuids128), size: .uuid128, isComplete: false)
    case .shortenedLocalName, .completeLocalName:
      return .localName(LocalName(try need(fields.name, "name"), isComplete: fields.nameComplete == true))
    case .txPowerLevel: return .txPowerLevel(try need(fields.txPower, "txPower"))
    case .peripheralConnectionIntervalRange:
      let interval = try need(fields.connectionInterval, "connectionInterval")
      return .peripheralConnectionIntervalRange(.init(minimum: interval.min, maximum: interval.max))
    case .serviceData16, .serviceData32, .serviceData128:
      return .serviceData(try need(serviceData(fields).first, "serviceData"))
    case .appearance: return .appearance(.init(rawValue: try need(fields.appearance, "appearance")))
    case .publicTargetAddress: return .publicTargetAddress([BD_ADDR(0x0605_0403_0201), BD_ADDR(0x0102_0304_0506)])
    case .advertisingInterval: return .advertisingInterval(0x1234)
    case .uri: return .uri(.init(octets: [1, 2, 3, 4]))
    default: return .opaque(type, ([UInt8](hexadecimal: structure.data) ?? [])[...])
    }
  }

  private static func serviceUUIDs(_ elements: [ADElement], _ isWanted: (BluetoothUUID.Size) -> Bool) -> [BluetoothUUID]
  {
    elements.flatMap { element in
      if case .serviceUUIDs(let uuids, let size, _) = element, isWanted(size) { uuids } else { [BluetoothUUID]() }
    }
  }

  private static func uuids(_ texts: [String]?) -> [BluetoothUUID] { (texts ?? []).compactMap { BluetoothUUID($0) } }

  private static func distinct(_ uuids: [BluetoothUUID]) -> [BluetoothUUID] {
    var seen: Set<BluetoothUUID> = []
    return uuids.filter { seen.insert($0).inserted }
  }

  private static func serviceData(_ fields: Case.Fields) -> [ServiceData] {
    (fields.serviceData ?? []).compactMap { listed in
      BluetoothUUID(listed.uuid).map { ServiceData(uuid: $0, data: ([UInt8](hexadecimal: listed.data) ?? [])[...]) }
    }
  }

  private static func manufacturerData(_ fields: Case.Fields) -> [ManufacturerData] {
    (fields.manufacturerData ?? []).map {
      ManufacturerData(company: .init(rawValue: $0.company), data: ([UInt8](hexadecimal: $0.data) ?? [])[...])
    }
  }
}
