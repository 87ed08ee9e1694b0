import BLEKit
import Testing

struct BatteryServiceTests {
  let battery = LocalService("180F", [LocalCharacteristic("2A19").readSynchronously { _ in UInt8(97) }])

  @Test func aCentralReadsTheLevel() async throws {
    let peripheral = try await Adapter.open(AdapterOptions(transport: "virtual:peripheral"))
    let central = try await Adapter.open(AdapterOptions(transport: "virtual:central"))
    let serving = Task { try await peripheral.serve([battery], advertisingAs: "Battery") }
    defer { serving.cancel() }
    for try await found in central.scan(ScanOptions(services: ["180F"])) {
      let level = try await central.withConnection(to: found.address) { device in
        try await device.read("2A19", in: "180F", as: UInt8.self)
      }
      return #expect(level == 97)
    }
  }
}
