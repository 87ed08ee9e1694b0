import BLEKit
import Testing

struct BatteryServiceTests {
  let battery = LocalService("180F", [LocalCharacteristic("2A19").readSynchronously { _ in UInt8(97) }])

  @Test func aCentralReadsTheLevel() async throws {
    let peripheral = try await Adapter.open(AdapterOptions(transport: "virtual:level-peripheral"))
    let central = try await Adapter.open(AdapterOptions(transport: "virtual:level-central"))
    let serving = Task { try await peripheral.serve([battery], advertisingAs: "Battery") }
    defer { serving.cancel() }
    let address = try #require(peripheral.address)
    let level = try await central.withConnection(to: address) { device in
      try await device.read("2A19", in: "180F", as: UInt8.self)
    }
    #expect(level == 97)
  }
}
