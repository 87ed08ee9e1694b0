import BluetoothLE
import Synchronization
import Testing

/// A lamp that is switched by a write, and its test.
struct LampTests {
  final class Lamp: Sendable {
    let isOn = Mutex(false)

    var service: LocalService {
      LocalService(
        "FFE0",
        [
          LocalCharacteristic("FFE1").write(Bool.self) { isOn, _ in self.isOn.withLock { $0 = isOn } }
        ])
    }
  }

  @Test func aWriteSwitchesTheLamp() async throws {
    let lamp = Lamp()
    let peripheral = try await Adapter.open(AdapterOptions(transport: "virtual:lamp"))
    let publication = try await peripheral.publish([lamp.service])
    let advertising = Task { try await peripheral.advertise(Advertisement(serviceUUIDs: ["FFE0"])) }
    defer { advertising.cancel() }
    let central = try await Adapter.open(AdapterOptions(transport: "virtual:phone"))
    let address = try #require(peripheral.address)
    try await central.withConnection(to: address) { device in
      try await device.write(true, to: "FFE1", in: "FFE0")
    }
    #expect(lamp.isOn.withLock { $0 })
    await publication.remove()
  }
}
