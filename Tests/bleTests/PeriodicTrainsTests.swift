import BLEKit
import BLEWire
import Testing

@testable import ble

@Suite struct PeriodicTrainsTests {
  private func train(_ number: Int) -> PeriodicTrain {
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 | UInt64(number)), kind: .random)
    return PeriodicTrain(advertiser: address, advertisingSet: 0)
  }

  @Test func theNumberOfTrainsIsBounded() async throws {
    let adapter = try await Adapter.open(AdapterOptions(transport: "virtual:periodic-trains"), timeout: nil)
    let trains = PeriodicTrains(adapter, [.le1M], isJSON: false)
    for number in 0..<PeriodicTrains.limit { trains.receive(train(number), interval: .milliseconds(100)) }
    #expect(trains.trains.count == PeriodicTrains.limit)
    trains.receive(train(PeriodicTrains.limit), interval: .milliseconds(100))
    trains.receive(train(0), interval: .milliseconds(100))
    #expect(trains.trains == Set((0..<PeriodicTrains.limit).map(train)), "the first ones")
    await trains.end()
  }
}
