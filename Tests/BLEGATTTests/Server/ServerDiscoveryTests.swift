import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// Discovery (Vol 3, Part F, 3.4.3 and 3.4.4.9; Part G, 4.4 to 4.7).
@Suite("Discovery requests (GATT/SR/GAC, GAD)")
struct ServerDiscoveryTests {
  @Test func exchangeMTU_GAC_BV_01() throws {
    // The Client Rx MTU, and the ATT_MTU after the exchange.
    for (client, agreed) in [(0, 23), (22, 23), (23, 23), (24, 24), (185, 185), (517, 517), (0xFFFF, 517)] {
      var server = try TestServer()
      let request = ATTPDU.exchangeMTURequest(.init(clientRxMTU: UInt16(client)))
      #expect(server.request(request) == ATTPDU.exchangeMTUResponse(.init(serverRxMTU: 517)))
      #expect(server.bearer.mtu == agreed)
      #expect(server.takeEvents() == (agreed == 23 ? [] : [.mtuChanged(agreed)]))
    }
  }

  @Test func limitsTheServerRxMTU() throws {
    for (limit, offered) in [(0, 23), (23, 23), (185, 185), (517, 517), (2000, 517)] {
      var server = try TestServer(limits: GATTServer.Limits(maximumMTU: limit))
      let answer = server.request(ATTPDU.exchangeMTURequest(.init(clientRxMTU: 517)))
      #expect(answer == ATTPDU.exchangeMTUResponse(.init(serverRxMTU: UInt16(offered))))
      #expect(server.bearer.mtu == offered)
    }
  }

  @Test func ignoresASecondMTUExchange() throws {
    var server = try TestServer()
    _ = server.request(ATTPDU.exchangeMTURequest(.init(clientRxMTU: 100)))
    _ = server.takeEvents()
    #expect(server.send(hex: "02 0502") == ["030502"])
    #expect(server.bearer.mtu == 100)
    #expect(server.takeEvents() == [.violation(.repeatedMTUExchange)])
  }

  @Test func rejectsInvalidRanges_GAD() throws {
    // Each request with a range, and the handle in the error.
    for tail in [("04", ""), ("06", "00280118"), ("08", "0328"), ("10", "0028")] {
      var server = try TestServer()
      #expect(server.send(hex: "\(tail.0) 0000 FFFF \(tail.1)") == ["01\(tail.0)000001"])
      #expect(server.send(hex: "\(tail.0) 0500 0400 \(tail.1)") == ["01\(tail.0)050001"])
      #expect(server.send(hex: "\(tail.0) F0FF FFFF \(tail.1)") == ["01\(tail.0)f0ff0a"])
    }
  }

  @Test func readByGroupType_GAD_BV_01() throws {
    var server = try TestServer()
    #expect(server.send(hex: "10 0100 FFFF 0028") == ["110601000500001806000900" + "0118"])
    let last = server.database.range(of: ServiceID(rawValue: 1))?.upperBound ?? .none
    #expect(last == 0x0024)
    #expect(server.send(hex: "10 0A00 FFFF 0028") == ["1114" + "0a002400" + "ab54464957530080004000000001e0b1"])
    #expect(server.send(hex: "10 0B00 FFFF 0028") == ["01100b000a"])
    // The 128-bit form of the group type has the same result.
    #expect(server.send(hex: "10 0600 FFFF FB349B5F80000080001000000028 0000") == ["110606000900" + "0118"])
    #expect(server.send(hex: "10 0100 FFFF 0128") == ["011001000a"])
  }

  @Test func rejectsOtherGroupTypes_GAD() throws {
    var server = try TestServer()
    for type in ["0328", "0228", "0229", "002A", "000102030405060708090A0B0C0D0E0F"] {
      #expect(server.send(hex: "10 0100 FFFF \(type)") == ["0110010010"])
    }
  }

  @Test func listsTheServicesThatFit() throws {
    var database = AttributeDatabase()
    for id in 0..<10 as Range<UInt32> {
      try database.add(ServiceDefinition(id: ServiceID(rawValue: id), uuid: BluetoothUUID(0x1800 + UInt16(id))))
    }
    for mtu in [23, 24, 25, 26, 62, 63, 517] {
      var server = TestServer(database)
      server.bearer.mtu = mtu
      let answers = server.send([0x10, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28])
      #expect(answers.map(\.count) == [2 + 6 * min(10, (mtu - 2) / 6)])
    }
  }

  @Test func listsSecondaryServicesSeparately() throws {
    var database = AttributeDatabase()
    for (id, isPrimary) in [(1, true), (2, false), (3, true), (4, false)] {
      try database.add(
        ServiceDefinition(id: ServiceID(rawValue: UInt32(id)), uuid: "180F", isPrimary: isPrimary))
    }
    var server = TestServer(database)
    #expect(server.send(hex: "10 0100 FFFF 0028") == ["1106010001000f18030003000f18"])
    #expect(server.send(hex: "10 0100 FFFF 0128") == ["1106020002000f18040004000f18"])
    #expect(server.send(hex: "06 0100 FFFF 0028 0F18") == ["070100010003000300"])
    #expect(server.send(hex: "06 0100 FFFF 0128 0F18") == ["070200020004000400"])
  }

  @Test func findByTypeValue_GAD_BV_02() throws {
    var server = try TestServer()
    #expect(server.send(hex: "06 0100 FFFF 0028 0118") == ["0706000900"])
    #expect(server.send(hex: "06 0100 0500 0028 0118") == ["010601000a"])
    #expect(server.send(hex: "06 0100 FFFF 0028 AB54464957530080004000000001E0B1") == ["070a002400"])
    // The octets are compared: a 16-bit UUID does not equal its 128-bit form here.
    #expect(server.send(hex: "06 0100 FFFF 0028 FB349B5F800000800010000001180000") == ["010601000a"])
    for value in ["", "01", "011800"] {
      #expect(server.send(hex: "06 0100 FFFF 0028 \(value)") == ["010601000a"])
    }
  }

  @Test func findsOtherAttributesByTypeAndValue() throws {
    var server = try TestServer()
    // A characteristic groups up to the next one; a value or descriptor is alone (Vol 3, Part G, 2.5.3).
    let declaration = AttributeHandle(server.handle(.both).rawValue - 1)
    let value = [UInt8](hexadecimal: server.send(hex: "0A \(declaration.hex)")[0])?.dropFirst() ?? []
    #expect(
      server.send(hex: "06 0100 FFFF 0328 \(value.hexadecimal)") == [
        "07\(declaration.hex)\(server.descriptor(.both).hex)"
      ])
    #expect(
      server.send(hex: "06 0100 FFFF F1FF 68656C6C6F") == ["07\(server.handle(.short).hex)\(server.handle(.short).hex)"]
    )
    // Attributes that the client may not read are not found, and neither are dynamic values.
    #expect(server.send(hex: "06 0100 FFFF F5FF 736563726574") == ["010601000a"])
    server.security = .justWorks
    #expect(server.send(hex: "06 0100 FFFF F5FF 736563726574").first?.hasPrefix("07") == true)
    #expect(server.send(hex: "06 0100 FFFF F2FF") == ["010601000a"])
  }

  @Test func findInformation_GAD_BV_06() throws {
    var server = try TestServer()
    #expect(
      server.send(hex: "04 0100 0500") == ["0501" + "01000028" + "02000328" + "0300002a" + "04000328" + "0500012a"])
    #expect(server.send(hex: "04 0300 0300") == ["05010300002a"])
    #expect(server.send(hex: "04 FFFF FFFF") == ["0104ffff0a"])
  }

  @Test func findInformationEndsAtATypeOfAnotherSize() throws {
    var database = AttributeDatabase()
    try database.add(
      ServiceDefinition(
        id: ServiceID(rawValue: 1), uuid: "180F",
        characteristics: [
          CharacteristicDefinition(
            id: AttributeID(rawValue: 1), uuid: "B1E00101-0000-4000-8000-5357494654AB", properties: [.read, .notify],
            permissions: .readable, value: .dynamic)
        ]))
    var server = TestServer(database)
    #expect(server.send(hex: "04 0100 FFFF") == ["0501" + "01000028" + "02000328"])
    #expect(server.send(hex: "04 0300 FFFF") == ["0502" + "0300" + "ab54464957530080004000000101e0b1"])
    #expect(server.send(hex: "04 0400 FFFF") == ["0501" + "04000229"])
  }

  /// Each request finds all of 16,000 attributes, each once.
  @Test func findsAllOfALargeDatabase() throws {
    var database = AttributeDatabase()
    for id in 0..<1000 as Range<UInt32> {
      try database.add(
        ServiceDefinition(
          id: ServiceID(rawValue: id),
          uuid: id % 2 == 0 ? BluetoothUUID(0x8000 + UInt16(id)) : BluetoothUUID(uuid128: UInt128(id)),
          characteristics: (0..<5).map { number in
            CharacteristicDefinition(
              id: AttributeID(rawValue: id * 5 + number), uuid: BluetoothUUID(0xA000 + UInt16(id)),
              properties: [.read, .notify], permissions: .readable, value: .fixed([UInt8(number)]))
          }))
    }
    #expect(database.count == 16_000)
    var server = TestServer(database)
    server.bearer.mtu = 517
    var services: [AttributeHandle] = []
    var next = AttributeHandle.first
    while let found = server.request(
      ATTPDU.readByGroupTypeRequest(.init(startingHandle: next, endingHandle: .last, attributeGroupType: "2800")))?
      .packet
      as? ReadByGroupTypeResponse
    {
      services += found.attributeDataList.map(\.handle)
      next = AttributeHandle((found.attributeDataList.last?.endGroupHandle.rawValue ?? 0xFFFF) + 1)
    }
    #expect(services.map(\.rawValue) == (0..<1000).map { 1 + 16 * $0 })
    var declarations: [AttributeHandle] = []
    next = .first
    while let found = server.request(
      ATTPDU.readByTypeRequest(.init(startingHandle: next, endingHandle: .last, attributeType: "2803")))?.packet
      as? ReadByTypeResponse
    {
      declarations += found.attributeDataList.map(\.handle)
      next = AttributeHandle((found.attributeDataList.last?.handle.rawValue ?? 0xFFFF) + 1)
    }
    #expect(declarations.count == 5000)
    #expect(declarations.last == 15_998)
    let byUUID = server.request(
      ATTPDU.findByTypeValueRequest(
        .init(
          startingHandle: .first, endingHandle: .last, attributeType: 0x2800, attributeValue: [0xE6, 0x83])))
    #expect(
      byUUID
        == ATTPDU.findByTypeValueResponse(
          .init(handlesInformationList: [.init(foundAttributeHandle: 15_969, groupEndHandle: 15_984)])
        ))
  }
}

extension AttributeHandle {
  /// The octets in a PDU.
  var hex: String { encoded.hexadecimal }
}
