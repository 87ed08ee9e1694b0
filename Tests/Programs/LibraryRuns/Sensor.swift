import CoreBluetooth

/// The sensor that each run meets: the program room-sensor.
enum Sensor {
  static let room = CBUUID(string: "181A")
  static let temperature = CBUUID(string: "2A6E")
  static let label = CBUUID(string: "E5A00002-4B1D-4E0C-9C35-6B2D7A1F0C11")

  static func degrees(_ data: Data) -> String {
    guard data.count == 2 else { return "no temperature" }
    return String(format: "%.2f", Double(Int16(data[0]) | Int16(data[1]) << 8) / 100)
  }
}
