import BLEKit
import BLETesting
import CoreBluetooth
import Synchronization
import Testing

@testable import HeartRateReader

/// The reader on a radio in virtual time, with a sensor that a test controls.
struct HeartRateReaderTests {
  private final class Rates: Sendable {
    private let all = Mutex<[Int]>([])
    var values: [Int] { all.withLock { $0 } }
    func append(_ rate: Int) { all.withLock { $0.append(rate) } }
  }

  /// A sensor that sends a rate each second, as long as it exists.
  private static func sensor(on radio: TestRadio) async throws -> TestDevice {
    let sensor = try await radio.device("sensor")
    let adapter = try await sensor.adapter()
    let rates = LocalCharacteristic("2A37").notify { subscriber in
      while true {
        try await subscriber.send([0, 72])
        try await radio.clock.sleep(for: .seconds(1))
      }
    }
    Task(executorPreference: radio.executor) {
      try await adapter.serve(
        [LocalService("180D", [rates])], advertising: Advertisement(serviceUUIDs: ["180D"]))
    }
    return sensor
  }

  @Test func ratesAreReported() async throws {
    try await TestRadio.run { radio in
      let sensor = try await Self.sensor(on: radio)
      let rates = Rates()
      let reader = HeartRateReader { rates.append($0) }
      let manager = try await radio.device("phone").centralManager(delegate: reader)
      defer { withExtendedLifetime(manager) {} }
      try await sensor.expect(.connected, .subscribed("2A37"), .updated("2A37"), within: .seconds(10))
      try await radio.wait { rates.values.count >= 5 }
      #expect(rates.values.allSatisfy { $0 == 72 })
    }
  }

  /// The link is lost, the sensor leaves, either device is switched off: 10 different courses.
  @Test func ratesAreReportedAgainAfterwards() async throws {
    let plan = IncidentPlan(
      of: ["sensor", "phone"], [.losesLinks, .leaves(for: .seconds(30)), .losesPower(for: .seconds(20))], count: 1...3,
      within: .seconds(30))
    try await TestRadio.explore(seeds: 1...10, incidents: plan) { radio in
      _ = try await Self.sensor(on: radio)
      let rates = Rates()
      let reader = HeartRateReader { rates.append($0) }
      let manager = try await radio.device("phone").centralManager(delegate: reader)
      defer { withExtendedLifetime(manager) {} }
      // All incidents are over then.
      try await radio.clock.sleep(for: .seconds(65))
      let before = rates.values.count
      try await radio.wait(atMost: .seconds(20)) { rates.values.count > before }
    }
  }
}
