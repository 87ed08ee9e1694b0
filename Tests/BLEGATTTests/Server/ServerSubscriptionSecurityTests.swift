import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// The requirements for subscriptions and updates (Vol 3, Part C, 10.3.1; Part G, 3.3.3.3).
@Suite("Security of subscriptions")
struct ServerSubscriptionSecurityTests {
  /// A characteristic whose reads require `read`, and whose updates require the same and an encrypted link.
  static func server(reads read: AccessRequirement?) throws -> TestServer {
    try server(reads: read, updates: AccessRequirement.encrypted.combined(with: read ?? .open))
  }

  static func server(reads read: AccessRequirement?, updates: AccessRequirement) throws -> TestServer {
    var database = AttributeDatabase(services: GenericServices(deviceName: "Lamp"))
    let characteristic = CharacteristicDefinition(
      id: .both, uuid: "FFF3", properties: [.read, .notify, .indicate],
      permissions: GATTAttributePermissions(read: read),
      updateRequirement: updates, value: .stored([1], length: 0...20))
    try database.add(
      ServiceDefinition(id: ServiceID(rawValue: 1), uuid: "FFF0", characteristics: [characteristic]))
    return TestServer(database)
  }

  static let authorized = AccessRequirement(security: .encrypted, authorization: true)
  static let longKey = AccessRequirement(security: .encrypted, minimumKeySize: 16)

  static let stranger = SecurityState.none
  static let bonded = SecurityState(isBonded: true)
  static let justWorks = SecurityState(level: .encrypted, keySize: 16, isBonded: true)
  static let shortKey = SecurityState(level: .encrypted, keySize: 7, isBonded: true)
  static let passkey = SecurityState(level: .authenticated, keySize: 16, isBonded: true)
  static let shortPasskey = SecurityState(level: .secureConnections, keySize: 15, isBonded: true)
  static let secure = SecurityState(level: .secureConnections, keySize: 16, isBonded: true)
  static let letIn = SecurityState(level: .encrypted, keySize: 16, isBonded: true, isAuthorized: true)

  /// A requirement for reads, the security of a link, and the error of a subscription; nil: it succeeds.
  static let table: [(read: AccessRequirement?, link: SecurityState, refusal: ATTErrorCode?)] = [
    (.open, stranger, .insufficientAuthentication), (.open, bonded, .insufficientEncryption), (.open, shortKey, nil),
    (nil, stranger, .insufficientAuthentication), (nil, shortKey, nil),
    (.encrypted, stranger, .insufficientAuthentication), (.encrypted, justWorks, nil),
    (longKey, shortKey, .insufficientEncryptionKeySize), (longKey, justWorks, nil),
    (.authenticated, stranger, .insufficientAuthentication), (.authenticated, bonded, .insufficientEncryption),
    (.authenticated, justWorks, .insufficientAuthentication), (.authenticated, passkey, nil),
    (.secureConnections, passkey, .insufficientAuthentication),
    (.secureConnections, shortPasskey, .insufficientEncryptionKeySize), (.secureConnections, secure, nil),
    (authorized, justWorks, .insufficientAuthorization), (authorized, letIn, nil),
    // Updates require encryption also where reads require authorization only.
    (AccessRequirement(authorization: true), stranger, .insufficientAuthentication),
    (AccessRequirement(authorization: true), justWorks, .insufficientAuthorization),
    (AccessRequirement(authorization: true), letIn, nil),
  ]

  @Test(arguments: [UInt8(1), 2]) func requiresSecurityForAWriteOfTheDescriptor(bits: UInt8) throws {
    for (read, link, refusal) in Self.table {
      var server = try Self.server(reads: read)
      server.security = link
      let descriptor = server.descriptor(.both)
      let answer = server.subscribe(.both, bits)
      let expected = refusal.map { ATTPDU.refusal(.writeRequest, descriptor, $0) }
      #expect(answer == expected ?? ATTPDU.writeResponse(.init()), "\(String(describing: read)) \(link)")
      // A client that may subscribe may also read.
      if read != nil, refusal == nil {
        #expect(
          server.request(ATTPDU.readRequest(.init(handle: server.handle(.both))))
            == ATTPDU.readResponse(.init(value: [1])))
      }
      #expect(server.bearer.subscriptions(database: server.database).isEmpty == (refusal != nil))
    }
  }

  @Test func requiresSecurityForPreparedWritesOfTheDescriptor() throws {
    for (read, link, refusal) in Self.table {
      var server = try Self.server(reads: read)
      server.security = link
      let descriptor = server.descriptor(.both)
      let part = PrepareWriteRequest(handle: descriptor, valueOffset: 0, partAttributeValue: [1, 0])
      #expect(
        server.request(.prepareWriteRequest(part))
          == refusal.map { .refusal(.prepareWriteRequest, descriptor, $0) }
          ?? ATTPDU.prepareWriteResponse(.init(handle: descriptor, valueOffset: 0, partAttributeValue: [1, 0])))
      // The link is no longer encrypted at the execution.
      server.security = .none
      let answer = server.request(ATTPDU.executeWriteRequest(.init(flags: .write)))
      let lost = ATTPDU.refusal(.executeWriteRequest, descriptor, .insufficientAuthentication)
      #expect(answer == (refusal == nil ? lost : ATTPDU.executeWriteResponse(.init())))
      #expect(server.bearer.subscriptions(database: server.database).isEmpty)
    }
  }

  @Test func requiresSecurityForUpdates() throws {
    for (read, link, refusal) in Self.table {
      var server = try Self.server(reads: read)
      // The configuration of a bonded client is restored before its link is encrypted.
      let record = ClientRecord(configurations: [.init(descriptor: server.descriptor(.both), value: .notify)])
      _ = server.restore(record)
      server.security = link
      #expect(server.notify(.both, [5]).0 == (refusal == nil ? .sent : .insufficientSecurity))
      var output = GATTServer.Output()
      server.bearer.supportedFeatures = .multipleHandleValueNotifications
      let isSent = server.bearer.sendMultipleNotification(
        of: [(.both, [1]), (.both, [2])], security: link, database: server.database, into: &output)
      #expect(isSent == (refusal == nil))
    }
  }

  @Test func activatesARestoredSubscriptionWithTheSecurity() throws {
    var server = try Self.server(reads: Self.authorized)
    let record = ClientRecord(configurations: [.init(descriptor: server.descriptor(.both), value: .indicate)])
    _ = server.restore(record)
    for (link, inForce) in [(Self.stranger, [:]), (Self.justWorks, [:]), (Self.letIn, [.both: .indicate])]
      as [(SecurityState, [AttributeID: Subscription])]
    {
      #expect(server.bearer.subscriptions(inForceFor: link, database: server.database) == inForce)
    }
    // The configuration is kept for the next link.
    #expect(server.bearer.subscriptions(database: server.database) == [.both: .indicate])
    #expect(server.bearer.record(database: server.database).configurations == record.configurations)
  }

  @Test func requiresSecurityForQueuedIndications() throws {
    var server = try Self.server(reads: Self.authorized)
    server.security = Self.letIn
    _ = server.subscribe(.both, 2)
    _ = server.notify(.both, [1])
    _ = server.notify(.both, [2])
    _ = server.takeEvents()
    server.security.isAuthorized = false
    #expect(server.send([0x1E]) == [])
    #expect(server.takeEvents() == [.indicationConfirmed(.both), .indicationDiscarded(.both)])
  }

  /// A protected value to which each client may subscribe is allowed; the log has a warning.
  @Test func allowsSubscriptionsWithoutARequirement() throws {
    var server = try Self.server(reads: .authenticated, updates: .open)
    #expect(server.subscribe(.both, 1) == ATTPDU.writeResponse(.init()))
    #expect(server.notify(.both, [5]).0 == .sent)
  }
}
