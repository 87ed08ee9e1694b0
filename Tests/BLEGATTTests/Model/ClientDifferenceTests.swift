import BLEATT
import BLEGATT
import BLEWire
import Foundation
import TestSupport
import Testing

/// Our client against our server: a client discovers, reads and writes what a server has published, for random
/// databases.
///
/// `CLIENT_DATABASES` sets the number of databases, `CLIENT_SEED` the first seed.
/// Tests/Interop/test_random_databases.py has Bumble's server instead of ours.
@Suite("Client and published services") struct ClientDifferenceTests {
  static let databases = number("CLIENT_DATABASES") ?? 200
  static let firstSeed = number("CLIENT_SEED") ?? 1

  private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

  @Test func aClientFindsExactlyThePublishedServices() throws {
    var values = 0
    for seed in Self.firstSeed..<Self.firstSeed + Self.databases {
      var comparison = try ClientComparison(seed: UInt64(seed))
      do throws(ClientComparison.Difference) {
        values += try comparison.run()
      } catch {
        Issue.record("CLIENT_SEED=\(seed): \(error)")
        return
      }
    }
    #expect(values > 5 * Self.databases, "values were compared")
  }

  /// Each octet of a response matters: where one is changed, the comparison finds it.
  @Test(arguments: [0x05, 0x07, 0x09, 0x0B, 0x0D, 0x11] as [UInt8])
  func findsAResponseThatIsChanged(opcode: UInt8) throws {
    var found = 0
    for seed in 1...60 {
      var comparison = try ClientComparison(seed: UInt64(seed))
      comparison.distortion = { $0.first == opcode && $0.count > 2 ? $0.dropLast() + [($0.last ?? 0) ^ 0x40] : $0 }
      do throws(ClientComparison.Difference) { _ = try comparison.run() } catch { found += 1 }
    }
    #expect(found > 10)
  }
}

/// One client and one server with a random database, on a link of random security and MTU.
struct ClientComparison {
  struct Difference: Error, CustomStringConvertible { var description: String }

  private let published: PublishedServices
  private var client = GATTClient()
  private var clientOutput = GATTClient.Output()
  private var server: GATTServer
  private var serverOutput = GATTServer.Output()
  private var database: AttributeDatabase
  private var random: SplitMix64
  private let security: SecurityState
  private let mtu: Int
  private var lastID: UInt32 = 0
  /// Changes a PDU of the server.
  var distortion: (([UInt8]) -> [UInt8])?

  init(seed: UInt64) throws {
    published = PublishedServices(seed: seed)
    database = try AttributeDatabase(attributes: published.definitions)
    random = SplitMix64(seed: seed ^ 0xC11E)
    mtu = [23, 24, 48, 185, 247, 517].randomElement(using: &random) ?? 23
    server = GATTServer(limits: GATTServer.Limits(maximumMTU: mtu))
    let level = SecurityLevel(rawValue: .random(in: 0...3, using: &random)) ?? .none
    security = SecurityState(level: level, keySize: level == .none ? 0 : 16)
  }

  /// Compares everything; returns the number of values read.
  mutating func run() throws(Difference) -> Int {
    try expect("MTU", .exchangeMTU(517), .mtu(mtu))
    let primary = published.services.filter(\.isPrimary).map(\.discovered)
    try expect("primary services", .discoverPrimaryServices, .services(primary))
    for uuid in Set(published.services.map(\.discovered.uuid)) {
      try expect(
        "services \(uuid)", .discoverPrimaryServicesByUUID(uuid), .services(primary.filter { $0.uuid == uuid }))
    }
    var values = 0
    for service in published.services { values += try compare(service) }
    return values
  }

  private mutating func compare(_ service: PublishedServices.Service) throws(Difference) -> Int {
    let handles = service.discovered.handles
    try expect("includes of \(handles)", .findIncludedServices(handles), .includedServices(service.includes))
    let found = service.characteristics.map(\.discovered)
    try expect("characteristics of \(handles)", .discoverCharacteristics(handles), .characteristics(found))
    for uuid in Set(found.map(\.uuid)) {
      try expect(
        "characteristics \(uuid) of \(handles)", .discoverCharacteristicsByUUID(uuid, handles),
        .characteristics(found.filter { $0.uuid == uuid }))
    }
    var values = 0
    for characteristic in service.characteristics {
      if let rest = characteristic.rest {
        try expect(
          "descriptors in \(rest)", .discoverDescriptors(rest),
          .descriptors(characteristic.descriptors.map(\.discovered)))
      }
      for value in [characteristic.value] + characteristic.descriptors.map(\.value) {
        try compare(value)
        values += 1
      }
    }
    return values
  }

  /// Reads a value in both ways, writes another one, and reads that.
  private mutating func compare(_ value: PublishedServices.Value) throws(Difference) {
    try read(value, value.octets)
    let count = min(512, [0, 1, mtu - 4, mtu - 3, mtu - 2, 511, 512].randomElement(using: &random) ?? 0)
    let octets = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    let result = try perform("write \(value.handle)", .write(value.handle, octets))
    // A shorter value overwrites the beginning of one of fixed length (Vol 3, Part F, 3.4.5.1).
    let isFixed = value.lengths.count == 1
    if permits(value.write), isFixed ? count <= value.lengths.upperBound : value.lengths.contains(count) {
      guard case .success(.done) = result else {
        throw Difference(description: "write of \(count) octets to \(value): \(result)")
      }
      try read(value, isFixed ? octets + value.octets.dropFirst(count) : octets)
    } else {
      guard case .failure(.errorResponse) = result else {
        throw Difference(description: "write of \(count) octets to \(value): \(result)")
      }
      try read(value, value.octets)
    }
  }

  private mutating func read(_ value: PublishedServices.Value, _ octets: [UInt8]) throws(Difference) {
    guard permits(value.read) else {
      let result = try perform("read \(value.handle)", .readLong(value.handle))
      guard case .failure(.errorResponse) = result else { throw Difference(description: "read of \(value): \(result)") }
      return
    }
    try expect("read \(value.handle)", .readLong(value.handle), .value(octets))
    try expect("short read \(value.handle)", .read(value.handle), .value(Array(octets.prefix(mtu - 1))))
  }

  private func permits(_ requirement: AccessRequirement?) -> Bool {
    requirement.map {
      security.level >= $0.security && security.keySize >= ($0.security == .none ? 0 : $0.minimumKeySize)
    }
      ?? false
  }

  private mutating func expect(
    _ what: String, _ kind: GATTClient.Operation.Kind, _ outcome: GATTClient.Outcome
  ) throws(Difference) {
    let result = try perform(what, kind)
    guard result == .success(outcome) else {
      throw Difference(description: "\(what) (MTU \(mtu), \(security.level)): published \(outcome), found \(result)")
    }
  }

  /// Performs one operation to its end: every PDU goes to the other side at once.
  private mutating func perform(
    _ what: String, _ kind: GATTClient.Operation.Kind
  ) throws(Difference) -> Result<GATTClient.Outcome, GATTClientError> {
    lastID += 1
    let id = GATTClient.OperationID(rawValue: lastID)
    client.perform(GATTClient.Operation(id: id, kind), now: .start, into: &clientOutput)
    // A value of 512 octets takes at most 512 / 18 requests, a discovery at most one for each attribute.
    for _ in 0..<500 {
      for case .finished(id, let result) in clientOutput.events {
        clientOutput.removeAll()
        return result
      }
      let requests = (0..<clientOutput.pdus.count).map { Array(clientOutput.pdus[$0]) }
      clientOutput.removeAll()
      for request in requests {
        server.receive(request.span, security: security, database: &database, now: .start, into: &serverOutput)
      }
      let responses = (0..<serverOutput.pdus.count).map { Array(serverOutput.pdus[$0]) }
      serverOutput.removeAll()
      for response in responses {
        let received = distortion?(response) ?? response
        client.receive(received.span, now: .start, into: &clientOutput)
      }
    }
    throw Difference(description: "\(what) does not end")
  }
}
