import BLEATT
import BLEGATT
import BLEWire
import Testing

/// No handle in the range of Service Changed is used before it was discovered again (Vol 3, Part G, 2.5.2 and 7.1).
@Suite("A GATT client whose server changes") struct ClientServiceChangedTests {
  private static let id = GATTClient.OperationID.init(rawValue:)

  /// A client that has subscribed to Service Changed, whose value has the handle 0x0003.
  private func subscribed() throws -> ClientConversation {
    var talk = ClientConversation()
    _ = try talk.run(
      .discoverCharacteristics(1...4),
      [("08010004000328", "0907" + "020020" + "0300" + "052a"), ("08030004000328", "010803000a")])
    return talk
  }

  private let change = "1d0300" + "1000" + "1f00"
  private let changed = GATTClient.Event.servicesChanged(0x10...0x1F)

  @Test(arguments: [
    GATTClient.Operation.Kind.read(0x10), .readLong(0x1F), .write(0x11, [1]), .writeLong(0x11, offset: 0, [1]),
    .writeWithoutResponse(0x11, [1]), .signedWrite(0x11, [1]), .readMultiple([1, 0x10]),
    .readMultipleVariable([0x10, 0x40]), .reliableWrite([.init(handle: 0x12, value: [1])]),
    .configure(.notify, in: 0x12...0x13), .configure(.notify, in: 0x20...0x21),
  ])
  func attributesThatHaveChangedAreNotUsed(kind: GATTClient.Operation.Kind) throws {
    var talk = try subscribed()
    try talk.receive(change)
    #expect(talk.sent() == ["1e"])
    #expect(talk.events() == [changed])
    talk.perform(kind)
    #expect(talk.sent() == [])
    #expect(talk.events() == [.finished(.init(rawValue: 2), .failure(.servicesChanged))])
    // Others are.
    #expect(try talk.run(.read(0x20), [("0a2000", "0b07")]) == .success(.value([7])))
  }

  /// What waits when the change comes was requested for the attribute that was there before.
  @Test func operationsThatWaitEnd() throws {
    var talk = try subscribed()
    talk.perform(.read(0x20))
    for kind: GATTClient.Operation.Kind in [
      .read(0x10), .discoverDescriptors(0x12...0x14), .discoverPrimaryServices, .findIncludedServices(0x1F...0x30),
      .discoverCharacteristics(0x20...0x2F),
    ] { talk.perform(kind) }
    try talk.receive(change)
    #expect(
      talk.events() == [
        changed, .finished(.init(rawValue: 3), .failure(.servicesChanged)),
        .finished(.init(rawValue: 4), .failure(.servicesChanged)),
        .finished(.init(rawValue: 6), .failure(.servicesChanged)),
      ])
    try talk.receive("0b07")
    #expect(talk.events() == [.finished(.init(rawValue: 2), .success(.value([7])))])
    #expect(talk.sent() == ["0a2000", "1e", "100100ffff0028"], "the others go on")
  }

  /// The value may be that of the attribute before or of the one after the change.
  @Test func theResponseToARequestInFlightDoesNotCount() throws {
    var talk = try subscribed()
    talk.perform(.read(0x10))
    try talk.receive(change)
    try talk.receive("0b07")
    #expect(talk.events() == [changed, .finished(.init(rawValue: 2), .failure(.servicesChanged))])
    talk.perform(.write(0x20, [1]))
    try talk.receive(change)
    try talk.receive("13")
    #expect(talk.events() == [changed, .finished(.init(rawValue: 3), .success(.done))], "it has not changed")
  }

  @Test func valuesAreReportedWhenTheirCharacteristicsWereDiscoveredAgain() throws {
    var talk = try subscribed()
    try talk.receive(change)
    try talk.receive("1b1200" + "19")
    try talk.receive("1d1200" + "19")
    try talk.receive("23" + "1200010019" + "2000010007")
    #expect(
      talk.events() == [
        changed, .violation(.servicesChanged), .violation(.servicesChanged), .violation(.servicesChanged),
        .notification(0x20, [7]),
      ])
    #expect(talk.sent() == ["1e", "1e"], "indications are confirmed")
    // Services alone do not say which value has the handle.
    _ = try talk.run(
      .discoverPrimaryServices, [("100100ffff0028", "1106" + "10001f000f18"), ("102000ffff0028", "011020000a")])
    try talk.receive("1b1200" + "19")
    #expect(talk.events() == [.violation(.servicesChanged)])
    _ = try talk.run(
      .discoverCharacteristics(0x10...0x1F),
      [("0810001f000328", "0907" + "1100101200192a"), ("0812001f000328", "010812000a")])
    try talk.receive("1b1200" + "19")
    #expect(talk.events() == [.notification(0x12, [0x19])])
    #expect(try talk.run(.read(0x12), [("0a1200", "0b19")]) == .success(.value([0x19])))
  }

  /// Service Changed keeps its handle, and can be sent again.
  @Test func aChangeOfAllAttributesIsFollowedByAnother() throws {
    var talk = try subscribed()
    try talk.receive("1d0300" + "0100" + "ffff")
    try talk.receive(change)
    #expect(talk.events() == [.servicesChanged(1 ... .last), changed])
  }

  @Test func aDiscoveryOfAllServicesBeginsAgain() throws {
    var talk = try subscribed()
    talk.perform(.discoverPrimaryServices)
    try talk.receive("1106" + "010004000118")
    try talk.receive(change)
    #expect(talk.sent() == ["100100ffff0028", "100500ffff0028", "1e"])
    try talk.receive("1106" + "10001f000f18")
    #expect(talk.sent() == ["100100ffff0028"])
    try talk.receive("1106" + "010004000118")
    try talk.receive("01100500" + "0a")
    #expect(
      talk.events() == [
        changed, .finished(.init(rawValue: 2), .success(.services([DiscoveredService(handles: 1...4, uuid: "1801")]))),
      ])
  }

  @Test func aDiscoveryThatNeverSettlesEnds() throws {
    var talk = try subscribed()
    talk.perform(.discoverPrimaryServices)
    for _ in 0..<GATTClient.Limits().restarts {
      try talk.receive(change)
      try talk.receive("1106" + "010004000118")
    }
    #expect(talk.events().allSatisfy { $0 == changed })
    _ = talk.sent()
    try talk.receive(change)
    try talk.receive("1106" + "010004000118")
    #expect(talk.events() == [changed, .finished(.init(rawValue: 2), .failure(.servicesChanged))])
    #expect(talk.sent() == ["1e"])
  }

  /// Database Out Of Sync says the same of all attributes (2.5.2.1).
  @Test func aDiscoveryOutOfSyncBeginsAgain() throws {
    var talk = ClientConversation()
    talk.perform(.discoverPrimaryServices)
    try talk.receive("01100100" + "12")
    #expect(talk.events() == [.servicesChanged(1 ... .last)])
    #expect(talk.sent() == ["100100ffff0028", "100100ffff0028"])
    try talk.receive("01100100" + "0a")
    #expect(talk.events() == [.finished(.init(rawValue: 1), .success(.services([])))])
  }

  @Test func theFaultsOfAnOperationAreLimited() throws {
    var talk = ClientConversation(mtu: 517)
    talk.perform(.discoverCharacteristics(1...0xFF))
    // Declarations without a UUID.
    var response = "0903"
    for handle in 1...(DiscoveryFault.limit + 1) { response += [UInt8(handle), 0, 2].hexadecimal }
    try talk.receive(response)
    try talk.receive("01080000" + "0a")
    guard case .finished(_, .success(let outcome)) = talk.events().first else {
      Issue.record("no outcome")
      return
    }
    #expect(outcome.faults.count == DiscoveryFault.limit)
  }
}
