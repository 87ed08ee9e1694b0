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
    for try await found in central.scan(ScanOptions(services: ["FFE0"])) {
      try await central.withConnection(to: found.address) { device in
        try await device.write(true, to: "FFE1", in: "FFE0")
      }
      break
    }
    #expect(lamp.isOn.withLock { $0 })
    await publication.remove()
  }
}
