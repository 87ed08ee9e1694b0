import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// A prepared queue and changes of the database, the values and the link (Vol 3, Part F, 3.4.6.3, and Part G, 2.5.1).
@Suite("Prepared queues and changes")
struct ServerQueueChangeTests {
  static func service(
    _ number: UInt32, _ attribute: AttributeID, _ permissions: GATTAttributePermissions, _ value: ValueSource
  ) -> ServiceDefinition {
    ServiceDefinition(
      id: ServiceID(rawValue: number), uuid: BluetoothUUID(UInt16(0xFF00 + number)),
      characteristics: [
        CharacteristicDefinition(
          id: attribute, uuid: "FFF0", properties: [.read, .write], permissions: permissions, value: value)
      ])
  }

  static let asked = AttributeID(rawValue: 101)
  static let kept = AttributeID(rawValue: 102)
  static let successor = AttributeID(rawValue: 103)

  /// A dynamic value and a stored one of two services, in a database that has assigned every handle once.
  static func server(_ permissions: GATTAttributePermissions = .readableAndWritable) throws -> TestServer {
    var database = AttributeDatabase(services: GenericServices(deviceName: "Lamp"))
    try database.add(service(1, asked, .readableAndWritable, .dynamic))
    try database.add(service(2, kept, permissions, .stored([0, 1, 2], length: 0...512)))
    database.nextHandle = 0x10000
    return TestServer(database)
  }

  static func prepare(_ server: inout TestServer, _ handle: AttributeHandle, _ offset: UInt16, _ value: Bytes) {
    _ = server.request(
      ATTPDU.prepareWriteRequest(.init(handle: handle, valueOffset: offset, partAttributeValue: value)))
  }

  /// Assigns the handle of ``kept`` to another characteristic.
  static func replaceKept(in server: inout TestServer, by permissions: GATTAttributePermissions) throws {
    let handle = server.handle(kept)
    try server.database.remove(ServiceID(rawValue: 2))
    try server.database.add(service(3, successor, permissions, .stored([7], length: 1...1)))
    try #require(server.handle(successor) == handle)
  }

  @Test func rejectsAQueueWithAReassignedHandleAtTheAnswer() throws {
    for permissions in [GATTAttributePermissions.readable, .readableAndWritable] {
      var server = try Self.server()
      let handle = server.handle(Self.kept)
      Self.prepare(&server, server.handle(Self.asked), 0, [1])
      Self.prepare(&server, handle, 0, [6, 6, 6, 6, 6, 6])
      #expect(server.send(hex: "18 01") == [])
      try Self.replaceKept(in: &server, by: permissions)
      #expect(try server.answer(.success) == [[0x01, 0x18] + handle.encoded + [0x01]])
      #expect(server.database.storedValue(of: Self.successor) == [7])
      #expect(server.takeEvents() == [])
    }
  }

  @Test func rejectsAQueueWithAReassignedHandleAtTheExecution() throws {
    var server = try Self.server()
    let handle = server.handle(Self.kept)
    Self.prepare(&server, handle, 0, [6])
    try Self.replaceKept(in: &server, by: .readableAndWritable)
    #expect(
      server.request(ATTPDU.executeWriteRequest(.init(flags: .write)))
        == .refusal(.executeWriteRequest, handle, .invalidHandle))
    #expect(server.database.storedValue(of: Self.successor) == [7])
    // A write that is prepared now is for the new attribute.
    Self.prepare(&server, handle, 0, [8])
    #expect(server.request(ATTPDU.executeWriteRequest(.init(flags: .write))) == ATTPDU.executeWriteResponse(.init()))
    #expect(server.database.storedValue(of: Self.successor) == [8])
  }

  @Test func rejectsAQueueWithARemovedAttributeAtTheAnswer() throws {
    for gone in [UInt32(1), 2] {
      var server = try Self.server()
      let (asked, kept) = (server.handle(Self.asked), server.handle(Self.kept))
      Self.prepare(&server, asked, 0, [1])
      Self.prepare(&server, kept, 0, [6])
      #expect(server.send(hex: "18 01") == [])
      try server.database.remove(ServiceID(rawValue: gone))
      let fault = gone == 1 ? asked : kept
      #expect(try server.answer(.success) == [[0x01, 0x18] + fault.encoded + [0x01]])
      #expect(server.database.storedValue(of: Self.kept) == (gone == 1 ? [0, 1, 2] : nil))
    }
  }

  @Test func executesAQueueAfterAnUnrelatedChange() throws {
    var server = try Self.server()
    Self.prepare(&server, server.handle(Self.asked), 0, [1])
    Self.prepare(&server, server.handle(Self.kept), 0, [6])
    #expect(server.send(hex: "18 01") == [])
    try server.database.add(Self.service(3, Self.successor, .readable, .fixed([1])))
    #expect(try server.answer(.success) == [[0x19]])
    #expect(server.database.storedValue(of: Self.kept) == [6])
  }

  @Test func appliesPartsToTheValueAtTheAnswer() throws {
    var server = try Self.server()
    Self.prepare(&server, server.handle(Self.asked), 0, [1])
    Self.prepare(&server, server.handle(Self.kept), 1, [6])
    #expect(server.send(hex: "18 01") == [])
    try server.database.setStored(Self.kept, [9, 9, 9])
    #expect(try server.answer(.success) == [[0x19]])
    #expect(server.database.storedValue(of: Self.kept) == [9, 6, 9])
  }

  @Test func checksOffsetsAgainAtTheAnswer() throws {
    var server = try Self.server()
    let handle = server.handle(Self.kept)
    Self.prepare(&server, server.handle(Self.asked), 0, [1])
    Self.prepare(&server, handle, 2, [6])
    #expect(server.send(hex: "18 01") == [])
    try server.database.setStored(Self.kept, [9])
    #expect(try server.answer(.success) == [[0x01, 0x18] + handle.encoded + [0x07]])
    #expect(server.database.storedValue(of: Self.kept) == [9])
  }

  @Test func checksTheSecurityOfTheLinkAgainAtTheAnswer() throws {
    let authorized = AccessRequirement(security: .encrypted, authorization: true)
    var server = try Self.server(GATTAttributePermissions(read: .open, write: authorized))
    let handle = server.handle(Self.kept)
    server.security = .justWorks
    server.security.isAuthorized = true
    Self.prepare(&server, server.handle(Self.asked), 0, [1])
    Self.prepare(&server, handle, 0, [6])
    #expect(server.send(hex: "18 01") == [])
    server.security.isAuthorized = false
    #expect(try server.answer(.success) == [[0x01, 0x18] + handle.encoded + [0x08]])
    #expect(server.database.storedValue(of: Self.kept) == [0, 1, 2])
  }
}
