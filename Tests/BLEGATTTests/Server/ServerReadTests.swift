import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// Reads, from Vol 3, Part F, 3.4.4 and Part G, 4.8.
@Suite("Read requests (GATT/SR/GAR)")
struct ServerReadTests {
  @Test func read_GAR_BV_01() throws {
    var server = try TestServer()
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.short))))
        == ATTPDU.readResponse(.init(value: [0x68, 0x65, 0x6C, 0x6C, 0x6F])))
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.long))))
        == ATTPDU.readResponse(.init(value: Bytes(0..<22))))
    server.bearer.mtu = 30
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.long))))
        == ATTPDU.readResponse(.init(value: Bytes(0..<29))))
    #expect(server.takeEvents() == [])
  }

  @Test func readErrors_GAR_BI() throws {
    var server = try TestServer()
    // Handle, security of the link, error.
    let cases: [(AttributeHandle, SecurityState, ATTErrorCode)] = [
      (0x0000, .none, .invalidHandle),
      (0x0FF0, .none, .invalidHandle),
      (0xFFFF, .none, .invalidHandle),
      (server.handle(.writeOnly), .none, .readNotPermitted),
      (server.handle(.encrypted), .none, .insufficientAuthentication),
      (server.handle(.encrypted), SecurityState(isBonded: true), .insufficientEncryption),
      (server.handle(.encrypted), SecurityState(level: .encrypted, keySize: 6), .insufficientEncryptionKeySize),
      (server.handle(.authenticated), .justWorks, .insufficientAuthentication),
      (server.handle(.authenticated), .none, .insufficientAuthentication),
    ]
    for (handle, security, code) in cases {
      server.security = security
      #expect(server.request(ATTPDU.readRequest(.init(handle: handle))) == .refusal(.readRequest, handle, code))
      let blob = ATTPDU.readBlobRequest(.init(handle: handle, valueOffset: 1))
      #expect(server.request(blob) == .refusal(.readBlobRequest, handle, code))
      let multiple = ATTPDU.readMultipleRequest(.init(setOfHandles: [server.handle(.short), handle]))
      #expect(server.request(multiple) == .refusal(.readMultipleRequest, handle, code))
      let variable = ATTPDU.readMultipleVariableRequest(.init(setOfHandles: [server.handle(.short), handle]))
      #expect(server.request(variable) == .refusal(.readMultipleVariableRequest, handle, code))
    }
    server.security = .justWorks
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.encrypted))))
        == ATTPDU.readResponse(.init(value: Bytes("secret".utf8))))
    server.security = .passkey
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.authenticated))))
        == ATTPDU.readResponse(.init(value: Bytes("mitm".utf8))))
  }

  @Test func checksTheHighestRequirements() throws {
    func server(_ requirement: AccessRequirement) throws -> TestServer {
      var database = AttributeDatabase()
      try database.add(
        ServiceDefinition(
          id: ServiceID(rawValue: 1), uuid: "180F",
          characteristics: [
            CharacteristicDefinition(
              id: AttributeID(rawValue: 1), uuid: "2A19", properties: .read,
              permissions: GATTAttributePermissions(read: requirement), value: .fixed([1]))
          ]))
      return TestServer(database)
    }
    var strict = try server(.secureConnections)
    strict.security = .passkey
    #expect(strict.send(hex: "0A 0300") == ["010a030005"])
    strict.security = SecurityState(level: .secureConnections, keySize: 15)
    #expect(strict.send(hex: "0A 0300") == ["010a03000c"])
    strict.security = SecurityState(level: .secureConnections, keySize: 16)
    #expect(strict.send(hex: "0A 0300") == ["0b01"])
    var authorized = try server(AccessRequirement(authorization: true))
    #expect(authorized.send(hex: "0A 0300") == ["010a030008"])
    authorized.security.isAuthorized = true
    #expect(authorized.send(hex: "0A 0300") == ["0b01"])
  }

  @Test func readBlob_GAR_BV_04() throws {
    var server = try TestServer()
    let handle = server.handle(.long)
    func blob(_ offset: Int) -> ATTPDU? {
      server.request(ATTPDU.readBlobRequest(.init(handle: handle, valueOffset: UInt16(offset))))
    }
    #expect(blob(0) == ATTPDU.readBlobResponse(.init(partAttributeValue: Bytes(0..<22))))
    #expect(blob(22) == ATTPDU.readBlobResponse(.init(partAttributeValue: Bytes(22..<40))))
    #expect(blob(39) == ATTPDU.readBlobResponse(.init(partAttributeValue: [39])))
    #expect(blob(40) == ATTPDU.readBlobResponse(.init(partAttributeValue: [])))
    #expect(blob(41) == .refusal(.readBlobRequest, handle, .invalidOffset))
    #expect(blob(0xFFFF) == .refusal(.readBlobRequest, handle, .invalidOffset))
    // A short value is read in parts as well.
    let short = ATTPDU.readBlobRequest(.init(handle: server.handle(.short), valueOffset: 4))
    #expect(server.request(short) == ATTPDU.readBlobResponse(.init(partAttributeValue: [0x6F])))
  }

  @Test func readByType_GAR_BV_03() throws {
    var server = try TestServer()
    func read(_ type: BluetoothUUID, from first: AttributeHandle = .first) -> ATTPDU? {
      server.request(ATTPDU.readByTypeRequest(.init(startingHandle: first, endingHandle: .last, attributeType: type)))
    }
    #expect(
      read("FFF1")
        == ATTPDU.readByTypeResponse(
          .init(attributeDataList: [.init(handle: server.handle(.short), value: Bytes("hello".utf8))])))
    #expect(read("FFF0") == .refusal(.readByTypeRequest, .first, .attributeNotFound))
    // The first attribute that cannot be read is the one in the error, not the start of the range.
    #expect(read("FFF4") == .refusal(.readByTypeRequest, server.handle(.writeOnly), .readNotPermitted))
    #expect(read("FFF5") == .refusal(.readByTypeRequest, server.handle(.encrypted), .insufficientAuthentication))
    // A value is cut to what the PDU and the length octet can hold.
    guard let cut = read("FFF8")?.packet as? ReadByTypeResponse else { return #expect(Bool(false), "no response") }
    #expect(cut.attributeDataList.map(\.value) == [Bytes(0..<19)])
    #expect(
      read("0000FFF1-0000-1000-8000-00805F9B34FB")
        == ATTPDU.readByTypeResponse(
          .init(attributeDataList: [.init(handle: server.handle(.short), value: Bytes("hello".utf8))])))
  }

  @Test func readByTypeLimitsTheLengthToOneOctet() throws {
    var database = AttributeDatabase()
    try database.add(
      ServiceDefinition(
        id: ServiceID(rawValue: 1), uuid: "180F",
        characteristics: [
          CharacteristicDefinition(
            id: AttributeID(rawValue: 1), uuid: "FFF1", properties: .read, permissions: .readable,
            value: .fixed([UInt8](repeating: 7, count: 512)))
        ]))
    var server = TestServer(database)
    server.bearer.mtu = 517
    let answers = server.send([0x08, 0x01, 0x00, 0xFF, 0xFF, 0xF1, 0xFF])
    #expect(answers.map(\.count) == [2 + 255])
    #expect(answers.map { $0[1] } == [255])
  }

  /// A value of another length, or one that the client may not read, ends the list.
  @Test func readByTypeEndsBeforeAValueThatDoesNotFit() throws {
    func database(_ second: CharacteristicDefinition) throws -> AttributeDatabase {
      var database = AttributeDatabase()
      var definitions = (1...3 as ClosedRange<UInt32>).map { id in
        CharacteristicDefinition(
          id: AttributeID(rawValue: id), uuid: "FFF1", properties: .read, permissions: .readable,
          value: .fixed([UInt8(id), 0]))
      }
      definitions[1] = second
      try database.add(ServiceDefinition(id: ServiceID(rawValue: 1), uuid: "180F", characteristics: definitions))
      return database
    }
    let seconds: [(GATTAttributePermissions, ValueSource)] = [
      (.readable, .fixed([1, 2, 3])),
      (.writable, .fixed([1, 2])),
      (GATTAttributePermissions(read: .encrypted), .fixed([1, 2])),
      (.readable, .dynamic),
    ]
    for (permissions, value) in seconds {
      let second = CharacteristicDefinition(
        id: AttributeID(rawValue: 9), uuid: "FFF1", properties: .read, permissions: permissions, value: value)
      var server = TestServer(try database(second))
      #expect(server.send(hex: "08 0100 FFFF F1FF") == ["090403000100"])
      #expect(server.send(hex: "08 0600 FFFF F1FF") == ["090407000300"])
    }
  }

  @Test func readMultiple_GAR_BV_05() throws {
    var server = try TestServer()
    let handles = [server.handle(.short), server.handle(.both), server.handle(.fourOctets)]
    #expect(
      server.request(ATTPDU.readMultipleRequest(.init(setOfHandles: handles)))
        == ATTPDU.readMultipleResponse(.init(setOfValues: Bytes("hello".utf8) + [1, 2, 3, 1, 2, 3, 4])))
    let cut = server.request(
      ATTPDU.readMultipleRequest(.init(setOfHandles: [server.handle(.both), server.handle(.long)])))
    #expect(cut == ATTPDU.readMultipleResponse(.init(setOfValues: [1, 2, 3] + Bytes(0..<19))))
  }

  @Test func readMultipleVariable_GAR_BV_08() throws {
    var server = try TestServer()
    let handles = [server.handle(.short), server.handle(.both)]
    #expect(
      server.request(ATTPDU.readMultipleVariableRequest(.init(setOfHandles: handles)))
        == ATTPDU.readMultipleVariableResponse(
          .init(values: [
            .init(length: 5, value: Bytes("hello".utf8)), .init(length: 3, value: [1, 2, 3]),
          ])))
    // The last value is cut, and its length is that of the whole value; also the two octets of a length can be cut.
    let long = [server.handle(.both), server.handle(.long)]
    #expect(
      server.request(ATTPDU.readMultipleVariableRequest(.init(setOfHandles: long)))
        == ATTPDU.readMultipleVariableResponse(
          .init(values: [
            .init(length: 3, value: [1, 2, 3]), .init(length: 40, value: Bytes(0..<15)),
          ])))
  }

  @Test func rejectsMalformedReads() throws {
    var server = try TestServer()
    for pdu in [
      "0A", "0A03", "0A030000", "0C0300", "0C030000", "0C03000000 00", "0E", "0E03", "0E030004", "20", "2003",
    ] {
      #expect(server.send(hex: pdu) == ["01\(pdu.prefix(2).lowercased())000004"], "\(pdu)")
    }
    // A Set Of Handles is two or more (3.4.4.7, 3.4.4.11).
    #expect(server.send(hex: "0E \(server.handle(.both).hex)") == ["010e000004"])
    #expect(server.send(hex: "20 \(server.handle(.both).hex)") == ["0120000004"])
  }
}
