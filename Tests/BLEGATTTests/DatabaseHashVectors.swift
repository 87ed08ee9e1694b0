import BLEATT
import BLECrypto
import BLEWire
import TestVectors
import Testing

@testable import BLEGATT

/// Database Hashes: the specification's sample, and tables of other stacks.
@Suite(.enabled(if: TestVectors.areHere, "\(TestVectors.whereToPutThem)"))
struct DatabaseHashVectors {
  struct Case: Decodable {
    var name: String
    var attributes: [GATTServerVectors.Database.Attribute]
    var message: String
    var hash: String
  }

  @Test func everyHash() throws {
    let cases = try TestVectors.load("dbhash", as: Case.self).cases
    #expect(cases.count == 4)
    for vector in cases {
      let description = GATTServerVectors.Database(services: [], attributes: vector.attributes)
      let database = try GATTServerVectors.build(description, lastServiceEndsAt: nil)
      #expect(database.databaseHashMessage.hexadecimal == vector.message, "\(vector.name)")
      var failure: (any Error)?
      let hash = database.databaseHash { message in
        do {
          return Array(try LibCrypto().cmac(message, key: 0).bigEndianOctets)
        } catch {
          failure = error
          return []
        }
      }
      #expect(failure == nil)
      #expect(hash.hexadecimal == vector.hash, "\(vector.name)")
    }
  }
}

extension UInt128 {
  /// Sixteen octets, most significant first.
  var bigEndianOctets: [UInt8] {
    (0..<16).reversed().map { UInt8(truncatingIfNeeded: self >> (8 * UInt128($0))) }
  }
}
