import BLEATT
import BLEGATT
import BLEWire
import TestSupport
import Testing

@Suite("Events and errors of a GATT client")
struct GATTClientTests {
  private let first = GATTClient.OperationID(rawValue: 1)
  private let second = GATTClient.OperationID(rawValue: 2)

  /// The example in the type's comment.
  @Test func runsTheDocumentedExample() {
    var client = GATTClient()
    var output = GATTClient.Output()
    client.perform(GATTClient.Operation(id: .init(rawValue: 1), .read(0x0003)), now: .start, into: &output)
    #expect(output.pdus[0] == [0x0A, 0x03, 0x00])
    let response: [UInt8] = [0x0B, 0x48, 0x69]
    client.receive(response.span, now: .start, into: &output)
    #expect(output.events == [.finished(.init(rawValue: 1), .success(.value([0x48, 0x69])))])
  }

  @Test func exchangesTheMTUOnce() throws {
    var talk = ClientConversation()
    talk.perform(.exchangeMTU(247))
    #expect(talk.sent() == ["02f700"])
    try talk.receive("030502")
    #expect(talk.events() == [.mtu(247), .finished(first, .success(.mtu(247)))])
    #expect(talk.client.mtu == 247)
    talk.perform(.exchangeMTU(100))
    #expect(talk.sent() == [])
    #expect(talk.events() == [.finished(second, .success(.mtu(247)))])
  }

  @Test func aPlainRequestHasItsResponseAsItIs() throws {
    var talk = ClientConversation()
    let value: [UInt8] = [0x0B, 0x48, 0x69]
    #expect(try talk.run(.request([0x0A, 3, 0]), [("0a0300", "0b4869")]) == .success(.value(value)))
    let refusal: [UInt8] = [1, 0x0A, 3, 0, 0x05]
    #expect(try talk.run(.request([0x0A, 3, 0]), [("0a0300", "010a030005")]) == .success(.value(refusal)))
    talk.perform(.request([0x02, 247, 0]))
    #expect(talk.sent() == ["02f700"])
    try talk.receive("030502")
    let id = GATTClient.OperationID(rawValue: 3)
    #expect(talk.events() == [.mtu(247), .finished(id, .success(.value([3, 5, 2])))])
  }

  /// An unknown opcode, a truncated request, and a command, which has no response.
  @Test(arguments: [[], [0x3F], [0x0A, 3], [0x52, 3, 0, 1]] as [[UInt8]])
  func aPlainRequestThatIsNoneIsNotSent(pdu: [UInt8]) {
    var talk = ClientConversation()
    talk.perform(.request(pdu))
    #expect(talk.sent() == [])
    guard case .finished(first, .failure(.invalidParameters))? = talk.events().first else {
      Issue.record("\(pdu)"); return
    }
  }

  @Test(arguments: [22, 518, -1])
  func rejectsAnMTUOutsideTheLimits(size: Int) throws {
    var talk = ClientConversation()
    talk.perform(.exchangeMTU(size))
    #expect(talk.sent() == [])
    #expect(
      talk.events() == [
        .finished(first, .failure(.invalidParameters("exchange of the MTU failed: \(size) octets. Use 23 to 517")))
      ])
  }

  @Test func performsOperationsInOrder() throws {
    var talk = ClientConversation()
    talk.perform(.readLong(1))
    talk.perform(.read(2))
    #expect(talk.sent() == ["0a0100"])
    try talk.receive("0b" + String(repeating: "00", count: 22))
    #expect(talk.sent() == ["0c01001600"])
    try talk.receive("0d07")
    #expect(talk.sent() == ["0a0200"])
    try talk.receive("0b08")
    #expect(
      talk.events() == [
        .finished(first, .success(.value(Array(repeating: 0, count: 22) + [7]))),
        .finished(second, .success(.value([8]))),
      ])
  }

  @Test func limitsTheQueueOfOperations() throws {
    var limits = GATTClient.Limits()
    limits.waitingOctets = 128 + 3
    var talk = ClientConversation(limits: limits)
    talk.perform(.read(1))
    talk.perform(.read(1))
    talk.perform(.write(1, [1, 2, 3]))
    #expect(talk.events() == [])
    talk.perform(.read(1))
    #expect(talk.events() == [.finished(.init(rawValue: 4), .failure(.tooManyOperations(limit: 131)))])
    try talk.receive("0b")
    #expect(talk.events() == [.finished(first, .success(.value([])))])
    talk.perform(.write(1, [1, 2, 3]))
    #expect(talk.events() == [.finished(.init(rawValue: 5), .failure(.tooManyOperations(limit: 131)))])
    talk.perform(.read(1))
    #expect(talk.events() == [])
  }

  /// GATT/CL/GAN/BV-01-C and GATT/CL/GAI/BV-01-C.
  @Test func reportsNotificationsAndIndications() throws {
    var talk = ClientConversation()
    try talk.receive("1b0300010203")
    #expect(talk.sent() == [])
    try talk.receive("1d0300010203")
    #expect(talk.sent() == ["1e"])
    #expect(talk.events() == [.notification(3, [1, 2, 3]), .indication(3, [1, 2, 3])])
  }

  /// An ATT_MTU of 517 has room for 514 octets, two more than an attribute has (Vol 3, Part F, 3.2.9). Devices that
  /// send streams fill it.
  @Test(arguments: ["1b", "1d"]) func reportsAValueThatFillsItsPDU(opcode: String) throws {
    var talk = ClientConversation(mtu: 517)
    for length in 512...515 {
      let value = [UInt8](repeating: 0xAA, count: length)
      let reported = [UInt8](value.prefix(514))
      try talk.receive(opcode + "0300" + value.hexadecimal)
      #expect(talk.events() == [opcode == "1d" ? .indication(3, reported) : .notification(3, reported)])
    }
    #expect(talk.sent() == (opcode == "1d" ? ["1e", "1e", "1e", "1e"] : []))
  }

  @Test func reportsEachValueOfAMultipleNotification() throws {
    var talk = ClientConversation()
    try talk.receive("23" + "0300" + "0200" + "0102" + "0500" + "0000" + "0900" + "0100" + "07")
    #expect(talk.events() == [.notification(3, [1, 2]), .notification(5, []), .notification(9, [7])])
  }

  /// The values of a Multiple Handle Value Notification equal those of the declared packet, for any octets.
  @Test func decodesAMultipleNotificationAsDeclared() throws {
    var source = SplitMix64(seed: 1)
    for _ in 0..<2000 {
      var pdu: [UInt8] = [0x23]
      for _ in 0..<Int.random(in: 0...12, using: &source) { pdu.append(.random(in: 0...3, using: &source)) }
      var talk = ClientConversation()
      talk.client.receive(pdu.span, now: .start, into: &talk.output)
      let declared = try? MultipleHandleValueNotification(decoding: pdu.dropFirst())
      let events = talk.events()
      if let declared {
        #expect(events == declared.tuples.map { .notification($0.handle, Array($0.value)) })
      } else {
        #expect(events.count == 1)
        guard case .violation(.malformedResponse(.multipleHandleValueNotification, _))? = events.first else {
          Issue.record("\(pdu.hexadecimal) gave \(events)")
          continue
        }
      }
    }
  }

  @Test(arguments: [
    ("0b07", GATTClient.Event.violation(.unexpectedPDU(.readResponse))),
    ("010a01000a", .violation(.unexpectedPDU(.errorResponse))),
    ("0a0100", .violation(.unexpectedPDU(.readRequest))),
    (
      "1b03",
      .violation(
        .malformedResponse(.handleValueNotification, reason: "truncated in the field 'Attribute Handle'"))
    ),
  ])
  func whatAServerMayNotSendIsReported(hex: String, event: GATTClient.Event) throws {
    var talk = ClientConversation()
    try talk.receive(hex)
    #expect(talk.events() == [event])
    #expect(talk.sent() == [])
    try talk.receive("")
    #expect(talk.events() == [])
  }

  @Test func failsAfter30SecondsWithoutAResponse() throws {
    var talk = ClientConversation()
    talk.perform(.read(1))
    talk.perform(.read(2))
    #expect(talk.client.deadline == .start + .seconds(30))
    talk.client.tick(now: .start + .milliseconds(29_999), into: &talk.output)
    #expect(talk.events() == [])
    talk.client.tick(now: .start + .seconds(30), into: &talk.output)
    #expect(
      talk.events() == [.finished(first, .failure(.timedOut)), .finished(second, .failure(.timedOut)), .bearerFailed])
    #expect(talk.client.deadline == nil)
    _ = talk.sent()
    talk.perform(.writeWithoutResponse(1, [1]))
    #expect(talk.events() == [.finished(.init(rawValue: 3), .failure(.timedOut))])
    #expect(talk.sent() == [])
  }

  @Test func endsAllOperationsWithTheLink() throws {
    var talk = ClientConversation()
    talk.perform(.readLong(1))
    talk.perform(.read(2))
    talk.client.linkEnded(into: &talk.output)
    #expect(talk.events() == [.finished(first, .failure(.linkEnded)), .finished(second, .failure(.linkEnded))])
    talk.client.linkEnded(into: &talk.output)
    talk.perform(.read(1))
    #expect(talk.events() == [.finished(.init(rawValue: 3), .failure(.linkEnded))])
  }
}

@Suite("Subscriptions of a GATT client")
struct ClientSubscriptionTests {
  @Test(arguments: [(Subscription.notify, "1205000100"), (.indicate, "1205000200"), (Subscription(), "1205000000")])
  func findsAndWritesTheDescriptor(subscription: Subscription, write: String) throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(
        .configure(subscription, in: 4...9), [("0404000900", "0501" + "04000129" + "05000229"), (write, "13")])
        == .success(.configured(5)))
  }

  @Test func continuesTheSearchThroughSeveralResponses() throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(
        .configure(.notify, in: 4...9),
        [("0404000900", "050104000129"), ("0405000900", "050106000229"), ("1206000100", "13")])
        == .success(.configured(6)))
  }

  @Test(arguments: [
    [("0404000500", "0501" + "04000129" + "05000429")], [("0404000500", "010404000a")],
    [("0404000500", "0501" + "04000129" + "05000328")],
  ])
  func withoutADescriptorNothingIsWritten(exchange: [(String, String)]) throws {
    var talk = ClientConversation()
    #expect(try talk.run(.configure(.notify, in: 4...5), exchange) == .success(.noConfiguration(in: 4...5)))
  }

  /// A server that rejects Find Information, or answers with nonsense (NimBLE-Arduino#170).
  @Test(arguments: ["0104040001", "0104040006", "05", "050106000229"])
  func theDescriptorIsAlsoFoundByItsType(answer: String) throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(
        .configure(.notify, in: 4...5),
        [("0404000500", answer), ("08040005000229", "090405000000"), ("1205000100", "13")])
        == .success(.configured(5)))
    #expect(
      try talk.run(.configure(.notify, in: 4...5), [("0404000500", answer), ("08040005000229", "010804000a")])
        == .success(.noConfiguration(in: 4...5)))
    // Not one outside of the characteristic.
    #expect(
      try talk.run(.configure(.notify, in: 4...5), [("0404000500", answer), ("08040005000229", "090409000000")])
        == .success(.noConfiguration(in: 4...5)))
  }

  /// A descriptor that the server protects is not missing.
  @Test func aSearchThatDemandsSecurityIsRefused() throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(.configure(.notify, in: 4...5), [("0404000500", "0104040005")])
        == .failure(.errorResponse(.insufficientAuthentication, request: .findInformationRequest, handle: 4)))
    #expect(
      try talk.run(.configure(.notify, in: 4...5), [("0404000500", "0104040001"), ("08040005000229", "010804000f")])
        == .failure(.errorResponse(.insufficientEncryption, request: .readByTypeRequest, handle: 4)))
  }

  @Test func failsWithTheErrorOfTheWrite() throws {
    var talk = ClientConversation()
    #expect(
      try talk.run(.configure(.notify, in: 4...9), [("0404000900", "050105000229"), ("1205000100", "0112050005")])
        == .failure(.errorResponse(.insufficientAuthentication, request: .writeRequest, handle: 5)))
  }

  private let watch: [(String, String)] = [
    ("060100ffff00280118", "0706000900"), ("060a00ffff00280118", "01060a000a"),
    ("08060009000328", "0907" + "0700200800052a"), ("08080009000328", "010808000a"),
    ("0409000900", "050109000229"), ("1209000200", "13"),
  ]

  @Test func reportsServiceChanged() throws {
    var talk = ClientConversation()
    #expect(try talk.run(.subscribeToServiceChanged, watch) == .success(.done))
    try talk.receive("1d080001000a00")
    #expect(talk.sent() == ["1e"])
    #expect(talk.events() == [.servicesChanged(1...0x0A)])
  }

  @Test(arguments: ["1d080001000a", "1d080001000a0000", "1d08000a000100", "1d080000000a00"])
  func reportsAServiceChangedWithoutARangeAsAViolation(hex: String) throws {
    var talk = ClientConversation()
    _ = try talk.run(.subscribeToServiceChanged, watch)
    try talk.receive(hex)
    #expect(talk.sent() == ["1e"])
    guard case .violation? = talk.events().first else {
      Issue.record("no violation")
      return
    }
  }

  @Test func failsOnAServerWithoutServiceChanged() throws {
    var talk = ClientConversation()
    let notFound = Result<GATTClient.Outcome, GATTClientError>.failure(
      .errorResponse(.attributeNotFound, request: .readByTypeRequest, handle: 1))
    #expect(try talk.run(.subscribeToServiceChanged, [("060100ffff00280118", "010601000a")]) == notFound)
    #expect(
      try talk.run(
        .subscribeToServiceChanged,
        [
          ("060100ffff00280118", "0701000500"), ("060600ffff00280118", "010606000a"),
          ("08010005000328", "010801000a"),
        ]) == notFound)
    // Indications of other characteristics are reported as indications.
    try talk.receive("1d080001000a00")
    #expect(talk.events() == [.indication(8, [1, 0, 0x0A, 0])])
  }

  /// Service Changed is reported also where another discovery has found it.
  @Test func recognizesServiceChangedInAnyDiscovery() throws {
    var talk = ClientConversation()
    _ = try talk.run(.discoverCharacteristics(6...9), Array(watch[2...3]))
    try talk.receive("1d080001000a00")
    #expect(talk.events() == [.servicesChanged(1...0x0A)])
  }
}
