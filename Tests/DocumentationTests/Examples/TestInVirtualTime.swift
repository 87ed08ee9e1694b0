import BLEKit
import BLETesting
import Synchronization
import Testing

/// The program under test: it reads the level of a tank each minute, and goes on when the tank has left and returned.
final class TankReader: Sendable {
  let levels = Mutex<[UInt8]>([])

  func readForever(_ tank: DeviceAddress, with adapter: Adapter, clock: any Clock<Duration>) async throws {
    while true {
      do {
        let level = try await adapter.withConnection(to: tank) { try await $0.read("2A19", in: "180F", as: UInt8.self) }
        levels.withLock { $0.append(level) }
      } catch let error as BLEError where error.kind != .cancelled {
        print("no level: \(error)")
      }
      try await clock.sleep(for: .seconds(60))
    }
  }
}

struct TankReaderTests {
  @Test func theReaderGoesOnWhenTheTankReturns() async throws {
    try await TestRadio.run { radio in
      let tank = try await radio.device("tank")
      let tankAdapter = try await tank.adapter()
      let battery = LocalService("180F", [LocalCharacteristic("2A19").read { _ in UInt8(80) }])
      async let _ = tankAdapter.serve([battery], advertisingAs: "Tank")

      let phoneAdapter = try await radio.device("phone").adapter()
      let reader = TankReader()
      async let _ = reader.readForever(tank.address, with: phoneAdapter, clock: radio.clock)

      try await radio.wait { reader.levels.withLock { $0 == [80] } }
      try await tank.moveOutOfRange()
      try await radio.clock.sleep(for: .seconds(3000))
      #expect(reader.levels.withLock { $0 } == [80])
      try await tank.moveIntoRange()
      try await radio.wait(atMost: .seconds(120)) { reader.levels.withLock { $0 == [80, 80] } }
    }
  }
}
