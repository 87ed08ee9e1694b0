import BLEATT
import BLEGATT
import BLEWire

/// An ATT server with one service, over a transport of your own, which carries one ATT PDU in each message.
///
/// The transport calls `receive` with each PDU of the client and sends the PDUs that the call returns.
struct ThermometerServer {
  private static let temperature = AttributeID(rawValue: 1)

  private var database = AttributeDatabase()
  private var server = GATTServer()
  private var output = GATTServer.Output()
  /// In units of 0.01 °C.
  private var value: Int16 = 2150

  init() throws(DatabaseError) {
    let temperature = CharacteristicDefinition(
      id: Self.temperature, uuid: "2A6E", properties: [.read, .notify], permissions: .readable, value: .dynamic)
    _ = try database.add(
      ServiceDefinition(id: ServiceID(rawValue: 1), uuid: "181A", characteristics: [temperature]))
  }

  /// Receives a PDU of the client.
  ///
  /// - Returns: the PDUs for the client.
  mutating func receive(_ pdu: [UInt8], now: Instant) -> [[UInt8]] {
    server.receive(pdu.span, security: .none, database: &database, now: now, into: &output)
    for event in output.events {
      guard case .read(let token, Self.temperature, let offset) = event else { continue }
      _ = server.respond(
        to: token, with: .value(octets.dropFirst(offset)), security: .none, database: &database, now: now,
        into: &output)
    }
    return drain()
  }

  /// Sets the temperature, and notifies the client where it has subscribed.
  ///
  /// - Returns: the PDUs for the client.
  mutating func set(_ temperature: Int16, now: Instant) -> [[UInt8]] {
    value = temperature
    _ = server.sendUpdate(
      of: Self.temperature, value: octets.span, security: .none, database: database, now: now, into: &output)
    return drain()
  }

  private var octets: [UInt8] {
    var octets: [UInt8] = []
    octets.append(littleEndian: value)
    return octets
  }

  private mutating func drain() -> [[UInt8]] {
    defer { output.removeAll() }
    return (0..<output.pdus.count).map { Array(output.pdus[$0]) }
  }
}
