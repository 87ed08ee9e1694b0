import BLEATT
import BLEGATT
import BLEWire
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

  static let answers: [(GATTClient.Operation.Kind, [String])] = [
    (
      services,
      [
        "11",  // no Length
        "1100",  // Length 0, nothing behind it
        "110001000200",  // Length 0 with data: no endless list
        "110401000200",  // entries without a value
        "1103010002",  // entries shorter than their handles
        "110601000400001805",  // half an entry at the end
        "11080100040000180018",  // a UUID of 32 bits
        "1106000004000018",  // handle 0
        "1106050004000018",  // ends before it begins
        "1106050009000018010004000118",  // out of order
        "1106010009000018050014000118",  // overlapping
      ]
    ),
    (
      byUUID,
      [
        "07",
        "07010004",
        "0705000100",
        "070500090001000400",
      ]
    ),
    (
      characteristics,
      [
        "09",
        "0900",
        "09000000",
        "090105",
        "09020500",  // no declaration at all
        "090405000206",  // length does not fit
        "0906050002060000",  // a UUID of one octet
        "09070400020600002a",  // before the range
        "09072100022200002a",  // behind the range
        "09070500020500002a",  // its own value
        "09070500022100002a",  // the value behind the range
        "09070500020900002a0700020b00012a",  // declared within the one before
        "09070600020700002a0500020b00012a",  // backwards
      ]
    ),
    (
      descriptors,
      [
        "05",
        "0501",
        "05010500",
        "050305000229",  // no such format
        "050105000229050002",
        "05010500022905000129",  // the same handle again
        "050104000229",  // before the range
        "050121000229",  // behind it
      ]
    ),
    (
      included,
      [
        "090405002000",
        "09080500250020000018",  // ends before it begins
        "09080500000025000018",  // handle 0
        "09070500200025000f",
        "090a0500200025000f180000",
      ]
    ),
    (
      values,
      [
        "0903040001",
        "0902050005000500",
      ]
    ),
  ]

  @Test(arguments: answers.flatMap { kind, answers in answers.map { (kind, $0) } })
  func failsAfterAMalformedResponse(kind: GATTClient.Operation.Kind, hex: String) throws {
    var talk = ClientConversation()
    talk.perform(kind)
    _ = talk.sent()
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
        == .failure(.tooManyResults(limit: 2)))
  }

  /// With any responses, an operation ends after a limited number of requests.
  @Test func endsEveryOperationAfterRandomResponses() throws {
    var source = SystemRandomNumberGenerator()
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
