import BLEATT
import BLEWire
import TestVectors
import Testing

@testable import BLEGATT

/// Conversations with servers of other stacks, from their tests and from captures.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct GATTServerVectors {
  struct Database: Decodable, Sendable {
    struct Attribute: Decodable, Sendable {
      var handle: UInt16
      var type: String
      var value: String?
      var permissions: Set<String>?
    }

    struct Service: Decodable, Sendable {
      var handle: UInt16
      var endHandle: UInt16
    }

    var services: [Service]?
    var attributes: [Attribute]
  }

  struct Case: Decodable, Sendable {
    struct Step: Decodable, Sendable {
      var dir: String
      var hex: String?
      var action: String?
      var handle: UInt16?
      var value: String?
      var encrypted: Bool?
      var authenticated: Bool?
    }

    var database: String
    var mtu: Int?
    var serverMTU: Int?
    var policy: [String]?
    var pdus: [Step]?
    var procedure: String?
  }

  /// Tags that describe the database of a case. The database is made accordingly.
  static let settled: Set = [
    "flat-database", "only-the-first-18-attributes-of-the-source-database", "values-not-read-in-the-log-are-empty",
    "declaration-values-are-arbitrary", "value-length-is-variable", "last-service-ends-at-ffff",
    "last-service-ends-at-its-last-attribute", "no-pdus-source-only-checks-it-does-not-crash",
  ]

  /// Tags of choices that this stack makes differently, and its rule.
  static let answeredDifferently = [
    "cccd-is-a-plain-attribute": "a CCCD has two octets, anything else is answered 0x0D (Vol 3, Part G, 3.3.3.3)",
    "refuses-queued-writes-to-several-attributes-unless-reliable":
      "a queue of writes to several attributes is executed whether or not each offers reliable writes",
    "one-handle-accepted": "Read Multiple names two handles or more (Vol 3, Part F, 3.4.4.7)",
  ]

  @Test func conversationsEqualTheVectors() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("GATT server")
    #expect(report.failures == [])
  }

  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("gatt-server", cases: Case.self, databases: Database.self, into: &report)
    let databases = file.databases
    for (name, vector) in file.cases(into: &report) {
      report.check(name, policy: vector.policy, settled: settled) { checks in
        let description = try checks.need(databases[vector.database], "database '\(vector.database)'")
        let rules = (vector.policy ?? []).compactMap { answeredDifferently[$0] }
        if vector.procedure == "database-hash" {
          try checkHash(description, &checks)
        } else if let procedure = vector.procedure {
          throw NotApplicable("an unknown procedure: \(procedure)")
        }
        try converse(vector, description, &checks)
        // The note has the rule for the different octets.
        if !checks.faults.isEmpty { for rule in rules { checks.note(rule) } }
      }
    }
    return report
  }

  /// A database whose last service may end at 0xFFFF has a hash.
  private static func checkHash(_ description: Database, _ checks: inout VectorChecks) throws {
    let database = try build(description, lastServiceEndsAt: nil)
    checks.expect(!database.databaseHashMessage.isEmpty, "no message to hash")
    checks.equal(database.databaseHash(cmac: { _ in Array(1...16) }), (1...16).reversed(), "the hash")
  }

  private static func converse(_ vector: Case, _ description: Database, _ checks: inout VectorChecks) throws {
    let steps = vector.pdus ?? []
    let end = vector.policy?.contains("last-service-ends-at-ffff") == true ? AttributeHandle.last : nil
    var database = try build(description, lastServiceEndsAt: end)
    var bearer = GATTServer(limits: GATTServer.Limits(maximumMTU: vector.serverMTU ?? ATT.maximumMTU))
    let exchanges = steps.contains { $0.dir == "in" && $0.hex?.hasPrefix("02") == true }
    if !exchanges, let mtu = vector.mtu { bearer.mtu = max(mtu, ATT.defaultMTU) }
    var security = SecurityState.none
    var output = GATTServer.Output()
    for (index, step) in steps.enumerated() {
      switch (step.dir, step.action) {
      case ("in", _):
        let pdu = try checks.need([UInt8](hexadecimal: step.hex ?? "?"), "hex of step \(index)")
        bearer.receive(pdu.span, security: security, database: &database, now: .start, into: &output)
      case ("out", _):
        let sent = output.pdus.isEmpty ? "nothing" : output.pdus[0].hexadecimal
        checks.equal(sent, step.hex ?? "nothing", "step \(index)")
        checks.expect(output.pdus.count <= 1, "step \(index): \(output.pdus.count) PDUs")
        output.removeAll()
      case ("none", _):
        if !output.pdus.isEmpty { checks.fail("step \(index) is \(output.pdus[0].hexadecimal), expected nothing") }
        output.removeAll()
      case ("action", "notify"), ("action", "indicate"):
        let value = try checks.need([UInt8](hexadecimal: step.value ?? "?"), "value of step \(index)")
        let handle = AttributeHandle(try checks.need(step.handle, "handle of step \(index)"))
        let outcome = bearer.sendUpdate(
          of: handle, value: value.span, security: security, database: database, now: .start, into: &output)
        checks.equal(outcome, .sent, "step \(index)")
      case ("action", "set-security"):
        let level: SecurityLevel =
          step.authenticated == true ? .authenticated : step.encrypted == true ? .encrypted : .none
        security = SecurityState(level: level, keySize: level == .none ? 0 : 16)
      default: throw NotApplicable("step \(index) is unknown: \(step.dir) \(step.action ?? "")")
      }
    }
  }

  static func build(_ description: Database, lastServiceEndsAt end: AttributeHandle?) throws -> AttributeDatabase {
    let ends = Dictionary(
      (description.services ?? []).map { ($0.handle, AttributeHandle($0.endHandle)) },
      uniquingKeysWith: { first, _ in first })
    let checks = VectorChecks()
    let definitions = try description.attributes.map { attribute in
      let value = try checks.need([UInt8](hexadecimal: attribute.value ?? ""), "value of \(attribute.handle)")
      let permissions = attribute.permissions ?? []
      return AttributeDefinition(
        handle: AttributeHandle(attribute.handle),
        type: try checks.need(BluetoothUUID(attribute.type), "type of \(attribute.handle)"),
        permissions: GATTAttributePermissions(
          read: requirement("read", permissions), write: requirement("write", permissions)),
        value: .stored(value, length: 0...ATT.maximumValueLength),
        id: AttributeID(rawValue: UInt32(attribute.handle)), groupEnd: ends[attribute.handle] ?? end)
    }
    return try AttributeDatabase(attributes: definitions)
  }

  /// NimBLE's and BlueZ's flags: `read-encrypted` alone permits a read too.
  private static func requirement(_ what: String, _ permissions: Set<String>) -> AccessRequirement? {
    if permissions.contains("\(what)-authenticated") { return .authenticated }
    if permissions.contains("\(what)-encrypted") { return .encrypted }
    return permissions.contains(what) ? .open : nil
  }
}
