import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// Requests that the application answers.
@Suite("Dynamic values")
struct ServerApplicationTests {
  @Test func sendsTheApplicationsValue() throws {
    var server = try TestServer()
    let handle = server.handle(.dynamic)
    #expect(server.request(ATTPDU.readRequest(.init(handle: handle))) == nil)
    let token = try server.takeToken()
    #expect(server.bearer.isWaitingForApplication)
    #expect(server.respond(token, .value([1, 2, 3])) == [[0x0B, 1, 2, 3]])
    #expect(!server.bearer.isWaitingForApplication && server.bearer.deadline == nil)
    // A second answer has no effect.
    #expect(server.respond(token, .value([4])) == nil)
    #expect(server.send(ATTPDU.readBlobRequest(.init(handle: handle, valueOffset: 7)).encoded) == [])
    let events = server.takeEvents()
    guard case .read(let second, .dynamic, offset: 7)? = events.first, events.count == 1 else {
      return #expect(Bool(false), "\(events)")
    }
    #expect(second != token)
    #expect(server.respond(second, .error(.invalidOffset)) == [[0x01, 0x0C] + handle.encoded + [0x07]])
    // A longer value is cut; the error code 0 becomes Unlikely Error.
    _ = server.request(ATTPDU.readRequest(.init(handle: handle)))
    #expect(try server.answer(.value(Bytes(0..<100))) == [[0x0B] + Array(0..<22)])
    _ = server.request(ATTPDU.readRequest(.init(handle: handle)))
    #expect(
      try server.answer(.error(ATTErrorCode(rawValue: 0)))
        == [[0x01, 0x0A] + handle.encoded + [0x0E]])
    _ = server.request(ATTPDU.readRequest(.init(handle: handle)))
    #expect(try server.answer(.success) == [[0x0B]])
  }

  @Test func sendsTheApplicationsWriteResult() throws {
    var server = try TestServer()
    let handle = server.handle(.dynamic)
    #expect(server.request(ATTPDU.writeRequest(.init(handle: handle, value: [1, 2]))) == nil)
    let events = server.takeEvents()
    guard case .write(let token?, let parts, isPrepared: false)? = events.first else {
      return #expect(Bool(false), "\(events)")
    }
    #expect(parts == [WritePart(attribute: .dynamic, offset: 0, value: [1, 2])])
    #expect(server.respond(token, .success) == [[0x13]])
    _ = server.request(ATTPDU.writeRequest(.init(handle: handle, value: [3])))
    #expect(
      try server.answer(.error(.init(rawValue: 0x80)))
        == [[0x01, 0x12] + handle.encoded + [0x80]])
    #expect(server.send(ATTPDU.writeCommand(.init(handle: handle, value: [4])).encoded) == [])
    #expect(
      server.takeEvents() == [.write(nil, [WritePart(attribute: .dynamic, offset: 0, value: [4])], isPrepared: false)])
    #expect(!server.bearer.isWaitingForApplication)
  }

  /// An ATT_MTU of 517 has room for two octets more than a value has (Vol 3, Part F, 3.2.9). Programs that send streams
  /// fill it.
  @Test func acceptsACommandThatFillsItsPDU() throws {
    var server = try TestServer()
    let handle = server.handle(.dynamic)
    server.bearer.mtu = 517
    for length in 512...514 {
      let value = [UInt8](repeating: 7, count: length)
      #expect(server.send(ATTPDU.writeCommand(.init(handle: handle, value: value[...])).encoded) == [])
      #expect(
        server.takeEvents() == [
          .write(nil, [WritePart(attribute: .dynamic, offset: 0, value: value)], isPrepared: false)
        ])
      guard length > 512 else { continue }
      #expect(
        server.request(ATTPDU.writeRequest(.init(handle: handle, value: value[...])))
          == .refusal(.writeRequest, handle, .invalidAttributeValueLength))
    }
    #expect(server.takeEvents() == [])
  }

  @Test func reportsPreparedWritesTogether() throws {
    var server = try TestServer()
    for (attribute, offset, value) in [
      (AttributeID.dynamic, 0, [1, 2] as Bytes), (.dynamic, 2, [3]), (.short, 0, [9]), (.dynamic, 0, [7]),
    ] {
      let request = PrepareWriteRequest(
        handle: server.handle(attribute), valueOffset: UInt16(offset), partAttributeValue: value)
      _ = server.request(.prepareWriteRequest(request))
    }
    #expect(server.send(hex: "18 01") == [])
    let events = server.takeEvents()
    guard case .write(let token?, let parts, isPrepared: true)? = events.first else {
      return #expect(Bool(false), "\(events)")
    }
    #expect(
      parts == [
        WritePart(attribute: .dynamic, offset: 0, value: [1, 2, 3]),
        WritePart(attribute: .dynamic, offset: 0, value: [7]),
      ])
    // Stored values are written after the application's answer.
    #expect(server.database.storedValue(of: .short) == Array("hello".utf8))
    #expect(
      server.respond(token, .error(.valueNotAllowed, attribute: .dynamic)) == [
        [0x01, 0x18] + server.handle(.dynamic).encoded + [0x13]
      ])
    #expect(server.database.storedValue(of: .short) == Array("hello".utf8))
    for attribute in [AttributeID.short, .dynamic] {
      _ = server.request(
        ATTPDU.prepareWriteRequest(.init(handle: server.handle(attribute), valueOffset: 0, partAttributeValue: [5])))
    }
    _ = server.send(hex: "18 01")
    #expect(try server.answer(.success) == [[0x19]])
    #expect(server.database.storedValue(of: .short) == [5])
  }

  @Test func readByTypeRequestsTheFirstValueOnly() throws {
    var server = try TestServer()
    #expect(server.send(hex: "08 0100 FFFF F2FF") == [])
    guard case .read(let token, .dynamic, offset: 0)? = server.takeEvents().first else {
      return #expect(Bool(false), "the application was not asked")
    }
    #expect(server.respond(token, .value([1, 2])) == [[0x09, 4] + server.handle(.dynamic).encoded + [1, 2]])
    // The client requests the next value by another request.
    let next = AttributeHandle(server.handle(.dynamic).rawValue + 1)
    #expect(server.send(hex: "08 \(next.hex) FFFF F2FF") == [])
    guard case .read(let second, .second, offset: 0)? = server.takeEvents().first else {
      return #expect(Bool(false), "the application was not asked")
    }
    #expect(server.respond(second, .error(.unlikelyError)) == [[0x01, 0x08] + server.handle(.second).encoded + [0x0E]])
  }

  @Test func readMultipleRequestsOneValueAfterTheOther() throws {
    for (opcode, expected) in [
      (UInt8(0x0E), [0x0F, 0xA1, 1, 2, 3, 0xA2, 0xA3] as [UInt8]),
      (0x20, [0x21, 1, 0, 0xA1, 3, 0, 1, 2, 3, 2, 0, 0xA2, 0xA3]),
    ] {
      var server = try TestServer()
      let handles = [AttributeID.dynamic, .both, .second].flatMap { server.handle($0).encoded }
      #expect(server.send([opcode] + handles) == [])
      let first = try server.takeToken()
      #expect(server.respond(first, .value([0xA1])) == [])
      let second = try server.takeToken()
      #expect(server.respond(first, .value([0xFF])) == nil)
      #expect(server.respond(second, .value([0xA2, 0xA3])) == [expected])
      // The Error Response has the handle of the value.
      #expect(server.send([opcode] + handles) == [])
      #expect(try server.answer(.value([1])) == [])
      #expect(
        try server.answer(.error(.insufficientResources))
          == [[0x01, opcode] + server.handle(.second).encoded + [0x11]])
    }
  }

  @Test func handlesWaitingPDUsInOrder() throws {
    var server = try TestServer()
    _ = server.subscribe(.both, 1)
    _ = server.takeEvents()
    #expect(server.request(ATTPDU.readRequest(.init(handle: server.handle(.dynamic)))) == nil)
    let token = try server.takeToken()
    #expect(server.send(ATTPDU.writeCommand(.init(handle: server.handle(.short), value: [1])).encoded) == [])
    #expect(server.send(ATTPDU.readRequest(.init(handle: server.handle(.short))).encoded) == [])
    #expect(server.send(ATTPDU.readRequest(.init(handle: server.handle(.dynamic))).encoded) == [])
    #expect(server.send(ATTPDU.readRequest(.init(handle: server.handle(.both))).encoded) == [])
    #expect(server.takeEvents() == Array(repeating: .violation(.overlappingRequest), count: 3))
    // Updates are sent meanwhile.
    #expect(server.notify(.both, [9]) == (.sent, [[0x1B] + server.handle(.both).encoded + [9]]))
    #expect(server.respond(token, .value([7])) == [[0x0B, 7], [0x0B, 1]])
    let events = server.takeEvents()
    #expect(events.first == .stored(.short))
    let second = try #require(events.compactMap(\.token).first)
    #expect(server.respond(second, .value([8])) == [[0x0B, 8], [0x0B, 1, 2, 3]])
  }

  @Test func limitsTheWaitingPDUs() throws {
    var server = try TestServer(limits: GATTServer.Limits(maximumWaitingPDUs: 2))
    #expect(server.request(ATTPDU.readRequest(.init(handle: server.handle(.dynamic)))) == nil)
    let token = try server.takeToken()
    for value in 1...3 as ClosedRange<UInt8> {
      #expect(server.send(ATTPDU.writeCommand(.init(handle: server.handle(.short), value: [value])).encoded) == [])
    }
    #expect(server.takeEvents() == [.pduDropped])
    #expect(server.respond(token, .success) == [[0x0B]])
    #expect(server.database.storedValue(of: .short) == [2])
  }

  @Test func rejectsAfterTheApplicationTimeout() throws {
    var server = try TestServer()
    let handle = server.handle(.dynamic)
    #expect(server.request(ATTPDU.readRequest(.init(handle: handle))) == nil)
    let token = try server.takeToken()
    _ = server.send(ATTPDU.readRequest(.init(handle: server.handle(.both))).encoded)
    _ = server.takeEvents()
    #expect(server.bearer.deadline == .start + .seconds(29))
    server.now = .start + .seconds(28)
    #expect(server.letTimePass() == [[0x01, 0x0A] + handle.encoded + [0x0E], [0x0B, 1, 2, 3]])
    #expect(server.takeEvents() == [.requestTimedOut(token)])
    // The late answer has no effect.
    #expect(server.respond(token, .value([1])) == nil)
    #expect(server.bearer.deadline == nil)
  }

  @Test func hasNoTimeoutBeforeTheDeadline() throws {
    var server = try TestServer()
    _ = server.request(ATTPDU.writeRequest(.init(handle: server.handle(.dynamic), value: [1])))
    let token = try server.takeToken()
    var output = GATTServer.Output()
    server.bearer.tick(
      now: .start + .milliseconds(28_999), security: .none, database: &server.database, into: &output)
    #expect(output.pdus.isEmpty && output.events.isEmpty)
    #expect(server.respond(token, .success) == [[0x13]])
  }

  @Test func rejectsAReadMultipleAfterTheRemovalOfAService() throws {
    var server = try TestServer()
    let handles = [server.handle(.dynamic), server.handle(.both)]
    #expect(server.request(ATTPDU.readMultipleRequest(.init(setOfHandles: handles))) == nil)
    let token = try server.takeToken()
    try server.database.remove(ServiceID(rawValue: 1))
    #expect(server.respond(token, .value([1])) == [[0x01, 0x0E] + handles[1].encoded + [0x01]])
  }
}
