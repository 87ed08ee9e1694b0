import BLEATT
import BLEGATT
import BLEWire
import Testing

/// Attribute caching by a client of a bonded server (Vol 3, Part G, 2.5.2).
@Suite("The attribute cache of a client")
struct AttributeCacheTests {
  static let hash = "000102030405060708090a0b0c0d0e0f"
  static let otherHash = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
  static let readHash = "080100ffff2a2b"
  static let readFeatures = "080100ffff292b"
  static let services = [("100100ffff0028", "1106010004000018"), ("100500ffff0028", "011005000a")]
  static let found = GATTClient.Outcome.services([DiscoveredService(handles: 1...4, uuid: "1800")])

  /// Finds Service Changed, value handle 7, and subscribes to it.
  static let subscription = [
    ("060100ffff00280118", "0705000a00"), ("060b00ffff00280118", "01060b000a"),
    ("0805000a000328", "0907060020070005" + "2a"), ("0807000a000328", "010807000a"),
    ("0408000a00", "0501080002" + "29"), ("1208000200", "13"),
  ]

  /// A first link: the client reads the hash, asks for Robust Caching and discovers the services.
  private func discovered() throws -> ClientConversation {
    var talk = ClientConversation()
    talk.client.startCaching(nil)
    let exchange = [
      (Self.readHash, "09120f00" + Self.hash), (Self.readFeatures, "09030d0000"), ("120d0001", "13"),
    ]
    #expect(try talk.run(.discoverPrimaryServices, exchange + Self.services) == .success(Self.found))
    return talk
  }

  private func connectedAgain() throws -> ClientConversation {
    let cache = try #require(try discovered().client.attributeCache)
    var talk = ClientConversation()
    talk.client.startCaching(cache)
    return talk
  }

  @Test func readsTheHashBeforeTheFirstDiscovery() throws {
    var talk = try discovered()
    let cache = try #require(talk.client.attributeCache)
    #expect(cache.hash == [UInt8](hexadecimal: Self.hash))
    #expect(cache.hasRobustCaching)
    #expect(cache.count == 2)
    #expect(try talk.run(.discoverPrimaryServices, []) == .success(Self.found), "it is known on the same link")
  }

  @Test func discoversNothingAgainWithTheSameHash() throws {
    var talk = try connectedAgain()
    #expect(
      try talk.run(.discoverPrimaryServices, [(Self.readHash, "09120f00" + Self.hash)]) == .success(Self.found))
    #expect(try talk.run(.discoverPrimaryServices, []) == .success(Self.found))
  }

  @Test func discoversAgainWithAnotherHash() throws {
    var talk = try connectedAgain()
    let exchange = [
      (Self.readHash, "09120f00" + Self.otherHash), (Self.readFeatures, "09030d0001"), ("120d0001", "13"),
      ("100100ffff0028", "1106010008000018"), ("100900ffff0028", "011009000a"),
    ]
    let services = [DiscoveredService(handles: 1...8, uuid: "1800")]
    #expect(try talk.run(.discoverPrimaryServices, exchange) == .success(.services(services)))
    #expect(talk.client.attributeCache?.hash == [UInt8](hexadecimal: Self.otherHash))
  }

  @Test func cachesNothingOfAServerWithoutAHash() throws {
    var talk = ClientConversation()
    talk.client.startCaching(nil)
    let exchange = [(Self.readHash, "010801000a")] + Self.services
    #expect(try talk.run(.discoverPrimaryServices, exchange) == .success(Self.found))
    #expect(talk.client.attributeCache == nil)
    #expect(try talk.run(.discoverPrimaryServices, Self.services) == .success(Self.found), "asked again")
  }

  /// A value of another length is no hash, and two are none either.
  @Test(arguments: ["09040f000102", "09120f0000"])
  func cachesNothingUnderAMalformedHash(_ response: String) throws {
    var talk = ClientConversation()
    talk.client.startCaching(nil)
    #expect(
      try talk.run(.discoverPrimaryServices, [(Self.readHash, response)] + Self.services) == .success(Self.found))
    #expect(talk.client.attributeCache == nil)
  }

  @Test func needsNoRobustCaching() throws {
    var talk = ClientConversation()
    talk.client.startCaching(nil)
    let exchange = [(Self.readHash, "09120f00" + Self.hash), (Self.readFeatures, "010801000a")] + Self.services
    #expect(try talk.run(.discoverPrimaryServices, exchange) == .success(Self.found))
    #expect(talk.client.attributeCache?.hasRobustCaching == false)
    #expect(try talk.run(.discoverPrimaryServices, []) == .success(Self.found))
  }

  @Test func readsNoHashBeforeAValue() throws {
    var talk = try connectedAgain()
    #expect(try talk.run(.read(3), [("0a0300", "0b48")]) == .success(.value([0x48])))
  }

  /// Discover Primary Service by Service UUID after Discover All Primary Services.
  @Test func findsPartOfWhatIsKnown() throws {
    var talk = try discovered()
    #expect(try talk.run(.discoverPrimaryServicesByUUID("1800"), []) == .success(Self.found))
    #expect(try talk.run(.discoverPrimaryServicesByUUID("180D"), []) == .success(.services([])))
  }

  /// The value handle of Service Changed is known from the first link, on which the client subscribed to it.
  @Test func forgetsTheDatabaseAfterServiceChanged() throws {
    var first = try discovered()
    #expect(try first.run(.subscribeToServiceChanged, Self.subscription) == .success(.done))
    var talk = ClientConversation()
    talk.client.startCaching(first.client.attributeCache)
    try talk.receive("1d07000100ffff")
    #expect(talk.sent() == ["1e"])
    #expect(talk.events() == [.servicesChanged(1 ... .last)])
    let exchange = [
      (Self.readHash, "09120f00" + Self.otherHash), (Self.readFeatures, "09030d0001"), ("120d0001", "13"),
    ]
    #expect(try talk.run(.discoverPrimaryServices, exchange + Self.services) == .success(Self.found))
  }

  /// A server that keeps a subscription to Service Changed is written to once more on each link, without a search.
  @Test func subscribesToServiceChangedByKnownHandles() throws {
    var first = try discovered()
    #expect(try first.run(.subscribeToServiceChanged, Self.subscription) == .success(.done))
    var talk = ClientConversation()
    talk.client.startCaching(first.client.attributeCache)
    let exchange = [(Self.readHash, "09120f00" + Self.hash), ("1208000200", "13")]
    #expect(try talk.run(.subscribeToServiceChanged, exchange) == .success(.done))
  }

  /// Database Out Of Sync (Vol 3, Part G, 2.5.2.1): the operation ends with the error, and nothing that is known holds.
  @Test func forgetsTheDatabaseAfterDatabaseOutOfSync() throws {
    var talk = try discovered()
    talk.perform(.read(3))
    #expect(talk.sent() == ["0a0300"])
    try talk.receive("010a030012")
    #expect(
      talk.events() == [
        .finished(.init(rawValue: 2), .failure(.errorResponse(.databaseOutOfSync, request: .readRequest, handle: 3))),
        .servicesChanged(1 ... .last),
      ])
    let exchange = [
      (Self.readHash, "09120f00" + Self.otherHash), (Self.readFeatures, "09030d0001"), ("120d0001", "13"),
    ]
    #expect(try talk.run(.discoverPrimaryServices, exchange + Self.services) == .success(Self.found))
  }

  /// What a discovery finds that was under way when the database changed is not kept.
  @Test func keepsNothingOfADiscoveryDuringAChange() throws {
    var talk = try discovered()
    talk.client.stopCaching()
    talk.client.startCaching(AttributeCache(hash: Array(repeating: 7, count: 16)))
    talk.perform(.discoverCharacteristics(1...4))
    _ = talk.sent()
    try talk.receive("09120f0007070707070707070707070707070707")
    try talk.receive("010801000a")
    #expect(talk.sent() == [Self.readFeatures, "08010004000328"])
    talk.client.stopCaching()
    talk.client.startCaching(nil)
    try talk.receive("010801000a")
    #expect(talk.events() == [.finished(.init(rawValue: 2), .success(.characteristics([])))])
    #expect(talk.client.attributeCache == nil)
  }

  /// A server whose hash is of the database before a change: what is discovered afterwards is not kept under that hash.
  @Test func keepsNothingUnderAHashThatWasReadDuringAChange() throws {
    var first = try discovered()
    #expect(try first.run(.subscribeToServiceChanged, Self.subscription) == .success(.done))
    var talk = ClientConversation()
    talk.client.startCaching(first.client.attributeCache)
    talk.perform(.discoverPrimaryServices)
    #expect(talk.sent() == [Self.readHash])
    try talk.receive("1d07000100ffff")
    try talk.receive("1d07000100ffff")
    try talk.receive("09120f00" + Self.hash)
    #expect(talk.sent() == ["1e", "1e", "100100ffff0028"])
    for (_, response) in Self.services { try talk.receive(response) }
    #expect(talk.events().last == .finished(.init(rawValue: 1), .success(Self.found)))
    #expect(talk.client.attributeCache == nil)
    _ = talk.sent()
    // The next discovery reads the hash again, and is kept.
    let exchange = [
      (Self.readHash, "09120f00" + Self.otherHash), (Self.readFeatures, "09030d0001"), ("120d0001", "13"),
    ]
    #expect(try talk.run(.discoverPrimaryServices, exchange + Self.services) == .success(Self.found))
    #expect(talk.client.attributeCache?.hash == [UInt8](hexadecimal: Self.otherHash))
  }

  /// A server that sends Service Changed during each verification delays an operation by one verification.
  @Test func serviceChangedDuringEachVerificationKeepsNoOperationFromEnding() throws {
    var first = try discovered()
    #expect(try first.run(.subscribeToServiceChanged, Self.subscription) == .success(.done))
    var talk = ClientConversation()
    talk.client.startCaching(first.client.attributeCache)
    let answers = [
      Self.readHash: "09120f00" + Self.hash, Self.readFeatures: "09030d0000", "120d0001": "13",
      Self.services[0].0: Self.services[0].1, Self.services[1].0: Self.services[1].1,
    ]
    for operation in 1...50 as ClosedRange<UInt32> {
      talk.perform(.discoverPrimaryServices)
      var requests = 0
      while let request = talk.sent().last(where: { $0 != "1e" }), requests < 10 {
        requests += 1
        if request == Self.readHash { try talk.receive("1d07000100ffff") }
        try talk.receive(try #require(answers[request]))
      }
      #expect(requests <= 5)
      #expect(talk.events().last == .finished(.init(rawValue: operation), .success(Self.found)))
      #expect(talk.client.attributeCache == nil)
    }
  }

  /// Discoveries beyond ``GATTClient/Limits-swift.struct/cachedResults`` are not cached, whether they have results or
  /// not, and are repeated.
  @Test func keepsALimitedNumberOfResults() throws {
    var limits = GATTClient.Limits()
    limits.cachedResults = 2
    var talk = ClientConversation(limits: limits)
    talk.client.startCaching(AttributeCache(hash: try #require([UInt8](hexadecimal: Self.hash))))
    let verification = [(Self.readHash, "09120f00" + Self.hash), (Self.readFeatures, "010801000a")]
    #expect(try talk.run(.discoverPrimaryServices, verification + Self.services) == .success(Self.found))
    let descriptors = [("0404000400", "05010400022a")]
    for _ in 1...2 {
      #expect(
        try talk.run(.discoverDescriptors(4...4), descriptors)
          == .success(.descriptors([DiscoveredDescriptor(handle: 4, uuid: "2A02")])))
      // Without a result.
      #expect(
        try talk.run(.discoverDescriptors(3...3), [("0403000300", "010403000a")]) == .success(.descriptors([])))
    }
    #expect(talk.client.attributeCache?.count == 2)
  }

  @Test func doesNotLoseTheCacheWhenTheLinkEndsBeforeTheHashIsRead() throws {
    var talk = try connectedAgain()
    #expect(talk.client.attributeCache?.count == 2)
    talk.perform(.discoverPrimaryServices)
    #expect(talk.sent() == [Self.readHash])
    talk.client.linkEnded(into: &talk.output)
    #expect(talk.events() == [.finished(.init(rawValue: 1), .failure(.linkEnded))])
  }

  @Test func refusesAHashOfAnotherLength() {
    #expect(AttributeCache(hash: [1, 2, 3]) == nil)
    #expect(AttributeCache(hash: [], hasRobustCaching: true, serviceChanged: nil, discoveries: [:]) == nil)
  }

  @Test func leavesOutStoredOutcomesOfAnotherProcedure() throws {
    let cache = try #require(
      AttributeCache(
        hash: Array(repeating: 1, count: 16), hasRobustCaching: false, serviceChanged: nil,
        discoveries: [.discoverPrimaryServices: .characteristics([]), .read(3): .value([1])]))
    #expect(cache.discoveries.isEmpty)
  }
}
