import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// Notifications, indications and subscriptions, from Vol 3, Part F, 3.4.7 and Part G, 3.3.3.3, 4.10 and 4.11.
@Suite("Updates (GATT/SR/GAN, GAI)")
struct ServerUpdateTests {
  @Test func keepsAConfigurationForEachClient() throws {
    var server = try TestServer()
    let descriptor = server.descriptor(.both)
    #expect(server.request(ATTPDU.readRequest(.init(handle: descriptor))) == ATTPDU.readResponse(.init(value: [0, 0])))
    #expect(server.subscribe(.both, 3) == ATTPDU.writeResponse(.init()))
    #expect(server.takeEvents() == [.subscription(.both, [.notify, .indicate])])
    #expect(server.request(ATTPDU.readRequest(.init(handle: descriptor))) == ATTPDU.readResponse(.init(value: [3, 0])))
    #expect(server.bearer.subscriptions(database: server.database) == [.both: [.notify, .indicate]])
    var other = TestServer(server.database)
    #expect(other.request(ATTPDU.readRequest(.init(handle: descriptor))) == ATTPDU.readResponse(.init(value: [0, 0])))
    #expect(other.notify(.both, [1]).0 == .notSubscribed)
    // The same value is not reported again; 0 ends the subscription.
    _ = server.subscribe(.both, 3)
    #expect(server.takeEvents() == [])
    _ = server.subscribe(.both, 0)
    #expect(server.takeEvents() == [.subscription(.both, [])])
    #expect(server.bearer.subscription(to: .both, database: server.database) == [])
  }

  @Test func rejectsInvalidConfigurations() throws {
    var server = try TestServer()
    func write(_ attribute: AttributeID, _ value: Bytes) -> ATTPDU? {
      server.request(ATTPDU.writeRequest(.init(handle: server.descriptor(attribute), value: value)))
    }
    for value in [[], [1], [1, 0, 0], [0, 0, 0, 0]] as [Bytes] {
      #expect(
        write(.both, value) == .refusal(.writeRequest, server.descriptor(.both), .invalidAttributeValueLength))
    }
    // A bit that the properties do not have.
    #expect(
      write(.indicated, [1, 0])
        == .refusal(
          .writeRequest, server.descriptor(.indicated), .clientCharacteristicConfigurationImproperlyConfigured))
    // Bits that are reserved for future use are ignored.
    #expect(write(.indicated, [0xFE, 0xFF]) == ATTPDU.writeResponse(.init()))
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.descriptor(.indicated))))
        == ATTPDU.readResponse(.init(value: [2, 0])))
    // A characteristic whose updates require encryption requires it for subscriptions too.
    #expect(
      write(.guarded, [1, 0]) == .refusal(.writeRequest, server.descriptor(.guarded), .insufficientAuthentication))
    server.security = .justWorks
    #expect(write(.guarded, [1, 0]) == ATTPDU.writeResponse(.init()))
    #expect(server.notify(.guarded, [1]).0 == .sent)
    server.security = SecurityState(isBonded: true)
    #expect(server.notify(.guarded, [1]).0 == .insufficientSecurity)
  }

  @Test func notification_GAN_BV_01() throws {
    var server = try TestServer()
    #expect(server.notify(.both, [1]) == (.notSubscribed, []))
    #expect(server.notify(.short, [1]) == (.notSubscribed, []))
    #expect(server.notify(.unknown, [1]) == (.unknownAttribute, []))
    _ = server.subscribe(.both, 1)
    let handle = server.handle(.both).encoded
    #expect(server.notify(.both, []) == (.sent, [[0x1B] + handle]))
    #expect(server.bearer.maximumUpdateLength == 20)
    #expect(server.notify(.both, Array(0..<100)) == (.sent, [[0x1B] + handle + Array(0..<20)]))
    server.bearer.mtu = 517
    #expect(server.bearer.maximumUpdateLength == 512)
    // Both configured: a notification.
    _ = server.subscribe(.both, 3)
    #expect(server.notify(.both, [5]) == (.sent, [[0x1B] + handle + [5]]))
    #expect(server.bearer.deadline == nil)
  }

  @Test func indication_GAI_BV_01() throws {
    var server = try TestServer()
    _ = server.subscribe(.indicated, 2)
    _ = server.subscribe(.both, 2)
    _ = server.takeEvents()
    let handle = server.handle(.indicated).encoded
    #expect(server.notify(.indicated, Array(0..<30)) == (.sent, [[0x1D] + handle + Array(0..<20)]))
    #expect(server.bearer.deadline == .start + .seconds(30))
    // The next ones wait for the confirmation; requests do not.
    #expect(server.notify(.both, [2]) == (.sent, []))
    #expect(server.notify(.indicated, [3]) == (.sent, []))
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.both))))
        == ATTPDU.readResponse(.init(value: [1, 2, 3])))
    #expect(server.send(hex: "1E") == [[0x1D] + server.handle(.both).encoded + [2]].map(\.hexadecimal))
    #expect(server.takeEvents() == [.indicationConfirmed(.indicated)])
    #expect(server.send([0x1E]) == [[0x1D] + handle + [3]])
    #expect(server.send([0x1E]) == [])
    #expect(server.takeEvents() == [.indicationConfirmed(.both), .indicationConfirmed(.indicated)])
    #expect(server.bearer.deadline == nil)
    #expect(server.send([0x1E]) == [])
    #expect(server.takeEvents() == [.violation(.unexpectedConfirmation)])
    // The server still responds.
    #expect(server.notify(.indicated, [4]).0 == .sent)
  }

  @Test func limitsTheQueueOfIndications() throws {
    var server = try TestServer(limits: GATTServer.Limits(maximumQueuedIndications: 2))
    _ = server.subscribe(.indicated, 2)
    for outcome in [GATTServer.UpdateResult.sent, .sent, .sent, .queueFull, .queueFull] {
      #expect(server.notify(.indicated, [1]).0 == outcome)
    }
    #expect(server.send([0x1E]).count == 1)
    #expect(server.notify(.indicated, [1]).0 == .sent)
    #expect(server.notify(.indicated, [1]).0 == .queueFull)
  }

  /// A value never overtakes an earlier one of its characteristic that waits for a confirmation.
  @Test(arguments: [1, 3] as [UInt8]) func notificationsFollowTheIndicationsThatWait(configuration: UInt8) throws {
    var server = try TestServer()
    _ = server.subscribe(.both, 2)
    for value in 1...3 as ClosedRange<UInt8> { _ = server.notify(.both, [value]) }
    _ = server.subscribe(.both, configuration)
    _ = server.takeEvents()
    let handle = server.handle(.both).encoded
    #expect(server.notify(.both, [4]) == (.sent, []))
    #expect(server.send([0x1E]) == ([2, 3, 4] as [UInt8]).map { [0x1B] + handle + [$0] })
    #expect(server.takeEvents() == Array(repeating: .indicationConfirmed(.both), count: 4))
    #expect(server.notify(.both, [5]) == (.sent, [[0x1B] + handle + [5]]))
  }

  @Test func discardsIndicationsWithTheSubscription() throws {
    var server = try TestServer()
    _ = server.subscribe(.indicated, 2)
    _ = server.subscribe(.both, 2)
    _ = server.notify(.indicated, [1])
    _ = server.notify(.indicated, [2])
    _ = server.notify(.both, [3])
    _ = server.takeEvents()
    _ = server.subscribe(.indicated, 0)
    #expect(server.takeEvents() == [.indicationDiscarded(.indicated), .subscription(.indicated, [])])
    #expect(server.send([0x1E]) == [[0x1D] + server.handle(.both).encoded + [3]])
    _ = server.notify(.both, [4])
    let range = try server.database.remove(ServiceID(rawValue: 1))
    #expect(server.serviceChanged(range) == [])
    #expect(server.send([0x1E]) == [])
    #expect(server.bearer.deadline == nil)
  }

  @Test func failsWithoutAConfirmation() throws {
    var server = try TestServer()
    _ = server.subscribe(.indicated, 2)
    _ = server.takeEvents()
    _ = server.notify(.indicated, [1])
    _ = server.notify(.indicated, [2])
    #expect(server.letTimePass() == [])
    #expect(server.now == .start + .seconds(30))
    #expect(server.takeEvents() == [.indicationTimedOut(.indicated)])
    #expect(server.bearer.hasFailed && server.bearer.deadline == nil)
    // The server sends nothing more (Vol 3, Part F, 3.3.3).
    #expect(server.notify(.indicated, [1]) == (.bearerFailed, []))
    #expect(server.send(hex: "0A 0300") == [])
    #expect(server.send([0x1E]) == [])
  }

  @Test func handlesAConfirmationDuringARequest() throws {
    var server = try TestServer()
    _ = server.subscribe(.indicated, 2)
    _ = server.notify(.indicated, [1])
    _ = server.takeEvents()
    #expect(server.request(ATTPDU.readRequest(.init(handle: server.handle(.dynamic)))) == nil)
    let token = try server.takeToken()
    #expect(server.send([0x1E]) == [])
    #expect(server.takeEvents() == [.indicationConfirmed(.indicated)])
    #expect(server.respond(token, .value([1])) == [[0x0B, 1]])
  }

  @Test func sendsSeveralValuesInOnePDU() throws {
    var server = try TestServer(hash: true)
    server.security = .justWorks
    _ = server.subscribe(.both, 1)
    _ = server.subscribe(.guarded, 1)
    var output = GATTServer.Output()
    func notify(_ values: [(AttributeID, Bytes)]) -> Bool {
      server.bearer.sendMultipleNotification(
        of: values.map { (attribute: $0.0, value: $0.1) }, security: server.security, database: server.database,
        into: &output)
    }
    let values: [(AttributeID, Bytes)] = [(.both, [1]), (.guarded, [2, 3])]
    // Only for a client with the feature.
    #expect(!notify(values))
    #expect(server.request(ATTPDU.writeRequest(.init(handle: 0x000B, value: [0x04]))) == ATTPDU.writeResponse(.init()))
    #expect(notify(values))
    let expected = MultipleHandleValueNotification(tuples: [
      .init(handle: server.handle(.both), value: [1]), .init(handle: server.handle(.guarded), value: [2, 3]),
    ])
    #expect(Array(output.pdus[0]) == expected.encodedPDU)
    #expect(!notify([(.both, [1])]))
    #expect(!notify([(.both, [1]), (.indicated, [1])]))
    #expect(!notify([(.both, [1]), (.guarded, Bytes(repeating: 0, count: 14))]))
    #expect(notify([(.both, [1]), (.guarded, Bytes(repeating: 0, count: 13))]))
    #expect(output.pdus[1].count == 23)
  }
}

/// Changes of the database during a link (Vol 3, Part G, 2.5.2, 7.1 to 7.3).
@Suite("Service Changed and robust caching (GATT/SR/GAS)")
struct ServiceChangedTests {
  static let serviceChanged = AttributeHandle(0x0008)
  static let features = AttributeHandle(0x000B)
  static let hash = AttributeHandle(0x000D)
  let range = AttributeHandle(0x0020)...0x0025

  @Test func indicatesServiceChangedToSubscribers_GAS_BV_01() throws {
    var server = try TestServer()
    #expect(server.serviceChanged(range) == [])
    #expect(server.send(hex: "12 0900 0200") == ["13"])
    // A subscription to Service Changed is not reported to the application.
    #expect(server.takeEvents() == [])
    #expect(server.bearer.subscriptions(database: server.database) == [:])
    #expect(server.serviceChanged(range) == [[0x1D, 0x08, 0, 0x20, 0, 0x25, 0]])
    // Changes before the confirmation are indicated together.
    #expect(server.serviceChanged(0x0030...0x0031) == [])
    #expect(server.serviceChanged(0x0010...0x0011) == [])
    #expect(server.send([0x1E]) == [[0x1D, 0x08, 0, 0x10, 0, 0x31, 0]])
    #expect(server.send([0x1E]) == [])
    #expect(server.takeEvents() == [])
  }

  @Test func findsAServiceThatIsAddedDuringTheLink() throws {
    var server = try TestServer()
    _ = server.send(hex: "12 0900 0200")
    let added = try server.database.add(
      ServiceDefinition(
        id: ServiceID(rawValue: 2), uuid: "180F",
        characteristics: [
          CharacteristicDefinition(
            id: AttributeID(rawValue: 100), uuid: "2A19", properties: [.read, .notify], permissions: .readable,
            value: .stored([0x64], length: 1...1))
        ]))
    #expect(server.serviceChanged(added.range) == [[0x1D, 0x08, 0, 0x25, 0, 0x28, 0]])
    #expect(server.send(hex: "06 0100 FFFF 0028 0F18") == ["0725002800"])
    #expect(server.subscribe(AttributeID(rawValue: 100), 1) == ATTPDU.writeResponse(.init()))
    #expect(server.notify(AttributeID(rawValue: 100), [1]).0 == .sent)
    try server.database.remove(ServiceID(rawValue: 2))
    _ = server.serviceChanged(added.range)
    #expect(server.bearer.configurations.map(\.descriptor) == [0x0009])
    #expect(server.notify(AttributeID(rawValue: 100), [1]).0 == .unknownAttribute)
    #expect(server.send(hex: "0A 2700") == ["010a270001"])
  }

  @Test func setsClientSupportedFeatures() throws {
    var server = try TestServer(hash: true)
    #expect(server.request(ATTPDU.readRequest(.init(handle: Self.features))) == ATTPDU.readResponse(.init(value: [0])))
    #expect(
      server.request(ATTPDU.writeRequest(.init(handle: Self.features, value: [1]))) == ATTPDU.writeResponse(.init()))
    #expect(server.request(ATTPDU.readRequest(.init(handle: Self.features))) == ATTPDU.readResponse(.init(value: [1])))
    // A bit cannot be cleared.
    #expect(
      server.request(ATTPDU.writeRequest(.init(handle: Self.features, value: [4])))
        == .refusal(.writeRequest, Self.features, .valueNotAllowed))
    #expect(
      server.request(ATTPDU.writeRequest(.init(handle: Self.features, value: [5]))) == ATTPDU.writeResponse(.init()))
    #expect(
      server.request(ATTPDU.writeRequest(.init(handle: Self.features, value: [])))
        == .refusal(.writeRequest, Self.features, .invalidAttributeValueLength))
    #expect(server.bearer.supportedFeatures == [.robustCaching, .multipleHandleValueNotifications])
  }

  func changedServer(features: UInt8 = 1) throws -> TestServer {
    var server = try TestServer(hash: true)
    if features != 0 { _ = server.request(ATTPDU.writeRequest(.init(handle: Self.features, value: [features]))) }
    try server.database.add(ServiceDefinition(id: ServiceID(rawValue: 2), uuid: "180F"))
    return server
  }

  @Test func rejectsNothingWithoutRobustCaching() throws {
    var server = try changedServer(features: 0)
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.both))))
        == ATTPDU.readResponse(.init(value: [1, 2, 3])))
  }

  @Test func rejectsOneRequestOfAnUnawareClient_GAS_BV_04() throws {
    var server = try changedServer()
    let handle = server.handle(.short)
    #expect(!server.bearer.isChangeAware(database: server.database))
    // Commands are ignored, discovery succeeds, the first request with a handle is rejected, the next one is not.
    #expect(server.send(ATTPDU.writeCommand(.init(handle: handle, value: [1])).encoded) == [])
    #expect(server.send(hex: "06 0100 FFFF 0028 0118").first?.hasPrefix("07") == true)
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: handle))) == .refusal(.readRequest, handle, .databaseOutOfSync))
    #expect(server.send(ATTPDU.writeCommand(.init(handle: handle, value: [1])).encoded) == [])
    #expect(server.database.storedValue(of: .short) == Array("hello".utf8))
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: handle)))
        == ATTPDU.readResponse(.init(value: Bytes("hello".utf8))))
    #expect(server.bearer.isChangeAware(database: server.database))
    try server.database.remove(ServiceID(rawValue: 2))
    let prepare = PrepareWriteRequest(handle: handle, valueOffset: 0, partAttributeValue: [1])
    #expect(
      server.request(.prepareWriteRequest(prepare)) == .refusal(.prepareWriteRequest, handle, .databaseOutOfSync))
  }

  @Test func becomesAwareByReadingTheHash_GAS_BV_05() throws {
    var server = try changedServer()
    let before = server.database.databaseHash()
    guard
      let read = server.request(
        ATTPDU.readByTypeRequest(.init(startingHandle: .first, endingHandle: .last, attributeType: "2B2A")))?.packet
        as? ReadByTypeResponse
    else { return #expect(Bool(false), "no hash") }
    #expect(read.attributeDataList.map { Array($0.value) } == [before])
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.both))))
        == ATTPDU.readResponse(.init(value: [1, 2, 3])))
  }

  @Test func becomesAwareByConfirmingServiceChanged_GAS_BV_06() throws {
    var server = try TestServer(hash: true)
    _ = server.request(ATTPDU.writeRequest(.init(handle: Self.features, value: [1])))
    _ = server.send(hex: "12 0900 0200")
    let added = try server.database.add(ServiceDefinition(id: ServiceID(rawValue: 2), uuid: "180F"))
    #expect(server.serviceChanged(added.range).count == 1)
    #expect(!server.bearer.isChangeAware(database: server.database))
    #expect(server.send([0x1E]) == [])
    #expect(server.bearer.isChangeAware(database: server.database))
    #expect(
      server.request(ATTPDU.readRequest(.init(handle: server.handle(.both))))
        == ATTPDU.readResponse(.init(value: [1, 2, 3])))
  }

  /// A client that disconnected without a confirmation gets the indication again, with and without robust caching.
  @Test(arguments: [false, true])
  func indicatesAnUnconfirmedChangeAgain(timesOut: Bool) throws {
    var server = try TestServer(hash: true)
    _ = server.send(hex: "12 0900 0200")
    let added = try server.database.add(ServiceDefinition(id: ServiceID(rawValue: 2), uuid: "180F"))
    #expect(server.serviceChanged(added.range).count == 1)
    if timesOut {
      _ = server.letTimePass()
      #expect(server.takeEvents() == [.indicationTimedOut(nil)])
    }
    let record = server.bearer.record(database: server.database)
    #expect(record.databaseHash == [])
    var again = TestServer(server.database)
    #expect(again.restore(record) == [[0x1D, 0x08, 0, 0x01, 0, 0xFF, 0xFF]])
    #expect(again.send([0x1E]) == [])
    #expect(again.bearer.record(database: again.database).databaseHash == again.database.databaseHash())
  }

  @Test func restoresTheConfigurationOfABondedClient() throws {
    var server = try TestServer(hash: true)
    _ = server.send(hex: "12 0900 0200")
    _ = server.subscribe(.both, 1)
    _ = server.request(ATTPDU.writeRequest(.init(handle: Self.features, value: [1])))
    let record = server.bearer.record(database: server.database)
    #expect(record.configurations.count == 2)
    #expect(record.databaseHash.count == 16)

    var same = TestServer(server.database)
    #expect(same.restore(record) == [])
    #expect(same.bearer.isChangeAware(database: same.database))
    #expect(same.notify(.both, [1]).0 == .sent)
    #expect(same.bearer.record(database: same.database) == record)

    var changed = TestServer(server.database)
    try changed.database.add(ServiceDefinition(id: ServiceID(rawValue: 2), uuid: "180F"))
    #expect(changed.restore(record) == [[0x1D, 0x08, 0, 0x01, 0, 0xFF, 0xFF]])
    #expect(!changed.bearer.isChangeAware(database: changed.database))
    // No indication has been sent: the record has no hash.
    #expect(changed.bearer.record(database: changed.database).databaseHash == [])

    var gone = TestServer(server.database)
    try gone.database.remove(ServiceID(rawValue: 1))
    _ = gone.restore(record)
    #expect(gone.bearer.configurations.map(\.descriptor) == [0x0009])
  }
}
