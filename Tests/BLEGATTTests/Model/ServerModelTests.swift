import BLEATT
import BLEGATT
import BLEWire
import Foundation
import TestSupport
import Testing

/// The server against the model of the specification: random databases, random sequences of requests on links of random
/// security.
///
/// `MODEL_SEQUENCES` sets the number of sequences, `MODEL_SEED` the first seed: `make test-long` compares a million.
@Suite("Server and model") struct ServerModelTests {
  static let sequences = number("MODEL_SEQUENCES") ?? 4000
  static let firstSeed = number("MODEL_SEED") ?? 1

  private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

  /// Four parts of all sequences, which the processors share.
  @Test(arguments: 0..<4) func answersAsTheSpecificationDescribes(part: Int) throws {
    var requests = 0
    for seed in stride(from: Self.firstSeed + part, to: Self.firstSeed + Self.sequences, by: 4) {
      var comparison = try Comparison(seed: UInt64(seed))
      if let difference = comparison.run() {
        Issue.record("MODEL_SEED=\(seed): \(difference)")
        return
      }
      requests += comparison.requests
    }
    #expect(requests > Self.sequences)
  }

  /// The sequences reach each response, and each error code of a server without an application that refuses.
  @Test func reachesEachResponseAndEachError() throws {
    var (responses, errors): (Set<UInt8>, Set<UInt8>) = ([], [])
    for seed in 0..<400 {
      var comparison = try Comparison(seed: UInt64(seed))
      comparison.distortion = {
        if let code = $0.first { responses.insert(code) }
        if $0.first == 0x01, let code = $0.last { errors.insert(code) }
        return $0
      }
      #expect(comparison.run() == nil)
    }
    #expect(responses == [0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x21])
    #expect(errors == [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x0F, 0x10, 0xFD])
  }

  /// The comparison finds a server that differs in one octet of one response.
  @Test func findsAServerThatDiffers() throws {
    var found = 0
    for seed in 0..<200 {
      var comparison = try Comparison(seed: UInt64(seed))
      comparison.distortion = { $0.first == 0x05 ? Array($0.dropLast()) : $0 }
      if comparison.run() != nil { found += 1 }
    }
    #expect(found > 20)
  }
}

/// One sequence of requests to a server and to a model with the same database.
private struct Comparison {
  private var server: GATTServer
  private var database: AttributeDatabase
  private var model: ServerModel
  private var random: SplitMix64
  private var output = GATTServer.Output()
  private var security = SecurityState.none
  /// The values of the application.
  private var values: [AttributeID: [UInt8]] = [:]
  private let identifiers: [(id: AttributeID, handle: Int)]
  private(set) var requests = 0
  /// Changes a response of the server, to show that a difference is found.
  var distortion: (([UInt8]) -> [UInt8])?

  init(seed: UInt64) throws {
    let made = RandomDatabase(seed: seed)
    database = try AttributeDatabase(attributes: made.definitions)
    random = SplitMix64(seed: seed ^ 0x5EED)
    let mtu = [23, 24, 48, 185, 517].randomElement(using: &random) ?? 23
    let isShort = seed % 2 == 0
    let limits = GATTServer.Limits(
      maximumMTU: mtu, maximumPreparedWrites: isShort ? 2 : 8, maximumPreparedOctets: isShort ? 30 : 600)
    server = GATTServer(limits: limits)
    model = ServerModel(
      made.table, serverMTU: limits.maximumMTU, maximumParts: limits.maximumPreparedWrites,
      maximumOctets: limits.maximumPreparedOctets)
    identifiers = zip(made.definitions, made.table).compactMap { definition, attribute in
      definition.id.map { ($0, attribute.handle) }
    }
    for (id, attribute) in zip(made.definitions.map(\.id), made.table) {
      if let id, case .application = attribute.rule { values[id] = attribute.value }
    }
  }

  /// The first difference; nil where there is none.
  mutating func run() -> String? {
    for _ in 0..<draw(1...40) {
      if draw(0...7) == 0 { changeSecurity() }
      let pdu = request()
      let (expected, received) = (model.answer(pdu), answer(pdu))
      requests += 1
      guard received == (expected.map { [$0] } ?? []) else {
        return "to \(pdu.hexadecimal) the model answers \(expected?.hexadecimal ?? "nothing"), the server "
          + "\(received.map(\.hexadecimal)) (MTU \(model.mtu), \(model.link)): \(model.attributes)"
      }
    }
    for attribute in model.attributes {
      guard let id = identifiers.first(where: { $0.handle == attribute.handle })?.id else { continue }
      switch attribute.rule {
      case .stored:
        guard database.storedValue(of: id) == attribute.value else { return "another value of \(attribute)" }
      case .application: guard values[id] == attribute.value else { return "another value of \(attribute)" }
      case .constant, .clientConfiguration: break
      }
    }
    return nil
  }

  private mutating func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

  private mutating func changeSecurity() {
    let level = draw(0...3)
    model.link = .init(
      level: level, keySize: level == 0 ? 0 : draw(7...16), isBonded: draw(0...1) == 0, isAuthorized: draw(0...1) == 0)
    security = SecurityState(
      level: SecurityLevel(rawValue: UInt8(level)) ?? .none, keySize: UInt8(model.link.keySize),
      isBonded: model.link.isBonded, isAuthorized: model.link.isAuthorized)
  }

  /// The PDUs of the server, after the application has answered.
  private mutating func answer(_ pdu: [UInt8]) -> [[UInt8]] {
    server.receive(pdu.span, security: security, database: &database, now: .start, into: &output)
    var next = 0
    while next < output.events.count {
      let event = output.events[next]
      next += 1
      switch event {
      case .read(let token, let id, let offset):
        let value = values[id] ?? []
        respond(token, offset > value.count ? .error(.invalidOffset) : .value(value.dropFirst(offset)))
      case .write(let token, let parts, _):
        for part in parts {
          var value = part.offset == 0 ? [] : values[part.attribute] ?? []
          value = Array(value.prefix(part.offset)) + [UInt8](repeating: 0, count: max(0, part.offset - value.count))
          values[part.attribute] = value + part.value
        }
        if let token { respond(token, .success) }
      default: break
      }
    }
    defer { output.removeAll() }
    return (0..<output.pdus.count).map { distortion?(Array(output.pdus[$0])) ?? Array(output.pdus[$0]) }
  }

  private mutating func respond(_ token: RequestToken, _ response: ApplicationResponse) {
    server.respond(to: token, with: response, security: security, database: &database, now: .start, into: &output)
  }
}

/// The requests of a client that knows much of the database, and sometimes sends anything.
extension Comparison {
  private mutating func request() -> [UInt8] {
    switch draw(0...13) {
    case 0: return [0x02] + ServerModel.octets([0, 22, 23, 24, 100, 517, 0xFFFF][draw(0...6)])
    case 1: return [0x04] + range()
    case 2:
      let attribute = attribute()
      return [0x06] + range() + (attribute.type.count == 2 ? attribute.type : [0x00, 0x28]) + attribute.value.prefix(16)
    case 3: return [0x08] + range() + type()
    case 4: return [0x10] + range() + (draw(0...3) > 0 ? [UInt8(draw(0...3)), 0x28] : type())
    case 5: return [0x0A] + handle()
    case 6: return [0x0C] + handle() + offset()
    case 7: return [[0x0E, 0x20][draw(0...1)]] + (0..<draw(1...5)).flatMap { _ in handle() }
    case 8: return [0x12] + handle() + value()
    case 9: return [0x52] + handle() + value()
    case 10, 11: return [0x16] + handle() + offset() + value().prefix(18)
    case 12: return [0x18, [0, 1, 1, 1, 2][draw(0...4)]]
    default: return malformed()
    }
  }

  /// A PDU of another length, or with another opcode.
  private mutating func malformed() -> [UInt8] {
    var pdu = [UInt8(draw(0...255))] + (0..<draw(0...12)).map { _ in UInt8(draw(0...4)) }
    switch draw(0...2) {
    case 0:
      pdu[0] = [0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20, 0x52, 0x1E, 0xD2][draw(0...14)]
    case 1: pdu += [UInt8](repeating: 0, count: draw(0...600))
    default: break
    }
    return pdu
  }

  private mutating func attribute() -> ServerModel.Attribute {
    model.attributes.randomElement(using: &random)
      ?? .init(handle: 1, type: [0x00, 0x28], value: [], rule: .constant)
  }

  private mutating func handle() -> [UInt8] {
    ServerModel.octets(draw(0...9) == 0 ? [0, 1, 0x30, 0xFFFF][draw(0...3)] : attribute().handle)
  }

  private mutating func range() -> [UInt8] {
    switch draw(0...5) {
    case 0: handle() + handle()
    case 1: handle() + [0xFF, 0xFF]
    default: [1, 0, 0xFF, 0xFF]
    }
  }

  private mutating func type() -> [UInt8] {
    let type =
      draw(0...2) == 0 ? [[0x00, 0x28], [0x03, 0x28], [0x02, 0x29], [0x77, 0x77]][draw(0...3)] : attribute().type
    return draw(0...3) == 0 ? ServerModel.whole(type) : type
  }

  private mutating func offset() -> [UInt8] {
    let count = attribute().value.count
    return ServerModel.octets([0, 0, 1, count, count + 1, max(0, count - 1), draw(0...600)][draw(0...6)])
  }

  private mutating func value() -> [UInt8] {
    let counts = [0, 1, 2, 2, 3, 18, 20, 21, attribute().value.count, 513]
    let room = max(0, model.mtu - 3)
    return (0..<min(counts[draw(0...counts.count - 1)], draw(0...9) == 0 ? 600 : room)).map { _ in UInt8(draw(0...3)) }
  }
}
