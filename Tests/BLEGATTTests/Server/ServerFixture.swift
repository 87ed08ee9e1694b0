import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// A server with one client, for tests: the client's PDUs are input, the PDUs for the client are output.
struct TestServer {
  var database: AttributeDatabase
  var bearer: GATTServer
  var security = SecurityState.none
  var now = Instant.start
  /// The events since the last call of ``takeEvents()``.
  var events: [GATTServer.Event] = []
  private var output = GATTServer.Output()

  init(_ database: AttributeDatabase, limits: GATTServer.Limits = GATTServer.Limits()) {
    self.database = database
    bearer = GATTServer(limits: limits)
  }

  /// The database below, with the generic services before it.
  init(limits: GATTServer.Limits = GATTServer.Limits(), hash: Bool = false) throws {
    var database = AttributeDatabase(
      services: GenericServices(
        deviceName: "Lamp", appearance: 0x0180, databaseHashCMAC: hash ? Self.notReallyACMAC : nil))
    try database.add(Self.service)
    self.init(database, limits: limits)
  }

  /// Sends one PDU and returns the PDUs for the client.
  mutating func send(_ octets: [UInt8]) -> [[UInt8]] {
    bearer.receive(octets.span, security: security, database: &database, now: now, into: &output)
    return drain()
  }

  /// Sends one PDU and returns the PDUs for the client in hexadecimal.
  mutating func send(hex: String) -> [String] { send([UInt8](hexadecimal: hex) ?? []).map(\.hexadecimal) }

  /// Sends one PDU and returns the PDU for the client; nil where there is not exactly one.
  mutating func request(_ pdu: ATTPDU) -> ATTPDU? {
    let answers = send(pdu.encoded)
    return answers.count == 1 ? try? ATTPDU(decoding: answers[0][...]) : nil
  }

  mutating func respond(_ token: RequestToken, _ response: ApplicationResponse) -> [[UInt8]]? {
    let isTaken = bearer.respond(
      to: token, with: response, security: security, database: &database, now: now, into: &output)
    let sent = drain()
    return isTaken ? sent : nil
  }

  mutating func notify(_ attribute: AttributeID, _ value: [UInt8]) -> (GATTServer.UpdateResult, [[UInt8]]) {
    let outcome = bearer.sendUpdate(
      of: attribute, value: value.span, security: security, database: database, now: now, into: &output)
    return (outcome, drain())
  }

  mutating func serviceChanged(_ range: ClosedRange<AttributeHandle>) -> [[UInt8]] {
    bearer.serviceChanged(range, database: database, now: now, into: &output)
    return drain()
  }

  mutating func restore(_ record: ClientRecord) -> [[UInt8]] {
    bearer.restore(record, database: database, now: now, into: &output)
    return drain()
  }

  /// Sets the time to the next deadline.
  mutating func letTimePass() -> [[UInt8]] {
    guard let deadline = bearer.deadline else { return [] }
    now = deadline
    bearer.tick(now: now, security: security, database: &database, into: &output)
    return drain()
  }

  mutating func takeEvents() -> [GATTServer.Event] {
    defer { events = [] }
    return events
  }

  /// The token of the only event that is a request.
  mutating func takeToken() throws -> RequestToken {
    let tokens = takeEvents().compactMap(\.token)
    try #require(tokens.count == 1)
    return tokens[0]
  }

  /// Responds to the last request to the application.
  mutating func answer(_ response: ApplicationResponse) throws -> [[UInt8]]? {
    respond(try takeToken(), response)
  }

  func handle(_ attribute: AttributeID) -> AttributeHandle { database.handle(of: attribute) ?? .none }

  /// The Client Characteristic Configuration descriptor of a characteristic: it follows the value.
  func descriptor(_ attribute: AttributeID) -> AttributeHandle { AttributeHandle(handle(attribute).rawValue + 1) }

  mutating func subscribe(_ attribute: AttributeID, _ bits: UInt8) -> ATTPDU? {
    request(ATTPDU.writeRequest(.init(handle: descriptor(attribute), value: [bits, 0])))
  }

  private mutating func drain() -> [[UInt8]] {
    events += output.events
    defer { output.removeAll() }
    return (0..<output.pdus.count).map { Array(output.pdus[$0]) }
  }

  /// Sixteen octets that change with the message, without cryptography.
  static let notReallyACMAC: @Sendable ([UInt8]) -> [UInt8] = { message in
    var sum: UInt64 = 0xCBF2_9CE4_8422_2325
    for octet in message { sum = (sum ^ UInt64(octet)) &* 0x0000_0100_0000_01B3 }
    return (0..<16).map { UInt8(truncatingIfNeeded: sum >> (4 * UInt64($0))) }
  }

  static let service = ServiceDefinition(
    id: ServiceID(rawValue: 1), uuid: "B1E00100-0000-4000-8000-5357494654AB",
    characteristics: [
      CharacteristicDefinition(
        id: .short, uuid: "FFF1", properties: [.read, .write, .writeWithoutResponse],
        permissions: .readableAndWritable, value: .stored(Array("hello".utf8), length: 0...20)),
      CharacteristicDefinition(
        id: .dynamic, uuid: "FFF2", properties: [.read, .write, .writeWithoutResponse],
        permissions: .readableAndWritable, value: .dynamic),
      CharacteristicDefinition(
        id: .both, uuid: "FFF3", properties: [.read, .notify, .indicate], permissions: .readable,
        value: .fixed([1, 2, 3])),
      CharacteristicDefinition(
        id: .writeOnly, uuid: "FFF4", properties: .write, permissions: .writable, value: .stored([], length: 0...512)),
      CharacteristicDefinition(
        id: .encrypted, uuid: "FFF5", properties: [.read, .write],
        permissions: GATTAttributePermissions(read: .encrypted, write: .encrypted),
        value: .stored(Array("secret".utf8), length: 0...20)),
      CharacteristicDefinition(
        id: .authenticated, uuid: "FFF6", properties: [.read, .write],
        permissions: GATTAttributePermissions(read: .authenticated, write: .authenticated),
        value: .stored(Array("mitm".utf8), length: 0...20)),
      CharacteristicDefinition(
        id: .fourOctets, uuid: "FFF7", properties: [.read, .write], permissions: .readableAndWritable,
        value: .stored([1, 2, 3, 4], length: 4...4)),
      CharacteristicDefinition(
        id: .long, uuid: "FFF8", properties: [.read, .write], permissions: .readableAndWritable,
        value: .stored((0..<40).map { UInt8($0) }, length: 0...512)),
      CharacteristicDefinition(
        id: .indicated, uuid: "FFF9", properties: .indicate, permissions: GATTAttributePermissions(), value: .dynamic),
      CharacteristicDefinition(
        id: .guarded, uuid: "FFFA", properties: .notify, permissions: GATTAttributePermissions(),
        updateRequirement: .encrypted, value: .dynamic,
        descriptors: [DescriptorDefinition(id: .description, uuid: "2901", value: .fixed(Array("Guarded".utf8)))]),
      CharacteristicDefinition(
        id: .second, uuid: "FFF2", properties: .read, permissions: .readable, value: .dynamic),
    ])
}

extension AttributeID {
  static let short = Self(rawValue: 1)
  static let dynamic = Self(rawValue: 2)
  static let both = Self(rawValue: 3)
  static let writeOnly = Self(rawValue: 4)
  static let encrypted = Self(rawValue: 5)
  static let authenticated = Self(rawValue: 6)
  static let fourOctets = Self(rawValue: 7)
  static let long = Self(rawValue: 8)
  static let indicated = Self(rawValue: 9)
  static let guarded = Self(rawValue: 10)
  static let description = Self(rawValue: 11)
  /// A second characteristic with the UUID of ``dynamic``.
  static let second = Self(rawValue: 12)
  static let unknown = Self(rawValue: 999)
}

extension SecurityState {
  static let justWorks = Self(level: .encrypted, keySize: 16, isBonded: true)
  static let passkey = Self(level: .authenticated, keySize: 16, isBonded: true)
}

extension ATTPDU {
  static func refusal(_ opcode: ATTOpcode, _ handle: AttributeHandle, _ code: ATTErrorCode) -> Self {
    ATTPDU.errorResponse(.init(to: opcode, handle: handle, code: code))
  }
}

extension AttributeHandle {
  var encoded: [UInt8] { [UInt8(truncatingIfNeeded: rawValue), UInt8(truncatingIfNeeded: rawValue >> 8)] }
}

extension GATTServer.Event {
  /// The token of an event that is a request.
  var token: RequestToken? {
    switch self {
    case .read(let token, _, _): token
    case .write(let token, _, _): token
    default: nil
    }
  }
}
