import AdapterFixtures
import BLEAdapter
import BLEHost
import BLEKit
import Testing

@testable import BLEGATT

/// An adapter that is not there is an error at once, in each call; one that was there is waited for.
@Suite struct UnavailableAdapterTests {
  private static let services = [LocalService("180F", [LocalCharacteristic("2A19").value(UInt8(97))])]
  private static let reason = "tcp-client:127.0.0.1:1: cannot connect to 127.0.0.1:1"

  /// An adapter whose transport cannot be opened, as the engine reports it: there is no host, and commands are dropped.
  private func unopened() -> (Adapter, ScriptedConnection) {
    let failure = AdapterError(HostError.transport(Self.reason))
    let connection = ScriptedConnection(failure: failure, perform: { _ in })
    return (Adapter(client: AdapterClient(over: connection, log: { _ in })), connection)
  }

  private func expectUnavailable(_ body: @Sendable () async throws -> Void) async {
    let error = await #expect(throws: BLEError.self) { try await body() }
    #expect(error?.kind == .adapterUnavailable)
    #expect(error?.description.contains(Self.reason) == true)
    // With it a program exits with the status of the reason.
    #expect(error?.adapterError == AdapterError(HostError.transport(Self.reason)))
  }

  @Test func serveAndPublishThrowAsScanDoesWithoutATransport() async {
    let (adapter, connection) = unopened()
    connection.say([.state(.unsupported, nil)])
    await expectUnavailable { for try await _ in adapter.scan() {} }
    await expectUnavailable { try await adapter.serve(Self.services, advertisingAs: "Battery") }
    await expectUnavailable { _ = try await adapter.publish(Self.services) }
    await expectUnavailable { try await adapter.waitUntilPoweredOn() }
  }

  @Test func aPublicationThatWaitsForTheTransportFailsWithIt() async throws {
    let posted = Notes<HostCommand>()
    let connection = ScriptedConnection(
      failure: AdapterError(HostError.transport(Self.reason)), perform: { posted.note($0) })
    let adapter = Adapter(client: AdapterClient(over: connection, log: { _ in }))
    let publishing = Task { try await adapter.publish(Self.services) }
    _ = try await posted.next()
    connection.say([.state(.unsupported, nil)])
    await expectUnavailable { _ = try await publishing.value }
  }

  @Test func serveThrowsBeforeTheAdapterIsPoweredOn() async {
    let (adapter, _) = unopened()
    let error = await #expect(throws: BLEError.self) {
      try await adapter.serve(Self.services, advertisingAs: "Battery")
    }
    #expect(error?.kind == .adapterUnavailable)
  }

  @Test func anAdapterThatIsLostDoesNotEndWhatIsServed() async throws {
    let host = ScriptedHost()
    let adapter = try await host.open()
    let serving = Task { try await adapter.serve(Self.services, advertisingAs: "Battery") }
    guard case .services(.add(let definition)) = try await host.next() else { throw CancellationError() }
    host.say(.services(.added(definition.id, .success(ServiceHandles(range: 0x0010...0x0013, attributes: [:])))))
    guard case .advertising(.start(let id, _)) = try await host.next() else { throw CancellationError() }
    host.say(.advertising(id, .started(.success(()))))
    host.say(.state(.resetting, nil), .state(.poweredOn, nil))
    // What the host gets next is the end of the task, and no second advertisement.
    serving.cancel()
    let ended = try await host.next()
    guard case .advertising(.stop(id)) = ended else { return _ = Issue.record("the next command is \(ended)") }
    guard case .services(.remove(definition.id)) = try await host.next() else { throw CancellationError() }
    host.say(.services(.removed(definition.id, .success(0x0010...0x0013))))
    await expectThrows(.cancelled) { try await serving.value }
  }

  @Test func theErrorOfAnAdapterThatIsNotReadyInTimeHasItsReason() async {
    let (adapter, connection) = unopened()
    connection.say([.state(.poweredOff, nil)])
    let error = await #expect(throws: BLEError.self) { try await adapter.waitUntilPoweredOn(timeout: .milliseconds(1)) }
    #expect(error?.kind == .timedOut && error?.description.contains(Self.reason) == true)
  }
}
