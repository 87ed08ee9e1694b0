import BLEProfiles
import Foundation

/// The temperature of this computer as a Health Thermometer and as an Environmental Sensing value, and a central that
/// reads them.
@main struct Thermometer {
  static func main() async {
    await Adapter.runProgram {
      switch CommandLine.arguments.dropFirst().first {
      case "peripheral": try await serve(on: .open())
      case "central": try await read(with: .open())
      case nil:
        // Both ends in this process, on the simulated radio. The peripheral ends with this scope.
        async let _ = serve(on: .open(AdapterOptions(transport: "virtual:peripheral")))
        try await read(with: .open(AdapterOptions(transport: "virtual:central")))
      default: print("usage: thermometer [peripheral | central] [--transport SPEC]")
      }
    }
  }

  static func serve(on adapter: Adapter) async throws {
    let sensor = Sensor()
    let health = HealthThermometer.localService { subscriber in
      while true {
        let number = MedicalFloat(sensor.celsius, decimals: 2)
        let now = DateTime(secondsSince1970: Int64(Date().timeIntervalSince1970))
        try await subscriber.send(TemperatureMeasurement(.celsius(number), timeStamp: now, type: .body))
        try await Task.sleep(for: .milliseconds(500))
      }
    }
    let environment = EnvironmentalSensing.localService([
      EnvironmentalSensing.sensor(Temperature.self) { EnvironmentalValue(sensor.celsius) }
    ])
    print("advertises as \"Thermometer\", \(sensor.isSimulated ? "with simulated values" : "with \(sensor.file)")")
    try await adapter.serve([health, environment], advertisingAs: "Thermometer")
  }

  static func read(with adapter: Adapter) async throws {
    let scan = adapter.scan(ScanOptions(services: [HealthThermometer.service]))
    guard let found = try await scan.first(where: \.isConnectable) else { return }
    try await adapter.withConnection(to: found.address) { device in
      if let value = try await device.readIfPresent(EnvironmentalSensing.temperature) { print("reads \(value)") }
      // Until Control-C, or until the link ends.
      for try await measurement in try await device.values(of: HealthThermometer.measurement) {
        let time = measurement.timeStamp.map { " at \($0)" } ?? ""
        switch measurement.temperature {
        case .celsius(let number): print("measures \(number) °C\(time)")
        case .fahrenheit(let number): print("measures \(number) °F\(time)")
        }
      }
    }
  }
}

/// A thermal zone of Linux; a simulated temperature where the file does not exist.
struct Sensor: Sendable {
  /// A number in 0.001 °C.
  let file = ProcessInfo.processInfo.environment["THERMAL_ZONE"] ?? "/sys/class/thermal/thermal_zone0/temp"

  private var millidegrees: Int? {
    (try? String(contentsOfFile: file, encoding: .utf8)).flatMap {
      Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
    }
  }

  var isSimulated: Bool { millidegrees == nil }

  /// In °C; between 40 and 45 where it is simulated.
  var celsius: Double {
    if let millidegrees { return Double(millidegrees) / 1_000 }
    return 42.5 + 2.5 * sin(Date().timeIntervalSince1970 / 10)
  }
}
