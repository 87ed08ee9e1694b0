import BLEKit
import Testing

/// Two adapters that connect to each other have one link.
@Suite struct MutualConnectionTests {
  @Test func aLinkThatTheDeviceMakesFulfilsAPendingConnection() async throws {
    let air = try await OnTheAir()
    let serving = Task { try await air.peripheral.serve([LocalService(air.service, [])], advertisingAs: "There") }
    let there = try await air.find()
    // From now on only the other one can connect.
    serving.cancel()
    _ = await serving.result
    let pending = Task { try await air.central.connect(to: there, timeout: OnTheAir.patience) }
    let answering = Task { try await air.central.serve([LocalService(air.service, [])], advertisingAs: "Here") }
    defer { answering.cancel() }
    var found: ScanResult?
    for try await result in air.peripheral.scan(ScanOptions(services: [air.service])) {
      found = result
      break
    }
    let here = try await air.peripheral.connect(to: try #require(found), timeout: OnTheAir.patience)
    let device = try await pending.value
    #expect(try await device.read("2A00", in: "1800", as: String.self) == "There")
    #expect(try await here.read("2A00", in: "1800", as: String.self) == "Here")
    // It is one link.
    await device.disconnect()
    _ = try await here.waitUntilDisconnected()
  }
}
