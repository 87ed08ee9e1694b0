public import BLEATT
import BLEWire
import TestSupport
import Testing

/// A client, the PDUs that it sent, and the time.
private struct Bearer {
  var client: ATTClient
  var pdus = PacketBuffer()
  var now = Instant.start

  init(waitingRequests: Int = 64) {
    var limits = ATTClient.Limits()
    limits.waitingRequests = waitingRequests
    client = ATTClient(limits: limits)
  }

  mutating func send(_ pdu: ATTPDU, _ id: UInt32) throws {
    try client.send(pdu, as: .init(rawValue: id), now: now, into: &pdus)
  }

  mutating func receive(_ hex: String) throws -> ATTClient.ReceivedPDU {
    let octets = try #require([UInt8](hexadecimal: hex))
    return client.receive(octets.span, now: now, into: &pdus)
  }

  /// The PDUs sent since the last call.
  mutating func sent() -> [String] {
    let all = (0..<pdus.count).map { pdus[$0].hexadecimal }
    pdus.removeAll()
    return all
  }
}

extension ATTClient.RequestID: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: UInt32) { self.init(rawValue: value) }
}

@Suite("ATT client (Vol 3, Part F, 3.3)")
struct ATTClientTests {
  /// The example in the documentation of the type.
  @Test func documentedExample() throws {
    var client = ATTClient()
    var pdus = PacketBuffer()
    try client.send(.readRequest(.init(handle: 0x0003)), as: .init(rawValue: 1), now: .start, into: &pdus)
    #expect(pdus[0] == [0x0A, 0x03, 0x00])
  }

  @Test func sendsOneRequestAtATimeInOrder() throws {
    var bearer = Bearer()
    try bearer.send(.readRequest(.init(handle: 1)), 1)
    try bearer.send(.readRequest(.init(handle: 2)), 2)
    try bearer.send(.writeRequest(.init(handle: 3, value: [9])), 3)
    #expect(bearer.sent() == ["0a0100"])
    #expect(try bearer.receive("0b07") == .response(1))
    #expect(bearer.sent() == ["0a0200"])
    #expect(
      try bearer.receive("010a02000a")
        == .errorResponse(2, ErrorResponse(to: .readRequest, handle: 2, code: .attributeNotFound)))
    #expect(bearer.sent() == ["12030009"])
    #expect(try bearer.receive("13") == .response(3))
    #expect(bearer.sent() == [])
    #expect(!bearer.client.isWaiting)
    #expect(bearer.client.deadline == nil)
  }

  @Test func sendsCommandsAtOnce() throws {
    var bearer = Bearer()
    try bearer.send(.readRequest(.init(handle: 1)), 1)
    try bearer.send(.readRequest(.init(handle: 2)), 2)
    try bearer.client.send(command: WriteCommand(handle: 3, value: [1, 2]), into: &bearer.pdus)
    #expect(bearer.sent() == ["0a0100", "5203000102"])
  }

  @Test func limitsTheQueue() throws {
    var bearer = Bearer(waitingRequests: 2)
    for id in 0..<3 { try bearer.send(.readRequest(.init(handle: 1)), UInt32(id)) }
    #expect(throws: ATTClientError.tooManyRequests(limit: 2)) { try bearer.send(.readRequest(.init(handle: 1)), 9) }
    #expect(throws: ATTClientError.tooManyRequests(limit: 2)) {
      try bearer.send(.exchangeMTURequest(.init(clientRxMTU: 100)), 9)
    }
    #expect(try bearer.receive("0b") == .response(0))
    try bearer.send(.exchangeMTURequest(.init(clientRxMTU: 100)), 9)
  }

  @Test func rejectsCommandsAsRequestsAndRequestsAsCommands() throws {
    var bearer = Bearer()
    #expect(throws: ATTClientError.notARequest(.writeCommand)) {
      try bearer.send(.writeCommand(.init(handle: 1, value: [])), 1)
    }
    #expect(throws: ATTClientError.notACommand(.writeRequest)) {
      try bearer.client.send(command: WriteRequest(handle: 1, value: []), into: &bearer.pdus)
    }
    #expect(bearer.sent() == [])
  }

  /// ATT_MTU is 23: a Write Request of 20 octets fits, one of 21 does not, sent or queued.
  @Test func rejectsPDUsAboveTheMTU() throws {
    var bearer = Bearer()
    let tooLong = ATTPDU.writeRequest(.init(handle: 1, value: Array(repeating: 0, count: 21)[...]))
    #expect(throws: ATTClientError.exceedsMTU(octets: 24, mtu: 23)) { try bearer.send(tooLong, 1) }
    #expect(!bearer.client.isWaiting)
    try bearer.send(.writeRequest(.init(handle: 1, value: Array(repeating: 0, count: 20)[...])), 1)
    #expect(throws: ATTClientError.exceedsMTU(octets: 24, mtu: 23)) { try bearer.send(tooLong, 2) }
  }

  @Test func failsTheBearerAfter30Seconds() throws {
    var bearer = Bearer()
    try bearer.send(.readRequest(.init(handle: 1)), 1)
    try bearer.send(.readRequest(.init(handle: 2)), 2)
    #expect(bearer.client.deadline == .start + .seconds(30))
    #expect(bearer.client.tick(now: .start + .milliseconds(29_999)) == [])
    #expect(bearer.client.tick(now: .start + .seconds(30)) == [1, 2])
    #expect(bearer.client.hasFailed)
    #expect(bearer.client.deadline == nil)
    #expect(throws: ATTClientError.bearerFailed) { try bearer.send(.readRequest(.init(handle: 1)), 3) }
    #expect(throws: ATTClientError.bearerFailed) {
      try bearer.client.send(command: WriteCommand(handle: 1, value: []), into: &bearer.pdus)
    }
    #expect(try bearer.receive("0b07") == .unexpected(.readResponse, nil))
    // Notifications and indications are still accepted, and indications confirmed.
    _ = bearer.sent()
    #expect(try bearer.receive("1d030007") == .indication(3))
    #expect(bearer.sent() == ["1e"])
  }

  /// The 30 seconds of a request start when it is sent, not when it is queued.
  @Test func countsTheTimeoutFromSending() throws {
    var bearer = Bearer()
    try bearer.send(.readRequest(.init(handle: 1)), 1)
    try bearer.send(.readRequest(.init(handle: 2)), 2)
    bearer.now = .start + .seconds(20)
    #expect(try bearer.receive("0b") == .response(1))
    #expect(bearer.client.deadline == .start + .seconds(50))
  }

  @Test func endReturnsRequestsWithoutAResponse() throws {
    var bearer = Bearer()
    try bearer.send(.readRequest(.init(handle: 1)), 7)
    try bearer.send(.readRequest(.init(handle: 2)), 8)
    #expect(bearer.client.end() == [7, 8])
    #expect(bearer.client.end() == [])
  }

  @Test(arguments: [
    ("0d07", ATTClient.ReceivedPDU.unexpected(.readBlobResponse, nil)),  // the answer to another request
    ("0112010003", .unexpected(.errorResponse, nil)),  // the refusal of another request
    ("010a0100", .malformed(1, .errorResponse, .truncated(field: "Error Code"))),
    ("010a01", .malformed(1, .errorResponse, .truncated(field: "Attribute Handle In Error"))),
    ("01", .malformed(1, .errorResponse, .truncated(field: "Request Opcode In Error"))),
    ("0a0100", .notForClient(.readRequest)),
    ("1e", .notForClient(.handleValueConfirmation)),
    ("52010000", .notForClient(.writeCommand)),
    ("ff", .notForClient(ATTOpcode(rawValue: 0xFF))),
    ("", .empty),
  ])
  func ignoresResponsesToOtherRequests(hex: String, received: ATTClient.ReceivedPDU) throws {
    var bearer = Bearer()
    try bearer.send(.readRequest(.init(handle: 1)), 1)
    #expect(try bearer.receive(hex) == received)
    if case .malformed = received { #expect(!bearer.client.isWaiting) } else { #expect(bearer.client.isWaiting) }
  }

  @Test func ignoresResponsesWithoutARequest() throws {
    var bearer = Bearer()
    #expect(try bearer.receive("0b07") == .unexpected(.readResponse, nil))
    #expect(try bearer.receive("010a01000a") == .unexpected(.errorResponse, nil))
    #expect(try bearer.receive("031700") == .unexpected(.exchangeMTUResponse, nil))
    #expect(bearer.client.mtu == 23)
  }

  @Test(arguments: [
    ("030002", 512), ("03f401", 500), ("03ffff", 512), ("031700", 23), ("031600", 23), ("030000", 23),
  ])
  func usesTheSmallerMTU(hex: String, mtu: Int) throws {
    var bearer = Bearer()
    try bearer.send(.exchangeMTURequest(.init(clientRxMTU: 512)), 1)
    #expect(bearer.sent() == ["020002"])
    #expect(try bearer.receive(hex) == .mtuExchanged(1, mtu))
    #expect(bearer.client.mtu == mtu)
    #expect(throws: ATTClientError.mtuAlreadyExchanged) {
      try bearer.send(.exchangeMTURequest(.init(clientRxMTU: 512)), 2)
    }
  }

  @Test(arguments: [(-1, 23), (0, 23), (22, 23), (23, 23), (517, 517)])
  func mtuIsAtLeast23(set: Int, mtu: Int) {
    var client = ATTClient()
    client.mtu = set
    #expect(client.mtu == mtu)
  }

  @Test func keepsTheMTUAfterAnErrorResponse() throws {
    var bearer = Bearer()
    try bearer.send(.exchangeMTURequest(.init(clientRxMTU: 512)), 1)
    #expect(
      try bearer.receive("0102000006")
        == .errorResponse(1, ErrorResponse(to: .exchangeMTURequest, handle: 0, code: .requestNotSupported)))
    #expect(bearer.client.mtu == 23)
  }

  @Test func keepsTheMTUAfterAMalformedResponse() throws {
    var bearer = Bearer()
    try bearer.send(.exchangeMTURequest(.init(clientRxMTU: 512)), 1)
    #expect(
      try bearer.receive("0300") == .malformed(1, .exchangeMTUResponse, .truncated(field: "Server Rx MTU")))
    #expect(bearer.client.mtu == 23)
  }

  /// Octets after the last field of a response of fixed length mean nothing.
  @Test func acceptsOctetsAfterTheLastField() throws {
    var bearer = Bearer()
    try bearer.send(.exchangeMTURequest(.init(clientRxMTU: 512)), 1)
    #expect(try bearer.receive("03000200") == .mtuExchanged(1, 512))
    try bearer.send(.readRequest(.init(handle: 1)), 2)
    #expect(
      try bearer.receive("010a01000a00")
        == .errorResponse(2, ErrorResponse(to: .readRequest, handle: 1, code: .attributeNotFound)))
    #expect(!bearer.client.isWaiting)
  }

  /// A request that was answered with something else does not hold up the others.
  @Test func endsARequestWithoutItsResponse() throws {
    var bearer = Bearer()
    try bearer.send(.readRequest(.init(handle: 1)), 1)
    try bearer.send(.readRequest(.init(handle: 2)), 2)
    bearer.client.endRequest(now: .start, into: &bearer.pdus)
    #expect(bearer.client.isWaiting)
    #expect(try bearer.receive("0b07") == .response(2))
    bearer.client.endRequest(now: .start, into: &bearer.pdus)
    #expect(!bearer.client.isWaiting && !bearer.client.hasFailed)
  }

  @Test(arguments: [
    ("1b030007", ATTClient.ReceivedPDU.notification(3), false),
    ("1b0300", .notification(3), false),
    ("1b03", .unexpected(.handleValueNotification, .truncated(field: "Attribute Handle")), false),
    ("1d0400", .indication(4), true),
    ("1d04", .unexpected(.handleValueIndication, .truncated(field: "Attribute Handle")), true),
    ("23030001000704000000", .multipleNotification, false),
  ])
  func acceptsNotificationsAndIndicationsAtAnyTime(hex: String, received: ATTClient.ReceivedPDU, isConfirmed: Bool)
    throws
  {
    var bearer = Bearer()
    #expect(try bearer.receive(hex) == received)
    #expect(bearer.sent() == (isConfirmed ? ["1e"] : []))
    try bearer.send(.readRequest(.init(handle: 1)), 1)
    _ = bearer.sent()
    #expect(try bearer.receive(hex) == received)
    #expect(bearer.client.isWaiting)
  }

  /// For any octets, an Error Response is decoded as the declared packet is.
  @Test func errorResponseEqualsTheDeclaredPacket() throws {
    var source = SplitMix64(seed: 1)
    for _ in 0..<200 {
      var declared = ErrorResponse.random(from: &source)
      declared.requestOpcode = .readRequest
      var bearer = Bearer()
      try bearer.send(.readRequest(.init(handle: 1)), 1)
      #expect(
        bearer.client.receive(declared.encodedPDU.span, now: .start, into: &bearer.pdus) == .errorResponse(1, declared))
    }
  }

  @Test func aServerSendsResponsesNotificationsAndIndications() {
    var sent: Set<UInt8> = []
    for packet in ATT.packets where [.response, .notification, .indication].contains(packet.pduType) {
      sent.insert(packet.opcode.rawValue)
    }
    for raw in UInt8.min...UInt8.max { #expect(ATTOpcode(rawValue: raw).isSentByServer == sent.contains(raw)) }
  }

  @Test func everyRequestHasAResponse() {
    let requests = Set(ATT.packets.filter { $0.pduType == .request }.map { $0.opcode })
    #expect(Set((UInt8.min...UInt8.max).map { ATTOpcode(rawValue: $0) }.filter { $0.response != nil }) == requests)
    for raw in UInt8.min...UInt8.max {
      let opcode = ATTOpcode(rawValue: raw)
      guard let response = opcode.response else { continue }
      #expect(response.isSentByServer)
      #expect(!opcode.isSentByServer)
      #expect(opcode.name?.hasSuffix(" Request") == true)
      #expect(response.name == opcode.name?.replacing("Request", with: "Response"))
    }
  }
}
