import AdapterFixtures
import BLEAdapter
import BLEHCI
import BLEHost
import BLEKit
import BLEWire

@testable import BLEGATT

/// The host of one adapter, whose part the test plays: it notes the commands, and reports what the test wants.
final class ScriptedHost: Sendable {
  let connection: ScriptedConnection
  private let posted: Notes<HostCommand>

  init(hub: AdapterHub? = nil) {
    let posted = Notes<HostCommand>()
    self.posted = posted
    connection = ScriptedConnection(hub: hub, firstEvents: { [.state(.poweredOn, nil)] }, perform: { posted.note($0) })
  }

  var commands: [HostCommand] { posted.all }

  /// The next command that no call has returned.
  func next() async throws -> HostCommand { try await posted.next() }

  func say(_ events: HostEvent...) { connection.say(events) }

  /// An adapter over this host that knows of its state.
  func open(clock: WaitClock = WaitClock()) async throws -> Adapter {
    // No time passes for a channel: what a test expects does not depend on its speed.
    let client = AdapterClient(over: connection, log: { _ in }, later: { _, _ in })
    let adapter = Adapter(client: client, clock: clock)
    try await adapter.waitUntilPoweredOn()
    return adapter
  }

  /// Publishes a characteristic.
  ///
  /// - Returns: its identifier in the host, too.
  func publish(_ characteristic: LocalCharacteristic, on adapter: Adapter) async throws -> (
    ServicePublication, AttributeID
  ) {
    async let publication = adapter.publish([LocalService("180D", [characteristic])])
    guard case .services(.add(let definition)) = try await next() else { throw CancellationError() }
    say(.services(.added(definition.id, .success(ServiceHandles(range: 0x0010...0x0013, attributes: [:])))))
    return (try await publication, definition.characteristics[0].id)
  }

  static let client = LinkID(rawValue: 7)

  /// A client connects. The last octets of its address are its number.
  func connect(_ peer: LinkID = client) {
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | UInt64(peer.rawValue)), kind: .random)
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    say(.connected(ConnectedLink(peer: peer, address: address, role: .peripheral, timing: timing)))
  }
}
