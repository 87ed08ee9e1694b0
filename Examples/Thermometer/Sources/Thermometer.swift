import BLEProfiles
import Foundation

/// The temperature of this computer as a Health Thermometer and as an Environmental Sensing value, and a central that reads them.
@main struct Thermometer {
  static let usage = """
    thermometer [--role peripheral|central] [--transport SPEC] [--zone FILE] [--count N]

      --role ROLE       one end alone; without it both ends run here, on the simulated radio
      --transport SPEC  the controller of that end, e.g. linux, tcp-client:127.0.0.1:6402
      --zone FILE       peripheral: the file with the temperature in 0.001 °C (/sys/class/thermal/thermal_zone0/temp)
      --count N         central: how many measurements it waits for (3)
    """

  static func main() async {
    await Program.run(usage) { program in
      let sensor = Sensor(file: program.value("--zone") ?? "/sys/class/thermal/thermal_zone0/temp")
      let count = try program.number("--count", or: 3, in: 1...1_000)
      try await program.runRoles {
        try await serve(sensor, on: $0)
      } central: {
        try await read(with: $0, count: count)
      }
    }
  }

  static func serve(_ sensor: Sensor, on adapter: Adapter) async throws {
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
    say("advertises as \"Thermometer\", \(sensor.isSimulated ? "with simulated values" : "with \(sensor.file)")")
    try await adapter.serve([health, environment], advertisingAs: "Thermometer")
  }

  static func read(with adapter: Adapter, count: Int) async throws {
    try await adapter.withDevice(advertising: HealthThermometer.service) { device in
      if let value = try await device.readIfPresent(EnvironmentalSensing.temperature) { say("reads \(value)") }
      try await within(.seconds(20), "\(count) measurements") {
        var received = 0
        for try await measurement in try await device.values(of: HealthThermometer.measurement) {
          let time = measurement.timeStamp.map { " at \($0)" } ?? ""
          switch measurement.temperature {
          case .celsius(let number): say("measures \(number) °C\(time)")
          case .fahrenheit(let number): say("measures \(number) °F\(time)")
          }
          received += 1
          if received == count { break }
        }
      }
    }
  }
}

/// A thermal zone of Linux; a simulated temperature where the file does not exist.
struct Sensor: Sendable {
  let file: String

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
