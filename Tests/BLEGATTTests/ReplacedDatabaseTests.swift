import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// A database that is the copy of another server's.
struct ReplacedDatabaseTests {
  private static let attributes = [
    AttributeDefinition(handle: 0x0010, type: .primaryService, value: .fixed([0x0F, 0x18]), groupEnd: 0x0020),
    AttributeDefinition(handle: 0x0011, type: .characteristic, value: .fixed([0x12, 0x14, 0x00, 0x19, 0x2A])),
    AttributeDefinition(
      handle: 0x0014, type: "2A19", permissions: GATTAttributePermissions(read: refusing(.insufficientEncryption)),
      value: .stored([97], length: 1...1), id: AttributeID(rawValue: 1)),
    AttributeDefinition(
      handle: 0x0016, type: .clientCharacteristicConfiguration,
      permissions: GATTAttributePermissions(read: .open, write: refusing(.insufficientAuthentication)),
      value: .fixed([0, 0])),
  ]

  private static func refusing(_ code: ATTErrorCode) -> AccessRequirement {
    var requirement = AccessRequirement.encrypted
    requirement.refusal = code
    return requirement
  }

  private func answer(
    _ request: [UInt8], _ security: SecurityState = .none, _ database: inout AttributeDatabase
  ) -> [UInt8]? {
    var (server, output) = (GATTServer(), GATTServer.Output())
    server.receive(request.span, security: security, database: &database, now: .start, into: &output)
    return output.pdus.count == 1 ? Array(output.pdus[0]) : nil
  }

  @Test func allAttributesAreReplaced() throws {
    var database = AttributeDatabase(services: GenericServices(deviceName: "x"))
    let revision = database.revision
    try database.replaceAll(with: Self.attributes)
    #expect(database.revision > revision)
    #expect(
      answer([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], .none, &database) == [0x11, 6, 0x10, 0, 0x20, 0, 0x0F, 0x18])
    #expect(answer([0x04, 1, 0, 0xFF, 0xFF], .none, &database)?.prefix(4) == [0x05, 1, 0x10, 0])
    #expect(answer([0x0A, 0x12, 0], .none, &database) == [0x01, 0x0A, 0x12, 0, 0x01])
    // A service that is added follows them, and those of the copy are not removed one by one.
    let handles = try database.add(ServiceDefinition(id: ServiceID(rawValue: 0), uuid: "180A"))
    #expect(handles.range.lowerBound == 0x0017)
    #expect(throws: DatabaseError.self) { try database.remove(ServiceID(rawValue: .max - 1)) }
  }

  @Test func aLinkWithoutTheSecurityGetsTheErrorOfTheDevice() throws {
    var database = AttributeDatabase()
    try database.replaceAll(with: Self.attributes)
    // Without a bond the specification has Insufficient Authentication for both.
    #expect(answer([0x0A, 0x14, 0], .none, &database) == [0x01, 0x0A, 0x14, 0, 0x0F])
    #expect(answer([0x12, 0x16, 0, 1, 0], .none, &database) == [0x01, 0x12, 0x16, 0, 0x05])
    let bonded = SecurityState(isBonded: true)
    #expect(answer([0x0A, 0x14, 0], bonded, &database) == [0x01, 0x0A, 0x14, 0, 0x0F])
    #expect(answer([0x12, 0x16, 0, 1, 0], bonded, &database) == [0x01, 0x12, 0x16, 0, 0x05])
    let encrypted = SecurityState(level: .encrypted, keySize: 16)
    #expect(answer([0x0A, 0x14, 0], encrypted, &database) == [0x0B, 97])
    #expect(answer([0x12, 0x16, 0, 1, 0], encrypted, &database) == [0x13])
  }
}
