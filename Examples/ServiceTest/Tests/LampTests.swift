import BLEKit
import Lamp
import Testing

struct LampTests {
  @Test func brightnessIsAPercentage() async throws {
    let peripheral = try await Adapter.open(AdapterOptions(transport: "virtual:dimmer"))
    let central = try await Adapter.open(AdapterOptions(transport: "virtual:tablet"))
    let serving = Task { try await peripheral.serve([Lamp().localService], advertisingAs: "Lamp") }
    defer { serving.cancel() }
    let address = try #require(peripheral.address)
    try await central.withConnection(to: address) { device in
      let brightness = try await device.characteristic(Lamp.brightness, in: Lamp.service)
      try await device.write(UInt8(40), to: brightness)
      let refusal = await #expect(throws: BLEError.self) { try await device.write(UInt8(101), to: brightness) }
      #expect(refusal?.kind == .att(.valueNotAllowed))
      #expect(try await device.read(brightness, as: UInt8.self) == 40)
    }
  }
}
