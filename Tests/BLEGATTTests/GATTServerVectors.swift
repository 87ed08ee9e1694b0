import BLEATT
import BLEWire
import Foundation
import TestVectors
import Testing

@testable import BLEGATT

/// Conversations with other stacks' servers, out of their tests and out of captures.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct GATTServerVectors {
  struct File: Decodable {
    var databases: [String: Database]
    var cases: [Case]
  }

  struct Database: Decodable {
    struct Attribute: Decodable {
      var handle: UInt16
      var type: String
      var value: String
      var permissions: Set<String>
      var role: String
    }

    struct Service: Decodable {
      var handle: UInt16
      var endHandle: UInt16
    }

    var services: [Service]
    var attributes: [Attribute]
  }

  struct Case: Decodable {
    struct Step: Decodable {
      var dir: String
      var hex: String?
      var action: String?
      var handle: UInt16?
      var value: String?
      var encrypted: Bool?
      var authenticated: Bool?
    }

    var name: String
    var database: String
    var mtu: Int?
    var serverMTU: Int?
    var policy: [String]
    var pdus: [Step]
    var procedure: String?
  }

  /// Cases whose octets rest on the choice of another stack, and the rule that we follow instead.
  static let answeredDifferently = [
    "/TP/GAW/SR/BV-08-C/small": "a CCCD has two octets, anything else is answered 0x0D (Vol 3, Part G, 3.3.3.3)",
    "/TP/GAW/SR/BV-09-C/small": "a CCCD has two octets, anything else is answered 0x0D (Vol 3, Part G, 3.3.3.3)",
    "/robustness/no-reliable-characteristic":
      "a queue of writes to several attributes is executed whether or not each offers reliable writes",
    "nimble/read-multiple/one-handle": "Read Multiple names two handles or more (Vol 3, Part F, 3.4.4.7)",
  ]

  static func file() throws -> File {
    let folder = try #require(TestVectors.folder)
    return try JSONDecoder().decode(
      File.self, from: Data(contentsOf: folder.appending(path: "gatt-server.json")))
  }

  @Test func everyConversationGoesAsExpected() throws {
    let file = try Self.file()
    #expect(file.cases.count == 81)
    for vector in file.cases {
      let description = try #require(file.databases[vector.database])
      let failures = try Self.failures(vector, description)
      if Self.answeredDifferently[vector.name] == nil {
        #expect(failures.isEmpty, "\(vector.name): \(failures)")
      } else {
        #expect(!vector.policy.isEmpty && !failures.isEmpty, "\(vector.name) is no exception any more")
      }
    }
  }

  @Test func aDatabaseWithHandlesAtTheEndCanBeHashed() throws {
    let file = try Self.file()
    let tail = try #require(file.databases["ts_tail_db"])
    let database = try Self.build(tail, lastServiceEndsAt: nil)
    #expect(!database.databaseHashMessage.isEmpty)
    #expect(database.databaseHash(cmac: { _ in Array(1...16) }) == (1...16).reversed())
  }

  static func failures(_ vector: Case, _ description: Database) throws -> [String] {
    let end = vector.policy.contains("last-service-ends-at-ffff") ? AttributeHandle.last : nil
    var database = try build(description, lastServiceEndsAt: end)
    var bearer = ServerBearer(limits: ServerLimits(maximumMTU: vector.serverMTU ?? ATT.maximumMTU))
    let exchanges = vector.pdus.contains { $0.dir == "in" && $0.hex?.hasPrefix("02") == true }
    if !exchanges, let mtu = vector.mtu { bearer.mtu = mtu }
    var security = LinkSecurity.none
    var output = ServerOutput()
    var failures: [String] = []
    for (index, step) in vector.pdus.enumerated() {
      switch (step.dir, step.action) {
      case ("in", _):
        let pdu = try #require([UInt8](hexadecimal: step.hex ?? ""))
        bearer.receive(pdu.span, security: security, database: &database, now: .start, into: &output)
      case ("out", _):
        let sent = output.pdus.isEmpty ? "nothing" : output.pdus[0].hexadecimal
        if sent != step.hex || output.pdus.count != 1 {
          failures.append("step \(index): \(sent), expected \(step.hex ?? "nothing")")
        }
        output.removeAll()
      case ("none", _):
        if !output.pdus.isEmpty { failures.append("step \(index): \(output.pdus[0].hexadecimal), expected nothing") }
        output.removeAll()
      case ("action", "notify"), ("action", "indicate"):
        let value = try #require([UInt8](hexadecimal: step.value ?? ""))
        let handle = AttributeHandle(try #require(step.handle))
        let outcome = bearer.notify(
          handle, value.span, security: security, database: database, now: .start, into: &output)
        if outcome != .sent { failures.append("step \(index): \(outcome)") }
      case ("action", "set-security"):
        let level: SecurityLevel =
          step.authenticated == true ? .authenticated : step.encrypted == true ? .encrypted : .none
        security = LinkSecurity(level: level, keySize: 16)
      default: failures.append("step \(index): what is \(step.dir) \(step.action ?? "")?")
      }
    }
    return failures
  }

  static func build(_ description: Database, lastServiceEndsAt end: AttributeHandle?) throws -> AttributeDatabase {
    let ends = Dictionary(
      description.services.map { ($0.handle, AttributeHandle($0.endHandle)) }, uniquingKeysWith: { first, _ in first })
    let definitions = try description.attributes.map { attribute in
      let value = try #require([UInt8](hexadecimal: attribute.value))
      return AttributeDefinition(
        handle: AttributeHandle(attribute.handle), type: try #require(BluetoothUUID(attribute.type)),
        permissions: AttributePermissions(
          read: requirement("read", attribute.permissions), write: requirement("write", attribute.permissions)),
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
