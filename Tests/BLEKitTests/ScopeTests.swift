import AdapterFixtures
import BLEHost
import BLEKit
import BLEL2CAP
import Testing

/// The end of a task or a scope takes back what it declared.
@Suite(.usesRadio) struct ScopeTests {
  @Test func aCancelledTaskServesNoMore() async throws {
    let air = try await OnTheAir()
    let service = LocalService(air.service, [LocalCharacteristic("2A29").value("Kit")])
    let server = Task { try await air.peripheral.serve([service], advertisingAs: "Kit") }
    let address = try await air.find()
    // A second advertisement, without the service, makes it possible to connect afterwards.
    let other = Task { try await air.peripheral.advertise(Advertisement(serviceUUIDs: ["1815"])) }
    defer { other.cancel() }
    server.cancel()
    await expectThrows(.cancelled) { try await server.value }
    let uuid = air.service
    try await air.central.withConnection(to: address, timeout: OnTheAir.patience) { device in
      await expectThrows(.notFound) { _ = try await device.service(uuid) }
    }
  }

  @Test func aReleasedPublicationIsWithdrawn() async throws {
    let air = try await OnTheAir()
    do { _ = try await air.peripheral.publish([LocalService("180F", [LocalCharacteristic("2A19").value(UInt8(1))])]) }
    try await air.meet { device in
      await expectThrows(.notFound) { _ = try await device.service("180F") }
    }
  }

  @Test func aCancelledTaskWithdrawsItsPublications() async throws {
    let host = ScriptedHost()
    let adapter = try await host.open()
    let (services, _) = try await host.publish(LocalCharacteristic("2A37").notify(), on: adapter)
    async let published = adapter.publishChannel()
    guard case .channels(.listen(let id, _)) = try await host.next() else { throw CancellationError() }
    host.say(.channels(.listening(id, .success(SPSM(rawValue: 0x80)))))
    let channels = try await published
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await services.remove()
      await channels.remove()
    }.value
    guard case .services(.remove) = try await host.next() else { throw CancellationError() }
    guard case .channels(.stopListening(SPSM(rawValue: 0x80))) = try await host.next() else {
      throw CancellationError()
    }
  }

  @Test func theEndOfAConnectionScopeDisconnects() async throws {
    struct Failure: Error {}
    let air = try await OnTheAir()
    let connections = air.peripheral.connections
    let server = Task { try await air.peripheral.serve([LocalService(air.service, [])], advertisingAs: "Kit") }
    defer { server.cancel() }
    let address = try await air.find()
    await #expect(throws: Failure.self) {
      try await air.central.withConnection(to: address, timeout: OnTheAir.patience) { _ in throw Failure() }
    }
    for await device in connections {
      #expect(device.isCentral)
      #expect(try await device.waitUntilDisconnected().kind == .disconnected)
      break
    }
  }

  @Test func anAttemptToConnectIsGivenUp() async throws {
    let air = try await OnTheAir()
    let nobody = try #require(DeviceAddress("C0:00:00:00:00:01", kind: .random))
    await expectThrows(.timedOut) { _ = try await air.central.connect(to: nobody, timeout: .milliseconds(50)) }
    let attempt = Task { try await air.central.connect(to: nobody, timeout: nil) }
    attempt.cancel()
    await expectThrows(.cancelled) { _ = try await attempt.value }
    // Nothing is left over that keeps the next attempt away.
    try await air.meet { #expect($0.isConnected) }
  }

  @Test func aClosedAdapterAnswersNothing() async throws {
    let air = try await OnTheAir()
    let server = Task { try await air.peripheral.serve([LocalService(air.service, [])], advertisingAs: "Kit") }
    let address = try await air.find()
    let device = try await air.central.connect(to: address, timeout: OnTheAir.patience)
    air.peripheral.close()
    await expectThrows(.adapterUnavailable) { try await server.value }
    await expectThrows(.adapterUnavailable) {
      _ = try await air.peripheral.publish([]); try await air.peripheral.advertise(Advertisement())
    }
    #expect(try await device.waitUntilDisconnected().kind == .disconnected)
    air.peripheral.close()
  }

  @Test func twoScansAtATimeHaveTheirOwnFilters() async throws {
    let air = try await OnTheAir()
    let server = Task { try await air.peripheral.serve([LocalService(air.service, [])], advertisingAs: "Kit") }
    defer { server.cancel() }
    var all = ScanOptions(services: [air.service])
    all.allowsDuplicates = true
    let often = Task { [all] in
      var count = 0
      for try await _ in air.central.scan(all) {
        count += 1
        if count == 5 { break }
      }
      return count
    }
    let address = try await air.find()
    #expect(address.kind == .random || address.kind == .public)
    #expect(try await often.value == 5)
  }
}
