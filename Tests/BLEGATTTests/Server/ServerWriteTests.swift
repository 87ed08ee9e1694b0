import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// Writes, from Vol 3, Part F, 3.4.5 and 3.4.6 and Part G, 4.9.
@Suite("Write requests (GATT/SR/GAW)")
struct ServerWriteTests {
  @Test func write_GAW_BV_03() throws {
    var server = try TestServer()
    let handle = server.handle(.short)
    for value in ["abc", "", String(repeating: "x", count: 20)] {
      let request = ATTPDU.writeRequest(.init(handle: handle, value: Bytes(value.utf8)))
      #expect(server.request(request) == ATTPDU.writeResponse(.init()))
      #expect(server.takeEvents() == [.stored(.short)])
      #expect(server.database.storedValue(of: .short) == Array(value.utf8))
    }
    let long = ATTPDU.writeRequest(.init(handle: handle, value: Bytes(repeating: 0, count: 20) + [0]))
    server.bearer.mtu = 100
    #expect(server.request(long) == .refusal(.writeRequest, handle, .invalidAttributeValueLength))
    #expect(server.takeEvents() == [])
  }

  @Test func writeErrors_GAW_BI() throws {
    var server = try TestServer()
    let declaration = AttributeHandle(server.handle(.short).rawValue - 1)
    let cases: [(AttributeHandle, SecurityState, ATTErrorCode)] = [
      (0x0000, .none, .invalidHandle),
      (0xF000, .none, .invalidHandle),
      (declaration, .none, .writeNotPermitted),
      (server.handle(.both), .none, .writeNotPermitted),
      (0x0001, .none, .writeNotPermitted),
      (server.handle(.encrypted), .none, .insufficientAuthentication),
      (server.handle(.encrypted), SecurityState(isBonded: true), .insufficientEncryption),
      (server.handle(.encrypted), SecurityState(level: .encrypted, keySize: 6), .insufficientEncryptionKeySize),
      (server.handle(.authenticated), .justWorks, .insufficientAuthentication),
    ]
    for (handle, security, code) in cases {
      server.security = security
      let write = ATTPDU.writeRequest(.init(handle: handle, value: [0x78]))
      #expect(server.request(write) == .refusal(.writeRequest, handle, code))
      let prepare = ATTPDU.prepareWriteRequest(.init(handle: handle, valueOffset: 0, partAttributeValue: [0x78]))
      #expect(server.request(prepare) == .refusal(.prepareWriteRequest, handle, code))
      // A command has no response, and no effect here.
      #expect(server.send(ATTPDU.writeCommand(.init(handle: handle, value: [0x78])).encoded) == [])
    }
    #expect(server.takeEvents() == [])
    #expect(server.database.storedValue(of: .encrypted) == Array("secret".utf8))
  }

  /// A shorter write into a value of fixed length changes its first octets only (Vol 3, Part F, 3.4.5.1).
  @Test func keepsTheEndOfAValueOfFixedLength() throws {
    var server = try TestServer()
    let handle = server.handle(.fourOctets)
    #expect(server.request(ATTPDU.writeRequest(.init(handle: handle, value: [9, 8]))) == ATTPDU.writeResponse(.init()))
    #expect(server.database.storedValue(of: .fourOctets) == [9, 8, 3, 4])
    let long = ATTPDU.writeRequest(.init(handle: handle, value: [1, 2, 3, 4, 5]))
    #expect(server.request(long) == .refusal(.writeRequest, handle, .invalidAttributeValueLength))
  }

  @Test func writeCommand_GAW_BV_01() throws {
    var server = try TestServer()
    for value in 0..<10 as Range<UInt8> {
      #expect(server.send(ATTPDU.writeCommand(.init(handle: server.handle(.short), value: [value])).encoded) == [])
    }
    #expect(server.database.storedValue(of: .short) == [9])
    #expect(server.takeEvents().count == 10)
    let tooLong = Bytes(repeating: 0, count: 21)
    server.bearer.mtu = 100
    #expect(server.send(ATTPDU.writeCommand(.init(handle: server.handle(.short), value: tooLong)).encoded) == [])
    #expect(server.database.storedValue(of: .short) == [9])
  }

  @Test func rejectsMalformedWrites() throws {
    var server = try TestServer()
    for pdu in ["12", "1203", "16", "160300", "16030000", "18", "1802", "18FF", "180100"] {
      #expect(server.send(hex: pdu) == ["01\(pdu.prefix(2).lowercased())000004"], "\(pdu)")
    }
    for pdu in ["52", "5203", "D2", "D20300", "D2030001000000000000000000000000"] {
      #expect(server.send(hex: pdu) == [], "\(pdu)")
    }
    #expect(server.takeEvents() == [])
  }

  @Test func ignoresSignedWrites() throws {
    var server = try TestServer()
    let command = SignedWriteCommand(handle: server.handle(.short), value: [1], signCounter: 0, mac: 0)
    #expect(server.send(command.encodedPDU) == [])
    #expect(server.database.storedValue(of: .short) == Array("hello".utf8))
  }
}

/// Queued writes, from Vol 3, Part F, 3.4.6.
@Suite("Prepared writes (GATT/SR/GAW/BV-05-C, BV-06-C, BV-10-C)")
struct PreparedWriteTests {
  func prepare(_ server: inout TestServer, _ attribute: AttributeID, _ offset: Int, _ value: Bytes) -> ATTPDU? {
    let request = PrepareWriteRequest(
      handle: server.handle(attribute), valueOffset: UInt16(offset), partAttributeValue: value)
    return server.request(.prepareWriteRequest(request))
  }

  func isEchoed(_ server: inout TestServer, _ attribute: AttributeID, _ offset: Int, _ value: Bytes) -> Bool {
    prepare(&server, attribute, offset, value)
      == ATTPDU.prepareWriteResponse(
        .init(handle: server.handle(attribute), valueOffset: UInt16(offset), partAttributeValue: value))
  }

  func execute(_ server: inout TestServer, _ flags: ExecuteWriteRequest.Flags = .write) -> ATTPDU? {
    server.request(ATTPDU.executeWriteRequest(.init(flags: flags)))
  }

  @Test func writesALongValueInParts_BV_05() throws {
    var server = try TestServer()
    let value = Bytes((0..<512).map { UInt8(truncatingIfNeeded: 3 * $0) })
    for offset in stride(from: 0, to: 512, by: 18) {
      let part = Bytes(value[offset..<min(512, offset + 18)])
      #expect(isEchoed(&server, .long, offset, part))
    }
    #expect(server.database.storedValue(of: .long)?.count == 40)
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.database.storedValue(of: .long) == Array(value))
    #expect(server.takeEvents() == [.stored(.long)])
  }

  @Test func discardsACancelledQueue_BV_07() throws {
    var server = try TestServer()
    #expect(isEchoed(&server, .long, 0, [9, 9]))
    #expect(execute(&server, .cancel) == ATTPDU.executeWriteResponse(.init()))
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.database.storedValue(of: .long) == (0..<40).map { UInt8($0) })
    #expect(server.takeEvents() == [])
  }

  /// Parts in any order, as long as none begins after the end of the value; the parts, then the value.
  @Test func appliesOffsets() throws {
    let old = (0..<40).map { UInt8($0) }
    let cases: [([(Int, Bytes)], [UInt8]?)] = [
      ([(0, [7, 7, 7])], [7, 7, 7]),  // from the front: the new value
      ([(2, [7, 7])], [0, 1, 7, 7] + old[4...]),  // from the middle: a patch
      ([(40, [7])], old + [7]),  // at the end: longer
      ([(41, [7])], nil),  // a gap
      ([(0, [7, 7]), (2, [8, 8]), (1, [9])], [7, 9, 8, 8]),  // over what an earlier part wrote
      ([(0, [7, 7]), (3, [8])], nil),  // a gap between parts
      ([(2, [8]), (0, [7])], [7, 1, 8] + old[3...]),  // out of order: still a patch
      ([(0, []), (0, [5])], [5]),
    ]
    for (parts, expected) in cases {
      var server = try TestServer()
      for (offset, value) in parts { #expect(isEchoed(&server, .long, offset, value)) }
      if let expected {
        #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
        #expect(server.database.storedValue(of: .long) == expected, "\(parts)")
      } else {
        #expect(execute(&server) == .refusal(.executeWriteRequest, server.handle(.long), .invalidOffset))
        #expect(server.database.storedValue(of: .long) == old, "\(parts)")
      }
    }
  }

  @Test func checksLengthsAtTheExecution() throws {
    var server = try TestServer()
    #expect(isEchoed(&server, .short, 0, Bytes(repeating: 1, count: 18)))
    #expect(isEchoed(&server, .short, 18, [2, 2]))
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(isEchoed(&server, .short, 20, [3]))
    #expect(execute(&server) == .refusal(.executeWriteRequest, server.handle(.short), .invalidAttributeValueLength))
    // 512 octets are accepted and 513 are not, also for a dynamic value.
    for (offset, code) in [(511, nil), (512, ATTErrorCode.invalidAttributeValueLength), (513, .invalidOffset)] {
      #expect(isEchoed(&server, .dynamic, offset, [1]))
      let answer = execute(&server)
      if let code {
        #expect(answer == .refusal(.executeWriteRequest, server.handle(.dynamic), code))
      } else {
        #expect(answer == nil)
        let token = try #require(server.events.compactMap(\.token).last)
        #expect(server.respond(token, .success) == [[0x19]])
      }
    }
    // A value of fixed length keeps what was not written.
    #expect(isEchoed(&server, .fourOctets, 1, [9]))
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.database.storedValue(of: .fourOctets) == [1, 9, 3, 4])
  }

  @Test func writesAllPartsOrNone_BV_10() throws {
    var server = try TestServer()
    #expect(isEchoed(&server, .short, 0, [1]))
    #expect(isEchoed(&server, .long, 0, [2]))
    #expect(isEchoed(&server, .short, 1, [3]))
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.database.storedValue(of: .short) == [1, 3])
    #expect(server.database.storedValue(of: .long) == [2])
    #expect(isEchoed(&server, .short, 0, [8]))
    #expect(isEchoed(&server, .long, 9, [8]))
    #expect(execute(&server) == .refusal(.executeWriteRequest, server.handle(.long), .invalidOffset))
    #expect(server.database.storedValue(of: .short) == [1, 3])
    // The rejected queue is empty.
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.database.storedValue(of: .short) == [1, 3])
  }

  @Test func limitsTheQueue() throws {
    var server = try TestServer(limits: GATTServer.Limits(maximumPreparedWrites: 3, maximumPreparedOctets: 40))
    let handle = server.handle(.long)
    for offset in 0..<3 { #expect(isEchoed(&server, .long, offset, [1])) }
    #expect(prepare(&server, .long, 3, [1]) == .refusal(.prepareWriteRequest, handle, .prepareQueueFull))
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(isEchoed(&server, .long, 0, Bytes(repeating: 0, count: 18)))
    #expect(isEchoed(&server, .long, 18, Bytes(repeating: 0, count: 18)))
    #expect(prepare(&server, .long, 36, [0, 0, 0, 0, 0]) == .refusal(.prepareWriteRequest, handle, .prepareQueueFull))
    #expect(isEchoed(&server, .long, 36, [0, 0, 0, 0]))
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.database.storedValue(of: .long)?.count == 40)
  }

  @Test func rejectsAQueueAfterTheLossOfEncryption() throws {
    var server = try TestServer()
    server.security = .justWorks
    #expect(isEchoed(&server, .encrypted, 0, [1]))
    server.security = SecurityState(isBonded: true)
    #expect(execute(&server) == .refusal(.executeWriteRequest, server.handle(.encrypted), .insufficientEncryption))
    #expect(server.database.storedValue(of: .encrypted) == Array("secret".utf8))
  }

  @Test func rejectsAQueueAfterTheRemovalOfTheService() throws {
    var server = try TestServer()
    #expect(isEchoed(&server, .long, 0, [1]))
    let handle = server.handle(.long)
    try server.database.remove(ServiceID(rawValue: 1))
    #expect(execute(&server) == .refusal(.executeWriteRequest, handle, .invalidHandle))
  }

  @Test func configuresADescriptorByPreparedWrites() throws {
    var server = try TestServer()
    let descriptor = server.descriptor(.both)
    for (offset, octet) in [(0, UInt8(1)), (1, 0)] {
      let request = PrepareWriteRequest(handle: descriptor, valueOffset: UInt16(offset), partAttributeValue: [octet])
      #expect(server.request(.prepareWriteRequest(request)) != nil)
    }
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.takeEvents() == [.subscription(.both, .notify)])
    let three = PrepareWriteRequest(handle: descriptor, valueOffset: 0, partAttributeValue: [1, 0, 0])
    _ = server.request(.prepareWriteRequest(three))
    #expect(execute(&server) == .refusal(.executeWriteRequest, descriptor, .invalidAttributeValueLength))
  }

  @Test func keepsAQueueForEachClient() throws {
    var server = try TestServer()
    #expect(isEchoed(&server, .long, 0, [1]))
    var other = TestServer(server.database)
    #expect(execute(&other) == ATTPDU.executeWriteResponse(.init()))
    #expect(other.database.storedValue(of: .long)?.count == 40)
    #expect(execute(&server) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.database.storedValue(of: .long) == [1])
  }
}
