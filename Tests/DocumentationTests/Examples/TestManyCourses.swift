import BLEKit
import BLETesting
import Synchronization
import Testing

struct TankReaderCourseTests {
  @Test func theReaderGoesOnWhateverHappens() async throws {
    let plan = IncidentPlan(
      of: ["tank", "phone"], [.losesLinks, .leaves(for: .seconds(60)), .losesPower(for: .seconds(60))], count: 1...3,
      within: .seconds(120))
    try await TestRadio.explore(seeds: 1...5, incidents: plan) { radio in
      let tank = try await radio.device("tank")
      let tankAdapter = try await tank.adapter()
      let battery = LocalService("180F", [LocalCharacteristic("2A19").read { _ in UInt8(80) }])
      async let _ = tankAdapter.serve([battery], advertisingAs: "Tank")

      let phoneAdapter = try await radio.device("phone").adapter()
      let reader = TankReader()
      async let _ = reader.readForever(tank.address, with: phoneAdapter, clock: radio.clock)

      // All incidents are over then.
      try await radio.clock.sleep(for: .seconds(200))
      let before = reader.levels.withLock { $0.count }
      try await radio.wait(atMost: .seconds(120)) { reader.levels.withLock { $0.count } > before }
    }
  }
}
