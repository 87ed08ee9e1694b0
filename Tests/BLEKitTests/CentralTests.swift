import BLEATT
import BLEEngine
import BLEHCI
import BLEHost
import BLEKit
import BLEWire
import EngineFixtures
import Testing

@testable import BLEGATT

/// The operations of the central role: each ends once, with its result, its timeout or its cancellation. The test plays the
/// host.
@Suite struct CentralTests {
  private let host = ScriptedHost()
  private let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0009), kind: .random)
  private let peer = PeerID(rawValue: 9)

  private func link(_ adapter: Adapter) async throws -> RemoteDevice {
    async let link = adapter.connect(to: address, timeout: nil)
    guard case .connect(let id, let address, _, _) = try await host.next() else { throw CancellationError() }
    host.say(
      .connected(
        Connection(
          peer: peer, address: address, role: .central,
          timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500), request: id)))
    return try await link
  }

  @Test func waitingForPowerEndsWithTheStateOrTheTimeout() async throws {
    let adapter = Adapter(client: AdapterClient(over: host.connection, log: { _, _ in }))
    try await adapter.waitUntilPoweredOn()
    host.say(.state(.poweredOff, nil))
    await host.connection.untilTaken(2)
    #expect(adapter.state == .poweredOff)
    await expectThrows(.timedOut) { try await adapter.waitUntilPoweredOn(timeout: .milliseconds(1)) }
    let waiting = Task { try await adapter.waitUntilPoweredOn() }
    host.say(.state(.poweredOn, nil))
    try await waiting.value
  }

  @Test func connectionThatFailsThrows() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: address, timeout: nil) }
    guard case .connect(let id, _, _, _) = try await host.next() else { throw CancellationError() }
    host.say(.connectionFailed(id, .unsupported("connections")))
    await expectThrows(.unsupported) { _ = try await connecting.value }
  }

  @Test func connectionIsCancelledAfterItsTimeout() async throws {
    let adapter = try await host.open()
    await expectThrows(.timedOut) { _ = try await adapter.connect(to: address, timeout: .milliseconds(1)) }
    guard case .connect(let id, _, _, _) = try await host.next() else { throw CancellationError() }
    guard case .cancelConnect(id) = try await host.next() else { Issue.record("another command"); return }
  }

  @Test func connectionIsCancelledWithItsTask() async throws {
    let adapter = try await host.open()
    let connecting = Task { try await adapter.connect(to: address, timeout: nil) }
    guard case .connect(let id, _, _, _) = try await host.next() else { throw CancellationError() }
    connecting.cancel()
    await expectThrows(.cancelled) { _ = try await connecting.value }
    guard case .cancelConnect(id) = try await host.next() else { Issue.record("another command"); return }
  }

  @Test func signalStrengthIsReadFromTheController() async throws {
    let device = try await link(try await host.open())
    let reading = Task { try await device.readRSSI() }
    guard case .readRSSI(peer) = try await host.next() else { Issue.record("another command"); return }
    host.say(.rssi(peer, .success(-50)))
    #expect(try await reading.value == -50)
  }

  @Test func operationAfterTheLossOfABondSaysWhatToDo() async throws {
    let device = try await link(try await host.open())
    host.say(.bondLost(peer, address, .forgottenByPeer))
    let discovering = Task { try await device.services() }
    guard case .client(_, let operation) = try await host.next() else { throw CancellationError() }
    host.say(.client(peer, .finished(operation.id, .failure(.notEncrypted))))
    let error = await #expect(throws: BLEError.self) { _ = try await discovering.value }
    #expect(error?.kind == .security)
    #expect(error?.description.contains("has forgotten this bond") == true)
  }

  @Test func scanEndsWithItsSequence() async throws {
    let adapter = try await host.open()
    let reading = Task { for try await _ in adapter.scan() {} }
    guard case .startScanning = try await host.next() else { throw CancellationError() }
    reading.cancel()
    _ = await reading.result
    guard case .stopScanning = try await host.next() else { Issue.record("another command"); return }
  }

  @Test func connectionsThatNobodyReadsKeepTheNewest256() async throws {
    let adapter = try await host.open()
    let connections = adapter.connections
    for number in UInt32(0)...257 {
      host.say(
        .connected(
          Connection(
            peer: PeerID(rawValue: 100 + number), address: .init(octets: .init(UInt64(number)), kind: .public),
            role: .peripheral, timing: LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500))))
    }
    await host.connection.untilTaken(259)
    adapter.close()
    var octets: [UInt64] = []
    for await device in connections { octets.append(UInt64(device.address.octets.value)) }
    #expect(octets == Array(2...257))
  }
}
