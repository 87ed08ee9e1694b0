import BLECrypto
import BLEHost
import BLESMP
import BLEWire
import Foundation

@testable import BLEAdapter
@testable import PeripheralDescription

/// A file of bonds: what is read is written and read again as the same, and a host accepts it.
func fuzzBonds(_ input: inout FuzzInput) {
  guard let record = try? BondRecord(decoding: input.rest()) else { return }
  guard let encoded = try? record.encoded() else { return require(false, "the record cannot be written") }
  guard let again = try? BondRecord(decoding: encoded) else {
    return require(false, "a written record cannot be read: \(String(decoding: encoded, as: UTF8.self))")
  }
  require(again == record, "another record is read than written")
  require(record.merged(with: again, since: record).bonds.count <= record.bonds.count, "merging adds bonds")
  var configuration = HostConfiguration()
  configuration.maximumBonds = 3
  configuration.bonds = record.bonds
  var core = HostCore(configuration: configuration, cryptography: LibCrypto(), random: .seeded(1))
  var output = HostOutput()
  core.start(now: .start, into: &output)
  core.perform(.security(.setBonds(record.bonds)), from: .process, now: .start, into: &output)
  require(output.events.count <= 1000, "\(output.events.count) events")
  plantedFault(
    record.bonds.contains { (8...15).contains($0.strength.size) }, "a bond with a key of 8 to 15 octets")
}

/// The description of a peripheral in a file, as `reference-peripheral` reads it.
func fuzzDescriptions(_ input: inout FuzzInput) {
  let octets = input.rest()
  MainActor.assumeIsolated {
    guard let description = try? Description(decoding: Data(octets), of: "input") else { return }
    _ = try? description.pairingOptions()
    guard let database = try? Database(description) else { return }
    require(database.services.count == description.services.count, "another number of services")
    let values = description.services.flatMap { $0.characteristics ?? [] }.compactMap {
      try? Description.octets($0.value)
    }
    require(values.allSatisfy { $0.count <= 512 }, "a value of more than 512 octets")
    plantedFault(values.contains { (60...99).contains($0.count) }, "a value of 60 to 99 octets")
  }
}
