import BLEATT
import BLEGATT
import BLEWire
import Testing

/// A GATT client, and a server whose responses are a list of octets.
struct ClientConversation {
  var client: GATTClient
  var output = GATTClient.Output()
  var now = Instant.start
  private var lastID: UInt32 = 0

  init(mtu: Int = 23, limits: GATTClient.Limits = .init(), signing: GATTClient.Signing? = nil) {
    client = GATTClient(limits: limits, signing: signing)
    client.mtu = mtu
  }

  /// Performs an operation; the identifiers are 1, 2, 3 …
  mutating func perform(_ kind: GATTClient.Operation.Kind) {
    lastID += 1
    client.perform(GATTClient.Operation(id: .init(rawValue: lastID), kind), now: now, into: &output)
  }

  mutating func receive(_ hex: String) throws {
    let octets = try #require([UInt8](hexadecimal: hex))
    client.receive(octets.span, now: now, into: &output)
  }

  /// The PDUs sent since the last call.
  mutating func sent() -> [String] {
    let all = (0..<output.pdus.count).map { output.pdus[$0].hexadecimal }
    output.pdus.removeAll()
    return all
  }

  /// The events since the last call.
  mutating func events() -> [GATTClient.Event] {
    defer { output.events = [] }
    return output.events
  }

  /// Performs one operation against a server that expects `exchange[n].0` and answers `exchange[n].1`.
  ///
  /// - Returns: the result of the operation.
  mutating func run(
    _ kind: GATTClient.Operation.Kind, _ exchange: [(String, String)], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Result<GATTClient.Outcome, GATTClientError>? {
    perform(kind)
    for (request, response) in exchange {
      #expect(sent() == [request], sourceLocation: sourceLocation)
      try receive(response)
    }
    #expect(sent() == [], "nothing more is asked", sourceLocation: sourceLocation)
    let events = events()
    let results = events.compactMap {
      if case .finished(.init(rawValue: lastID), let result) = $0 { result } else { nil }
    }
    #expect(results.count == 1, "an operation ends exactly once", sourceLocation: sourceLocation)
    return results.first
  }
}
