import BLEATT
import BLEGATT
import BLEWire
import TestSupport
import Testing

@Suite("Discovery by a GATT client")
struct ClientDiscoveryTests {
  /// GATT/CL/GAD/BV-01-C: services of both sizes, in two responses, ended by Attribute Not Found.
  @Test func discoversAllPrimaryServices() throws {
    var talk = ClientConversation()
    let result = try talk.run(
      .discoverPrimaryServices,
      [
        ("100100ffff0028", "1106010004000018" + "050008000118"),
        ("100900ffff0028", "11140a001200393a042f66746494a34fc06fca3daf58"),
        ("101300ffff0028", "011013000a"),
      ])
    #expect(
      result
        == .success(
          .services([
            DiscoveredService(handles: 1...4, uuid: "1800"), DiscoveredService(handles: 5...8, uuid: "1801"),
            DiscoveredService(handles: 0x0A...0x12, uuid: "58AF3DCA-6FC0-4FA3-9464-74662F043A39"),
          ])))
  }

  @Test func endsTheSearchAtTheLastHandle() throws {
    var talk = ClientConversation()
    let result = try talk.run(.discoverPrimaryServices, [("100100ffff0028", "11060100ffff0018")])
    #expect(result == .success(.services([DiscoveredService(handles: 1 ... .last, uuid: "1800")])))
  }

  @Test func findsNoServicesOnAnEmptyServer() throws {
    var talk = ClientConversation()
    #expect(try talk.run(.discoverPrimaryServices, [("100100ffff0028", "011001000a")]) == .success(.services([])))
  }

  /// GATT/CL/GAD/BV-02-C, by a UUID of 128 bits.
  @Test func discoversPrimaryServicesByUUID() throws {
    var talk = ClientConversation(mtu: 64)
    let uuid: BluetoothUUID = "58AF3DCA-6FC0-4FA3-9464-74662F043A39"
    let value = "393a042f66746494a34fc06fca3daf58"
    let result = try talk.run(
      .discoverPrimaryServicesByUUID(uuid),
      [
        ("060100ffff0028" + value, "070100040008000900"), ("060a00ffff0028" + value, "01060a000a"),
      ])
    #expect(
      result
        == .success(
          .services([DiscoveredService(handles: 1...4, uuid: uuid), DiscoveredService(handles: 8...9, uuid: uuid)])))
  }

  /// GATT/CL/GAD/BV-03-C: a 16-bit UUID is in the declaration, a 128-bit one is read from the service.
  @Test func findsIncludedServices() throws {
    var talk = ClientConversation()
    let result = try talk.run(
      .findIncludedServices(1...0x10),
      [
        ("080100100002" + "28", "0908" + "0200200025000f18"),
        ("080300100002" + "28", "0906" + "030030003500" + "050040004500"),
        ("0a3000", "0b393a042f66746494a34fc06fca3daf58"),
        ("0a4000", "0b403a042f66746494a34fc06fca3daf58"),
        ("080600100002" + "28", "010806000a"),
      ])
    #expect(
      result
        == .success(
          .includedServices([
            IncludedService(declaration: 2, service: DiscoveredService(handles: 0x20...0x25, uuid: "180F")),
            IncludedService(
              declaration: 3,
              service: DiscoveredService(handles: 0x30...0x35, uuid: "58AF3DCA-6FC0-4FA3-9464-74662F043A39")),
            IncludedService(
              declaration: 5,
              service: DiscoveredService(handles: 0x40...0x45, uuid: "58AF3DCA-6FC0-4FA3-9464-74662F043A40")),
          ])))
  }

  /// GATT/CL/GAD/BV-04-C.
  @Test func discoversAllCharacteristicsOfAService() throws {
    var talk = ClientConversation()
    let result = try talk.run(
      .discoverCharacteristics(0x0A...0x12),
      [
        ("080a0012000328", "0915" + "0b00200c003a3a042f66746494a34fc06fca3daf58"),
        ("080c0012000328", "0907" + "0f0008100037" + "2a"),
        ("08100012000328", "010810000a"),
      ])
    #expect(
      result
        == .success(
          .characteristics([
            DiscoveredCharacteristic(
              declaration: 0x0B, properties: .indicate, valueHandle: 0x0C, uuid: "58AF3DCA-6FC0-4FA3-9464-74662F043A3A"),
            DiscoveredCharacteristic(declaration: 0x0F, properties: .write, valueHandle: 0x10, uuid: "2A37"),
          ])))
  }

  /// GATT/CL/GAD/BV-05-C.
  @Test func discoversCharacteristicsByUUID() throws {
    var talk = ClientConversation()
    let result = try talk.run(
      .discoverCharacteristicsByUUID("2A38", 1...9),
      [
        ("08010009000328", "0907" + "0200100300372a" + "0500020600382a"),
        ("08060009000328", "010806000a"),
      ])
    #expect(
      result
        == .success(
          .characteristics([
            DiscoveredCharacteristic(declaration: 5, properties: .read, valueHandle: 6, uuid: "2A38")
          ])))
  }

  /// GATT/CL/GAD/BV-06-C: both sizes, and the end of the range ends the search.
  @Test func discoversAllDescriptors() throws {
    var talk = ClientConversation(mtu: 64)
    let result = try talk.run(
      .discoverDescriptors(0x0D...0x11),
      [
        ("040d001100", "0501" + "0d000229" + "0e000129"),
        ("040f001100", "0502" + "1100" + "393a042f66746494a34fc06fca3daf58"),
      ])
    #expect(
      result
        == .success(
          .descriptors([
            DiscoveredDescriptor(handle: 0x0D, uuid: "2902"), DiscoveredDescriptor(handle: 0x0E, uuid: "2901"),
            DiscoveredDescriptor(handle: 0x11, uuid: "58AF3DCA-6FC0-4FA3-9464-74662F043A39"),
          ])))
  }

  @Test func endsTheDescriptorsAtADeclaration() throws {
    var talk = ClientConversation()
    let result = try talk.run(
      .discoverDescriptors(4...0x20), [("0404002000", "0501" + "04000229" + "05000328" + "0600372a")])
    #expect(result == .success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: "2902")])))
  }

  @Test(arguments: [GATTClient.Operation.Kind.discoverPrimaryServices, .discoverCharacteristics(1...0xFFFF)])
  func failsWithEachOtherErrorResponse(kind: GATTClient.Operation.Kind) throws {
    var talk = ClientConversation()
    talk.perform(kind)
    let request = try #require(talk.sent().first).prefix(2)
    try talk.receive("01\(request)010005")
    let opcode = try #require(UInt8(request, radix: 16))
    #expect(
      talk.events() == [
        .finished(
          .init(rawValue: 1),
          .failure(.errorResponse(.insufficientAuthentication, request: ATTOpcode(rawValue: opcode), handle: 1)))
      ])
  }
}

@Suite("A GATT client and malformed responses")
struct HostileServerTests {
  static let services = GATTClient.Operation.Kind.discoverPrimaryServices
  static let characteristics = GATTClient.Operation.Kind.discoverCharacteristics(5...0x20)
  static let descriptors = GATTClient.Operation.Kind.discoverDescriptors(5...0x20)
  static let included = GATTClient.Operation.Kind.findIncludedServices(5...0x20)
  static let values = GATTClient.Operation.Kind.readUsingUUID("2A00", 5...0x20)
  static let byUUID = GATTClient.Operation.Kind.discoverPrimaryServicesByUUID("180D")

  /// Responses without an entry that makes sense.
  static let senseless: [(GATTClient.Operation.Kind, [String])] = [
    (
      services,
      [
        "11",  // no Length
        "1100",  // Length 0, nothing behind it
        "110001000200",  // Length 0 with data: no endless list
        "1103010002",  // entries shorter than their handles
        "1106000004000018",  // handle 0
      ]
    ),
    (byUUID, ["07", "07010004", "070000ffff"]),
    (
      characteristics,
      [
        "09",
        "0900",
        "09000000",
        "090105",
        "09070400020600002a",  // before the range
        "09072100022200002a",  // behind the range
      ]
    ),
    (
      descriptors,
      [
        "05",
        "0501",
        "05010500",
        "050305000229",  // no such format
        "050104000229",  // before the range
        "050121000229",  // behind it
      ]
    ),
    (included, ["0906040020002500"]),
    (values, ["0903040001"]),
  ]

  /// The request is repeated once: the fault may have been that of one response. Then it is the result.
  @Test(arguments: senseless.flatMap { kind, answers in answers.map { (kind, $0) } })
  func failsAfterTwoResponsesWithoutSense(kind: GATTClient.Operation.Kind, hex: String) throws {
    var talk = ClientConversation()
    talk.perform(kind)
    let request = talk.sent()
    try talk.receive(hex)
    #expect(talk.events() == [])
    #expect(talk.sent() == request, "once more")
    try talk.receive(hex)
    let events = talk.events()
    guard case .finished(_, .failure(.malformedResponse(let opcode, let reason))) = events.first, events.count == 1
    else {
      Issue.record("\(hex) gave \(events) and \(talk.sent())")
      return
    }
    #expect(opcode.rawValue == UInt8(hex.prefix(2), radix: 16))
    #expect(!reason.isEmpty)
    #expect(talk.sent() == [])
    // The client performs the next operation.
    #expect(try talk.run(.read(3), [("0a0300", "0b07")]) == .success(.value([7])))
  }

  private static func service(_ handles: ClosedRange<AttributeHandle>, _ uuid: BluetoothUUID) -> DiscoveredService {
    DiscoveredService(handles: handles, uuid: uuid)
  }

  private static func characteristic(
    _ declaration: AttributeHandle, _ value: AttributeHandle, _ uuid: BluetoothUUID
  ) -> DiscoveredCharacteristic {
    DiscoveredCharacteristic(declaration: declaration, properties: .read, valueHandle: value, uuid: uuid)
  }

  /// Responses with entries that make sense, the request that follows, what is found, and the places of the faults.
  static let partly: [(GATTClient.Operation.Kind, String, String?, GATTClient.Outcome, [AttributeHandle])] = [
    // A declaration without a UUID.
    (services, "110401000200", "100300ffff0028", .services([]), [1]),
    // Half an entry at the end.
    (services, "110601000400001805", "100500ffff0028", .services([service(1...4, "1800")]), [5]),
    // A UUID of 32 bits.
    (services, "11080100040000180018", "100500ffff0028", .services([]), [1]),
    // It ends before it begins (btstack#678).
    (services, "1106050004000018", "100600ffff0028", .services([service(5 ... .last, "1800")]), [5]),
    (
      services, "1106" + "050000000018" + "09000a000118", "100b00ffff0028",
      .services([service(5...8, "1800"), service(9...0x0A, "1801")]), [5]
    ),
    // Out of order.
    (services, "1106" + "050009000018" + "010004000118", "100a00ffff0028", .services([service(5...9, "1800")]), [1]),
    // Overlapping.
    (
      services, "1106" + "010009000018" + "050014000118", "101500ffff0028",
      .services([service(1...4, "1800"), service(5...0x14, "1801")]), [5]
    ),
    (byUUID, "0705000100", "060600ffff00280d18", .services([service(5 ... .last, "180D")]), [5]),
    (byUUID, "07" + "05000900" + "01000400", "060a00ffff00280d18", .services([service(5...9, "180D")]), [1]),
    // No declaration at all; a length that does not fit; a UUID of one octet.
    (characteristics, "09020500", "08060020000328", .characteristics([]), [5]),
    (characteristics, "090405000206", "08060020000328", .characteristics([]), [5]),
    (characteristics, "0906050002060000", "08060020000328", .characteristics([]), [5]),
    // Its own value, and no value.
    (characteristics, "09070500020500002a", "08060020000328", .characteristics([]), [5]),
    (characteristics, "09070500020000002a", "08060020000328", .characteristics([]), [5]),
    // The value behind the range is read there (bluez#316).
    (
      characteristics, "09070500022100002a", "08060020000328",
      .characteristics([characteristic(5, 0x21, "2A00")]), [5]
    ),
    // Two characteristics with one value.
    (
      characteristics, "0907" + "0500020900002a" + "0700020900012a", "08080020000328",
      .characteristics([characteristic(5, 9, "2A00")]), [7]
    ),
    // Backwards.
    (
      characteristics, "0907" + "0600020700002a" + "0500020b00012a", "08070020000328",
      .characteristics([characteristic(6, 7, "2A00")]), [5]
    ),
    (
      descriptors, "0501" + "05000229" + "050002", "0406002000",
      .descriptors([DiscoveredDescriptor(handle: 5, uuid: "2902")]), [6]
    ),
    // The same handle again (ArduinoBLE#375).
    (
      descriptors, "0501" + "05000229" + "05000129", "0406002000",
      .descriptors([DiscoveredDescriptor(handle: 5, uuid: "2902")]), [5]
    ),
    (included, "090405002000", "08060020000228", .includedServices([]), [5]),
    (included, "09080500250020000018", "08060020000228", .includedServices([]), [5]),
    (included, "09080500000025000018", "08060020000228", .includedServices([]), [5]),
    (included, "09070500200025000f", "08060020000228", .includedServices([]), [5]),
    (included, "090a0500200025000f180000", "08060020000228", .includedServices([]), [5]),
    (values, "0902050005000500", "0806002000002a", .values([AttributeValue(handle: 5, value: [])]), [5, 5]),
  ]

  @Test(arguments: partly.indices) func takesWhatMakesSense(row: Int) throws {
    let (kind, hex, request, found, places) = Self.partly[row]
    var talk = ClientConversation()
    talk.perform(kind)
    _ = talk.sent()
    try talk.receive(hex)
    #expect(talk.sent() == (request.map { [$0] } ?? []), "the search goes on behind the fault")
    let opcode = try #require(request?.prefix(2))
    try talk.receive("01\(opcode)00000a")
    guard case .finished(_, .success(let outcome)) = talk.events().first else {
      Issue.record("no outcome")
      return
    }
    #expect(outcome.found == found)
    #expect(outcome.faults.map(\.handles.lowerBound) == places)
  }

  /// Three entries with handles at the ends of the range and beside each other, in any order: what is found is in
  /// order, and no two services have an attribute in common.
  @Test func servicesNeverOverlapWhateverTheirHandles() throws {
    let handles: [AttributeHandle] = [0, 1, 5, 0xFFFE, 0xFFFF]
    let entries = handles.flatMap { first in handles.map { first.encoded + $0.encoded } }
    var count = 0
    for kind in [Self.services, Self.byUUID] {
      let (header, uuid): ([UInt8], [UInt8]) = kind == Self.services ? ([0x11, 6], [0x00, 0x18]) : ([0x07], [])
      for a in entries {
        for b in entries {
          for c in entries {
            var talk = ClientConversation()
            talk.perform(kind)
            let request = try #require(talk.sent().first?.prefix(2))
            try talk.receive((header + a + uuid + b + uuid + c + uuid).hexadecimal)
            while let next = talk.sent().first, next.hasPrefix(request) { try talk.receive("01\(request)00000a") }
            guard case .finished(_, let result)? = talk.events().first else { continue }
            count += 1
            guard case .services(let found)? = try? result.get().found else { continue }
            let isInOrder = zip(found, found.dropFirst()).allSatisfy {
              $0.handles.upperBound < $1.handles.lowerBound
            }
            #expect(isInOrder, "\((a + b + c).hexadecimal)")
          }
        }
      }
    }
    #expect(count == 2 * 25 * 25 * 25, "each discovery ends")
  }

  @Test(arguments: [
    (services, "1106" + "ffffffff0018" + "ffffffff0118"), (byUUID, "07" + "ffffffff" + "ffffffff"),
  ])
  func nothingFollowsTheLastHandle(kind: GATTClient.Operation.Kind, hex: String) throws {
    var talk = ClientConversation()
    talk.perform(kind)
    try talk.receive(hex)
    guard case .finished(_, .success(let outcome)) = talk.events().first else {
      Issue.record("no outcome")
      return
    }
    let uuid: BluetoothUUID = kind == Self.services ? "1800" : "180D"
    #expect(outcome.found == .services([DiscoveredService(handles: .last ... .last, uuid: uuid)]))
    #expect(outcome.faults.map(\.handles.lowerBound) == [.last])
  }

  /// An error that is no end of the list ends it: what came before is the result (Vol 3, Part F, 3.4.1.1).
  @Test(arguments: [0x00, 0x01, 0x06, 0x0E, 0x11, 0x80, 0xFF] as [UInt8])
  func anotherErrorEndsAList(code: UInt8) throws {
    var talk = ClientConversation()
    talk.perform(Self.services)
    try talk.receive("1106010004000018")
    let error = "01100500" + [code].hexadecimal
    _ = talk.sent()
    try talk.receive(error)
    #expect(talk.sent() == [])
    let fault = DiscoveryFault(
      handles: 5 ... .last,
      error: .errorResponse(ATTErrorCode(rawValue: code), request: .readByGroupTypeRequest, handle: 5))
    #expect(
      talk.events() == [
        .finished(.init(rawValue: 1), .success(.incomplete(.services([Self.service(1...4, "1800")]), [fault])))
      ])
    #expect("\(fault)".hasPrefix("handles 0x0005 to 0xFFFF: ") && !"\(fault)".contains("success"))
  }

  /// The response to another request may have been sent twice: the right one may follow. If it does not, the request
  /// was answered wrongly, and the bearer is used on.
  @Test func aResponseToAnotherRequestIsAnAnswerAfterTwoSeconds() throws {
    var talk = ClientConversation()
    talk.perform(.read(3))
    #expect(talk.sent() == ["0a0300"])
    try talk.receive("13")
    #expect(talk.events() == [.violation(.unexpectedPDU(.writeResponse))])
    try talk.receive("0b07")
    #expect(talk.events() == [.finished(.init(rawValue: 1), .success(.value([7])))])
    #expect(talk.client.deadline == nil)

    talk.perform(.read(3))
    talk.perform(.read(4))
    try talk.receive("13")
    _ = (talk.events(), talk.sent())
    talk.now = talk.now + .seconds(1)
    talk.client.tick(now: talk.now, into: &talk.output)
    #expect(talk.events() == [])
    #expect(talk.client.deadline == talk.now + .seconds(1))
    talk.now = talk.now + .seconds(1)
    talk.client.tick(now: talk.now, into: &talk.output)
    #expect(talk.events() == [.finished(.init(rawValue: 2), .failure(.unexpectedPDU(.writeResponse)))])
    #expect(talk.sent() == ["0a0400"])
  }

  /// Without a response the bearer has failed: what was discovered before is the result.
  @Test func aTimeoutLeavesWhatCameBefore() throws {
    var talk = ClientConversation()
    talk.perform(Self.services)
    try talk.receive("1106010004000018")
    talk.now = talk.now + .seconds(30)
    talk.client.tick(now: talk.now, into: &talk.output)
    let fault = DiscoveryFault(handles: 5 ... .last, error: .timedOut)
    #expect(
      talk.events() == [
        .finished(.init(rawValue: 1), .success(.incomplete(.services([Self.service(1...4, "1800")]), [fault]))),
        .bearerFailed,
      ])
  }

  @Test func limitsTheNumberOfResults() throws {
    var limits = GATTClient.Limits()
    limits.results = 2
    var talk = ClientConversation(limits: limits)
    let two = "1106" + "010001000018" + "020002000118"
    #expect(
      try talk.run(.discoverPrimaryServices, [("100100ffff0028", two), ("100300ffff0028", "011003000a")])
        == .success(
          .services([
            DiscoveredService(handles: 1...1, uuid: "1800"), DiscoveredService(handles: 2...2, uuid: "1801"),
          ])))
    #expect(
      try talk.run(
        .discoverPrimaryServices, [("100100ffff0028", two), ("100300ffff0028", "1106030003000a18")])
        == .success(
          .incomplete(
            .services([
              DiscoveredService(handles: 1...1, uuid: "1800"), DiscoveredService(handles: 2...2, uuid: "1801"),
            ]), [DiscoveryFault(handles: 3 ... .last, error: .tooManyResults(limit: 2))])))
  }

  /// With any responses, an operation ends after a limited number of requests.
  @Test func endsEveryOperationAfterRandomResponses() throws {
    var source = SplitMix64(seed: 1)
    let kinds: [GATTClient.Operation.Kind] = [
      Self.services, Self.byUUID, Self.included, Self.characteristics, Self.descriptors, Self.values, .readLong(3),
      .writeLong(3, offset: 0, Array(repeating: 1, count: 100)), .reliableWrite([.init(handle: 3, value: [1, 2, 3])]),
      .readMultiple([1, 2]), .readMultipleVariable([1, 2]), .configure(.notify, in: 4...9), .subscribeToServiceChanged,
      .exchangeMTU(100), .write(3, [1]),
    ]
    for kind in kinds {
      for _ in 0..<200 {
        var talk = ClientConversation()
        talk.perform(kind)
        var rounds = 0
        while let request = talk.sent().first, rounds < 5000 {
          rounds += 1
          let opcode = try #require(UInt8(request.prefix(2), radix: 16))
          var answer = [opcode + 1]
          for _ in 0..<Int.random(in: 0...22, using: &source) { answer.append(.random(in: 0...9, using: &source)) }
          talk.client.receive(answer.span, now: .start, into: &talk.output)
        }
        #expect(rounds < 5000)
        let ends = talk.events().count { if case .finished = $0 { true } else { false } }
        #expect(ends == 1)
      }
    }
  }
}
