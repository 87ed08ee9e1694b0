import BLEATT
import BLECrypto
import BLEGATT
import BLESMP
import BLEWire
import Testing

@testable import BLEHost

/// The server of a link without a link: what comes in is octets, and the store and the owners are played by the test.
@Suite("Link server") struct LinkServerTests {
  private let owner = OwnerID(rawValue: 1)
  private let other = OwnerID(rawValue: 2)
  private let toolbox = SecurityToolbox(LibCrypto())
  private var services = ServiceRegistry(HostConfiguration(), LibCrypto())
  private var server = LinkServer(peer: LinkID(rawValue: 1), HostConfiguration())
  private var output = LinkServer.Output()
  private var handles: [AttributeID: AttributeHandle] = [:]
  private var now = Instant.start

  init() {
    var effects: [Effect<ServiceEffect>] = []
    services.add(Choices.service(1), for: owner, into: &effects)
    for case .event(.services(.added(_, .success(let added))), _) in effects { handles = added.attributes }
  }

  private func handle(_ number: UInt32, after: UInt16 = 0) -> [UInt8] {
    let handle = (handles[AttributeID(rawValue: 10 + number)]?.rawValue ?? 0) + after
    return [UInt8(handle & 0xFF), UInt8(handle >> 8)]
  }

  private mutating func receive(_ pdu: [UInt8]) -> [[UInt8]] {
    server.receive(pdu.span, .none, &services, now: now, into: &output)
    return takePDUs()
  }

  private mutating func takePDUs() -> [[UInt8]] {
    var pdus: [[UInt8]] = []
    for index in 0..<output.gatt.pdus.count { pdus.append(Array(output.gatt.pdus[index])) }
    output.gatt.removeAll()
    return pdus
  }

  private mutating func takeEffects() -> [String] {
    defer { output.removeAll() }
    return output.effects.map { effect in
      switch effect {
      case .event(.server(_, .read(_, let attribute, _)), let recipient):
        "read \(attribute.rawValue) \(recipient == .owner(owner))"
      case .event(.server(_, .requestTimedOut), let recipient): "timed out \(recipient == .owner(owner))"
      case .event(.server(_, .subscription(let attribute, let subscription)), _):
        "subscription \(attribute.rawValue) \(subscription.rawValue)"
      case .event(.server(_, .stored(let attribute, let value)), _): "stored \(attribute.rawValue) \(value)"
      case .event(.server(_, .updateFinished(let token)), let recipient):
        "finished \(token.rawValue) \(recipient == .owner(owner))"
      case .event(.refused, let recipient): "refused \(recipient == .owner(owner))"
      case .event(.diagnostic, let recipient): "diagnostic \(recipient == .owner(other))"
      case .report: "report"
      case .own(let own): "\(own)"
      default: "other"
      }
    }
  }

  /// The token of the request that waits for its owner.
  private func token() throws -> RequestToken { try #require(server.awaits(owner)) }

  @Test mutating func aRequestWaitsForTheAnswerOfTheOwnerOfItsAttribute() throws {
    #expect(receive([0x0A] + handle(2)).isEmpty)
    #expect(takeEffects() == ["read 12 true"])
    let token = try token()
    #expect(server.awaits(other) == nil)
    server.respond(OwnerAnswer(other, .success([9]), to: token), Span(), .none, &services, now: now, into: &output)
    #expect(takePDUs().isEmpty && takeEffects() == ["diagnostic true"])
    server.respond(OwnerAnswer(owner, .success([9]), to: token), Span(), .none, &services, now: now, into: &output)
    #expect(takePDUs() == [[0x0B, 9]])
    #expect(server.awaits(owner) == nil)
  }

  /// The owner receives the events in order, and a provider would be ahead of them.
  @Test mutating func noProviderIsCalledWhileAnEffectWaits() throws {
    let value = AttributeID(rawValue: 90)
    var service = ServiceDefinition(
      id: ServiceID(rawValue: 9), uuid: "180F",
      characteristics: [
        CharacteristicDefinition(
          id: value, uuid: "2A19", properties: [.read], permissions: .readable, value: .dynamic)
      ])
    service.providers = [value: ValueProvider(read: { _, _ in .success([42]) })]
    let read = [0x0A] + littleEndian(try services.database.add(service).attributes[value]?.rawValue ?? 0)
    #expect(receive(read) == [[0x0B, 42]] && takeEffects().isEmpty)
    #expect(receive([0x12] + handle(1, after: 1) + [1, 0]) == [[0x13]])
    #expect(receive(read).isEmpty)
    #expect(takeEffects() == ["subscription 11 1", "recordChanged", "read 90 false"])
  }

  private func littleEndian(_ handle: UInt16) -> [UInt8] { [UInt8(handle & 0xFF), UInt8(handle >> 8)] }

  @Test mutating func aRequestThatItsOwnerDoesNotAnswerTimesOut() throws {
    _ = receive([0x0A] + handle(2))
    output.removeAll()
    now = try #require(server.deadline)
    server.tick(.none, &services, now: now, into: &output)
    #expect(takePDUs() == [[0x01, 0x0A] + handle(2) + [0x0E]])
    #expect(takeEffects() == ["timed out true"])
    #expect(server.deadline == nil)
  }

  @Test mutating func aNotificationIsOnItsWayUntilTheControllerHasSentIt() {
    #expect(receive([0x12] + handle(1, after: 1) + [1, 0]) == [[0x13]])
    #expect(takeEffects() == ["subscription 11 1", "recordChanged"])
    #expect(delivery(11) == .notification)
    let isTaken = server.beginNotification(update(7))
    #expect(isTaken)
    var events: [AddressedEvent<HostEvent>] = []
    server.notificationsSent(2, into: &events)
    server.notificationsSent(1, into: &events)
    #expect(events.count == 1)
  }

  @Test mutating func anIndicationIsOnItsWayUntilItIsConfirmed() throws {
    _ = receive([0x12] + handle(2, after: 1) + [2, 0])
    _ = takeEffects()
    #expect(delivery(12) == .indication(AttributeID(rawValue: 12)))
    try indicate([5], as: update(7))
    #expect(takePDUs() == [[0x1D] + handle(2) + [5]])
    #expect(takeEffects().isEmpty)
    #expect(receive([0x1E]).isEmpty)
    #expect(takeEffects() == ["finished 7 true"])
  }

  @Test mutating func valuesBeyondTheLimitOfALinkAreRefused() throws {
    _ = receive([0x12] + handle(2, after: 1) + [2, 0])
    _ = takeEffects()
    let limit = HostConfiguration().maximumPendingUpdates
    // One is sent, and its server queues as many as it is configured to.
    for number in 0..<UInt64(limit) { try indicate([5], as: update(number)) }
    let refused = takeEffects().count { $0 == "refused true" }
    try indicate([5], as: update(1_000))
    #expect(takeEffects() == ["refused true", "finished 1000 true"])
    #expect(refused == limit - 1 - GATTServer.Limits().maximumQueuedIndications)
  }

  private func update(_ token: UInt64) -> LinkUpdates.Entry {
    LinkUpdates.Entry(owner: owner, token: UpdateToken(rawValue: token))
  }

  private mutating func indicate(_ value: [UInt8], as update: LinkUpdates.Entry) throws {
    let attribute = AttributeID(rawValue: 12)
    let handle = try #require(services.database.handle(of: attribute))
    server.indicate(value.span, of: handle, attribute, as: update, now: now, into: &output)
  }

  private mutating func delivery(_ attribute: UInt32) -> GATTServer.UpdateDelivery? {
    services.database.handle(of: AttributeID(rawValue: attribute)).map { server.delivery(of: $0, .none, services) }
  }

  @Test mutating func aValueThatNobodySubscribedToCausesNothing() {
    #expect(delivery(11) == .nothing(.notSubscribed))
    #expect(delivery(99) == nil)
  }

  @Test mutating func theEndOfTheLinkEndsSubscriptionsAndWhatWasOnItsWay() {
    _ = receive([0x12] + handle(1, after: 1) + [1, 0])
    let isTaken = server.beginNotification(update(7))
    #expect(isTaken)
    output.removeAll()
    server.linkEnded(services, into: &output)
    #expect(takeEffects() == ["subscription 11 0", "finished 7 true"])
  }

  @Test mutating func anIndicationWithoutConfirmationEndsTheLink() throws {
    _ = receive([0x12] + handle(2, after: 1) + [2, 0])
    try indicate([5], as: update(7))
    output.removeAll()
    now = try #require(server.deadline)
    server.tick(.none, &services, now: now, into: &output)
    #expect(takeEffects() == ["report", "failed"])
  }
}

/// Signed writes of a client that wait for their counters to be stored.
extension LinkServerTests {
  private var bond: Bond {
    let strength = KeyStrength(size: 16, isAuthenticated: false, isSecureConnections: true)
    var bond = Bond(
      identity: DeviceAddress(octets: BD_ADDR(1), kind: .public), strength: strength)
    (bond.peerCSRK, bond.peerSignCounter) = (SecretKey(3), 5)
    return bond
  }

  private mutating func sign(_ value: [UInt8], _ counter: UInt32, _ security: SecurityState = .none) throws {
    let command = [0xD2] + handle(4) + value
    let signature = try toolbox.signature(of: command[...], csrk: 3, signCounter: counter)
    server.receiveSigned((command + signature).span, security, bond: bond, toolbox, now: now, into: &output)
  }

  private mutating func deliver(_ peerEnd: UInt32, isFailing: Bool = false) {
    server.deliver(
      SignCounters.StoreState(peerEnd: peerEnd, isFailing: isFailing), .none, &services, now: now, into: &output)
  }

  @Test mutating func aSignedWriteAndWhatFollowsWaitUntilItsCounterIsStored() throws {
    try sign([1], 5)
    #expect(takeEffects() == ["\(LinkEffect.counterUsed(5))"])
    #expect(receive([0x0A] + handle(1)).isEmpty)
    deliver(5)
    #expect(takePDUs().isEmpty && takeEffects().isEmpty)
    deliver(6)
    #expect(takePDUs() == [[0x0B, 1, 2, 3]])
    #expect(takeEffects() == ["stored 14 [1]"])
    #expect(server.deadline == nil)
  }

  @Test mutating func aSignedWriteIsDiscardedWhereTheStoreIsLate() throws {
    try sign([1], 5)
    output.removeAll()
    now = try #require(server.deadline)
    #expect(server.isStorageLate(now: now))
    deliver(5, isFailing: true)
    #expect(takeEffects() == ["report"])
    #expect(!server.isStorageLate(now: now))
  }

  @Test mutating func aReplayAWrongSignatureAndASignedWriteOnAnEncryptedLinkAreIgnored() throws {
    try sign([1], 4)
    #expect(takeEffects() == ["report"])
    server.receiveSigned(
      ([0xD2] + handle(4) + Array(repeating: 0, count: 12)).span, .none, bond: bond, toolbox, now: now, into: &output)
    #expect(takeEffects() == ["report"])
    var security = SecurityState.none
    security.level = .encrypted
    try sign([1], 5, security)
    #expect(takeEffects().isEmpty && server.deadline == nil)
  }

  @Test mutating func noMorePDUsAreKeptThanTheLimit() throws {
    try sign([1], 5)
    output.removeAll()
    for _ in 1..<SignedWriteQueue.limit { #expect(receive([0x52] + handle(1) + [7]).isEmpty) }
    #expect(takeEffects().isEmpty)
    _ = receive([0x52] + handle(1) + [7])
    #expect(takeEffects() == ["report"])
  }
}
