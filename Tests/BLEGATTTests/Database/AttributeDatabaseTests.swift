import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

@Suite("Attribute database (Vol 3, Part G, 2.5 and 3)")
struct AttributeDatabaseTests {
  func service(_ id: UInt32, values: Int = 1, includes: [UInt32] = [], uuid: BluetoothUUID = "180F")
    -> ServiceDefinition
  {
    ServiceDefinition(
      id: ServiceID(rawValue: id), uuid: uuid, includes: includes.map { ServiceID(rawValue: $0) },
      characteristics: (0..<values).map { number in
        CharacteristicDefinition(
          id: AttributeID(rawValue: id * 100_000 + UInt32(number)), uuid: "2A19", properties: .read,
          permissions: .readable, value: .stored([UInt8(truncatingIfNeeded: number)], length: 0...20))
      })
  }

  /// The entries of a database are many; what only some of them need is elsewhere.
  @Test func anEntryHas28Octets() { #expect(MemoryLayout<AttributeEntry>.stride == 28) }

  @Test func longTypesRemainThoseOfTheirAttributesWhenAServiceIsRemoved() throws {
    let uuids: [BluetoothUUID] = (1...4).map { BluetoothUUID(uuid128: UInt128($0) << 120 | 5) }
    var database = AttributeDatabase()
    for (index, uuid) in uuids.enumerated() {
      let id = UInt32(index + 1)
      try database.add(
        ServiceDefinition(
          id: ServiceID(rawValue: id), uuid: uuid,
          characteristics: [
            CharacteristicDefinition(
              id: AttributeID(rawValue: id), uuid: uuid, properties: .read, permissions: .readable,
              value: .fixed([UInt8(id)]), descriptors: [])
          ]))
    }
    try database.remove(ServiceID(rawValue: 2))
    #expect(database.longTypes.count == 3)
    try database.add(service(9, uuid: uuids[1]))
    #expect(database.longTypes.count == 3)
    for (id, uuid) in zip([1, 3, 4] as [UInt32], [uuids[0], uuids[2], uuids[3]]) {
      let handle = try #require(database.handle(of: AttributeID(rawValue: id)))
      let place = try #require(database.place(of: handle))
      #expect(database.uuid(of: database.attributes[place]) == uuid)
      #expect(database.uuid(of: database.attributes[place]).size == .uuid128)
    }
  }

  @Test func a16BitUUIDIn128BitsIsFoundByBothForms() throws {
    let long = BluetoothUUID(uuid128: BluetoothUUID(0x2A37).value)
    var database = AttributeDatabase()
    try database.add(
      ServiceDefinition(
        id: ServiceID(rawValue: 1), uuid: "180D",
        characteristics: [
          CharacteristicDefinition(
            id: AttributeID(rawValue: 1), uuid: long, properties: .read, permissions: .readable, value: .fixed([7]))
        ]))
    var server = TestServer(database)
    #expect(server.send(hex: "08 0100 FFFF 372A") == ["0903030007"])
    #expect(server.send(hex: "04 0300 FFFF") == ["05020300fb349b5f8000008000100000372a0000"])
  }

  @Test func makesTheAttributesOfAService() throws {
    var database = AttributeDatabase()
    let handles = try database.add(
      ServiceDefinition(
        id: ServiceID(rawValue: 1), uuid: "180D",
        characteristics: [
          CharacteristicDefinition(
            id: AttributeID(rawValue: 1), uuid: "2A37", properties: .notify, extendedProperties: .reliableWrite,
            permissions: GATTAttributePermissions(), updateRequirement: .encrypted, value: .dynamic,
            descriptors: [DescriptorDefinition(id: AttributeID(rawValue: 2), uuid: "2901", value: .fixed([0x41]))])
        ]))
    #expect(handles.range == 0x0001...0x0006)
    #expect(handles.attributes == [AttributeID(rawValue: 1): 0x0003, AttributeID(rawValue: 2): 0x0006])
    var server = TestServer(database)
    #expect(
      server.send(hex: "04 0100 FFFF") == ["050101000028020003280300372a0400002905000229"])
    // The properties of the declaration include Extended Properties.
    #expect(server.send(hex: "0A 0200") == ["0b900300372a"])
    #expect(server.send(hex: "0A 0400") == ["0b0100"])
    #expect(server.send(hex: "0A 0600") == ["0b41"])
  }

  @Test func includesAUUIDOnlyOf16Bits() throws {
    var database = AttributeDatabase()
    try database.add(service(1))
    try database.add(service(2, uuid: "B1E00200-0000-4000-8000-5357494654AB"))
    try database.add(service(3, includes: [1, 2]))
    var server = TestServer(database)
    #expect(server.send(hex: "08 0100 FFFF 0228") == ["09080800010003000f18"])
    #expect(server.send(hex: "08 0900 FFFF 0228") == ["0906090004000600"])
  }

  @Test func sendsA32BitUUIDAs128Bits() throws {
    var database = AttributeDatabase()
    try database.add(ServiceDefinition(id: ServiceID(rawValue: 1), uuid: "12345678"))
    var server = TestServer(database)
    #expect(server.send(hex: "0A 0100") == ["0bfb349b5f800000800010000078563412"])
  }

  @Test func placesTheGenericServicesFirst() throws {
    var server = try TestServer(hash: true)
    #expect(server.send(hex: "10 0100 FFFF 0028") == ["110601000500001806000d000118"])
    #expect(server.send(hex: "0A 0300") == ["0b" + Array("Lamp".utf8).hexadecimal])
    #expect(server.send(hex: "0A 0500") == ["0b8001"])
    server.database.setDeviceName("A name that is longer than the one before")
    server.database.setAppearance(0x0041)
    #expect(server.send(hex: "0C 0300 2500") == ["0d" + Array("fore".utf8).hexadecimal])
    #expect(server.send(hex: "0A 0500") == ["0b4100"])
  }

  @Test(arguments: ["ä", "a\u{308}"]) func cutsTheDeviceNameAtACharacter(last: String) {
    var database = AttributeDatabase(services: GenericServices(deviceName: ""))
    database.setDeviceName(String(repeating: "a", count: 247) + last)
    var server = TestServer(database)
    server.bearer.mtu = 517
    #expect(server.send(hex: "0A 0300") == ["0b" + [UInt8](repeating: 0x61, count: 247).hexadecimal])
  }

  @Test func rejectsInvalidDefinitions() throws {
    var database = AttributeDatabase(services: GenericServices(deviceName: "x"))
    try database.add(service(1, values: 2))
    let before = database.count
    func refused(_ definition: ServiceDefinition) -> DatabaseError? {
      do throws(DatabaseError) {
        var copy = database
        try copy.add(definition)
        return nil
      } catch { return error }
    }
    func with(_ value: ValueSource, uuid: BluetoothUUID = "2A19") -> ServiceDefinition {
      ServiceDefinition(
        id: ServiceID(rawValue: 9), uuid: "180F",
        characteristics: [
          CharacteristicDefinition(
            id: AttributeID(rawValue: 9), uuid: uuid, properties: .read, permissions: .readable, value: value)
        ])
    }
    #expect(refused(service(1)) == .duplicateService(ServiceID(rawValue: 1)))
    #expect(refused(service(.max, values: 0)) == .reservedIdentifier(.max))
    #expect(refused(service(9, includes: [7])) == .unknownInclude(ServiceID(rawValue: 7)))
    #expect(refused(with(.fixed([UInt8](repeating: 0, count: 512)))) == nil)
    let nine = AttributeID(rawValue: 9)
    #expect(refused(with(.fixed([UInt8](repeating: 0, count: 513)))) == .valueTooLong(nine, octets: 513))
    #expect(refused(with(.stored([], length: 0...513))) == .valueTooLong(nine, octets: 513))
    #expect(
      refused(with(.stored([1], length: 2...4))) == .lengthNotAllowed(nine, octets: 1, allowed: 2...4))
    #expect(refused(with(.dynamic, uuid: "2803")) == .reservedType(nine, "2803"))
    for uuid: BluetoothUUID in ["2900", "2902"] {
      var definition = with(.dynamic)
      definition.characteristics[0].descriptors = [
        DescriptorDefinition(id: AttributeID(rawValue: 10), uuid: uuid, value: .fixed([0, 0]))
      ]
      #expect(refused(definition) == .reservedType(AttributeID(rawValue: 10), uuid))
    }
    var twice = with(.dynamic)
    twice.characteristics.append(twice.characteristics[0])
    #expect(refused(twice) == .duplicateAttribute(nine))
    twice.characteristics[0].id = AttributeID(rawValue: 100_000)
    #expect(refused(twice) == .duplicateAttribute(AttributeID(rawValue: 100_000)))
    #expect(database.count == before)
    #expect("\(DatabaseError.valueTooLong(nine, octets: 513))".contains("513"))
  }

  @Test func limitsTheLengthOfStoredValues() throws {
    var database = AttributeDatabase()
    try database.add(service(1, values: 2))
    let id = AttributeID(rawValue: 100_000)
    #expect(database.storedValue(of: id) == [0])
    try database.setStored(id, [UInt8](repeating: 7, count: 20))
    #expect(database.storedValue(of: id) == [UInt8](repeating: 7, count: 20))
    #expect(database.storedValue(of: AttributeID(rawValue: 100_001)) == [1])
    #expect(throws: DatabaseError.lengthNotAllowed(id, octets: 21, allowed: 0...20)) {
      try database.setStored(id, [UInt8](repeating: 7, count: 21))
    }
    #expect(throws: DatabaseError.unknownAttribute(.unknown)) { try database.setStored(.unknown, []) }
    #expect(database.storedValue(of: .unknown) == nil)
  }

  @Test func keepsValuesThatGrow() throws {
    var database = AttributeDatabase()
    for id in 1...100 as ClosedRange<UInt32> { try database.add(service(id, values: 5)) }
    for round in 0..<3 as Range<UInt8> {
      for id in 1...100 as ClosedRange<UInt32> {
        for number in 0..<5 as Range<UInt32> {
          let value = [UInt8](repeating: UInt8(truncatingIfNeeded: id) &+ round, count: Int(number) * 5)
          try database.setStored(AttributeID(rawValue: id * 100_000 + number), value)
        }
      }
      for id in 1...100 as ClosedRange<UInt32> {
        for number in 0..<5 as Range<UInt32> {
          let value = [UInt8](repeating: UInt8(truncatingIfNeeded: id) &+ round, count: Int(number) * 5)
          #expect(database.storedValue(of: AttributeID(rawValue: id * 100_000 + number)) == value)
        }
      }
    }
    #expect(database.octets.count < 100 * 5 * 40)
  }

  @Test func assignsFreshHandlesFirst() throws {
    var database = AttributeDatabase()
    #expect(try database.add(service(1)).range == 1...3)
    #expect(try database.add(service(2)).range == 4...6)
    #expect(try database.remove(ServiceID(rawValue: 1)) == 1...3)
    #expect(database.handle(of: AttributeID(rawValue: 100_000)) == nil)
    #expect(try database.add(service(3)).range == 7...9)
    var server = TestServer(database)
    #expect(server.send(hex: "0A 0300") == ["010a030001"])
    #expect(server.send(hex: "0A 0600") == ["0b00"])
    #expect(server.send(hex: "10 0100 FFFF 0028") == ["1106040006000f18070009000f18"])
    #expect(throws: DatabaseError.unknownService(ServiceID(rawValue: 1))) {
      try database.remove(ServiceID(rawValue: 1))
    }
    #expect(database.removeAll() == 4...9)
    #expect(database.count == 0 && database.removeAll() == nil)
  }

  @Test func rejectsTheRemovalOfAnIncludedService() throws {
    var database = AttributeDatabase()
    try database.add(service(1))
    try database.add(service(2, includes: [1]))
    #expect(throws: DatabaseError.stillIncluded(ServiceID(rawValue: 1), by: ServiceID(rawValue: 2))) {
      try database.remove(ServiceID(rawValue: 1))
    }
    try database.remove(ServiceID(rawValue: 2))
    #expect(try database.remove(ServiceID(rawValue: 1)) == 1...3)
  }

  @Test func keepsTheGenericServices() throws {
    var server = try TestServer()
    #expect(server.database.removeAll() != nil)
    #expect(server.send(hex: "10 0100 FFFF 0028") == ["1106010005000018060009000118"])
    #expect(throws: DatabaseError.self) { try server.database.remove(.genericAccess) }
  }

  @Test func fillsAGapWhenNoFreshHandlesAreLeft() throws {
    var database = AttributeDatabase()
    try database.add(service(1, values: 1))
    try database.add(service(2, values: 32_763))
    // 3 + 65,527 handles are assigned, 5 are free.
    #expect(throws: DatabaseError.handlesExhausted(needed: 7)) { try database.add(service(3, values: 3)) }
    #expect(try database.add(service(4, values: 2)).range == 0xFFFB...0xFFFF)
    #expect(throws: DatabaseError.handlesExhausted(needed: 1)) { try database.add(service(5, values: 0)) }
    try database.remove(ServiceID(rawValue: 1))
    #expect(try database.add(service(5, values: 1)).range == 1...3)
    var server = TestServer(database)
    #expect(server.send(hex: "0A FFFF") == ["0b01"])
    #expect(server.send(hex: "06 0100 FFFF 0028 0F18") == ["07010003000400fafffbffffff"])
    #expect(server.send(hex: "04 FFFF FFFF") == ["0501ffff192a"])
  }

  @Test func findsEachHandleAsASearchDoes() throws {
    var database = AttributeDatabase()
    for id in 1...30 as ClosedRange<UInt32> { try database.add(service(id, values: Int(id % 4))) }
    for id in stride(from: 3 as UInt32, through: 30, by: 3) { try database.remove(ServiceID(rawValue: id)) }
    try database.add(service(99, values: 3))
    for number in 0...300 as ClosedRange<UInt16> {
      let handle = AttributeHandle(number)
      #expect(database.place(of: handle) == database.attributes.firstIndex { $0.handle == handle })
      let first = database.attributes.firstIndex { $0.handle >= handle } ?? database.count
      #expect(database.firstPlace(from: handle) == first)
    }
  }

  @Test func rejectsHandlesThatDoNotAscend() {
    let definitions = [3, 3].map { AttributeDefinition(handle: AttributeHandle($0), type: "2A00", value: .dynamic) }
    #expect(throws: DatabaseError.handlesNotAscending(3)) { try AttributeDatabase(attributes: definitions) }
    #expect(throws: DatabaseError.handlesNotAscending(0)) {
      try AttributeDatabase(attributes: [AttributeDefinition(handle: 0, type: "2A00", value: .dynamic)])
    }
  }

  @Test(arguments: [0, 1, 3, 4, 15, 17])
  func rejectsAServiceDeclarationWithoutAUUID(count: Int) {
    let definition = AttributeDefinition(
      handle: 5, type: "2800", value: .fixed([UInt8](repeating: 0x18, count: count)))
    #expect(throws: DatabaseError.malformedDeclaration(5)) { try AttributeDatabase(attributes: [definition]) }
  }

  @Test func changesTheHashWithServicesOnly() throws {
    var database = AttributeDatabase(
      services: GenericServices(deviceName: "x", databaseHashCMAC: TestServer.notReallyACMAC))
    let before = database.databaseHash()
    database.setDeviceName("y")
    #expect(database.databaseHash() == before)
    try database.add(service(1))
    #expect(database.databaseHash() != before)
    try database.remove(ServiceID(rawValue: 1))
    #expect(database.databaseHash() == before)
    #expect(AttributeDatabase().databaseHash() == nil)
  }
}
