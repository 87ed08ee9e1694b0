import BLEATT
import BLECrypto
import BLEWire
import TestVectors
import Testing

@testable import BLEGATT

/// Database Hashes: the specification's sample, and tables of other stacks.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct DatabaseHashVectors {
  struct Case: Decodable, Sendable {
    var policy: [String]?
    var attributes: [GATTServerVectors.Database.Attribute]?
    var message: String?
    var hash: String?
  }

  @Test func hashesEqualTheVectors() {
    let report = Self.run(in: TestVectors.folderOrNone)
    report.tell("Database Hash")
    #expect(report.failures == [])
  }

  static func run(in folder: VectorFolder) -> VectorReport {
    var report = VectorReport()
    let file = folder.file("dbhash", cases: Case.self, into: &report)
    for (name, vector) in file.cases(of: ["database-hash"], notingAllBut: ["database-hash"], into: &report) {
      report.check(name, policy: vector.policy) { checks in
        let attributes = try checks.need(vector.attributes, "attributes")
        let description = GATTServerVectors.Database(services: [], attributes: attributes)
        let database = try GATTServerVectors.build(description, lastServiceEndsAt: nil)
        checks.equal(database.databaseHashMessage.hexadecimal, ifGiven: vector.message, "the message")
        var failure: (any Error)?
        let hash = database.databaseHash { message in
          do {
            return Array(try LibCrypto().cmac(message, key: 0).bigEndianOctets)
          } catch {
            failure = error
            return []
          }
        }
        if let failure { throw failure }
        checks.equal(hash.hexadecimal, ifGiven: vector.hash, "the hash")
      }
    }
    return report
  }
}

extension UInt128 {
  /// Sixteen octets, most significant first.
  var bigEndianOctets: [UInt8] {
    (0..<16).reversed().map { UInt8(truncatingIfNeeded: self >> (8 * UInt128($0))) }
  }
}
