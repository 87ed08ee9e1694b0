import BLEProfiles
import BluetoothLE

/// The central: a watch that finds a monitor and receives its measurements.
final class HeartRateCollector: Sendable {
  private let adapter: Adapter
  /// How long any one step may take.
  private let limit = Duration.seconds(10)

  init(adapter options: AdapterOptions) { adapter = Adapter(options) }

  /// Finds a monitor, reads its values, receives `beats` measurements, and disconnects.
  func collect(_ beats: Int) async throws {
    do {
      try await adapter.waitUntilPoweredOn(timeout: limit)
    } catch {
      throw adapter.stateReason ?? error
    }
    let found = try await find()
    try await adapter.withConnection(to: found.address, timeout: limit) { monitor in
      try await self.collect(beats, from: monitor, name: found.contents.localName?.displayText)
    }
    say("watch", "disconnected")
  }

  private func collect(_ beats: Int, from monitor: RemoteDevice, name: String?) async throws {
    say("watch", "connected to \(name ?? "a device without a name")")
    var found: [BluetoothUUID: RemoteCharacteristic] = [:]
    for service in try await within(limit, "the services", { try await monitor.services() }) {
      for characteristic in service.characteristics { found[characteristic.uuid] = characteristic }
      say("watch", "finds \(service.uuid): \(service.characteristics.map { "\($0.uuid)" }.joined(separator: " "))")
    }

    if let maker = found["2A29"], let model = found["2A24"] {
      let names = (try await read(maker, as: String.self), try await read(model, as: String.self))
      say("watch", "reads: made by \(names.0), model \(names.1)")
    }
    if let location = found[HeartRate.bodySensorLocation.uuid] {
      let place = try await read(location, as: BodySensorLocation.self)
      say("watch", "reads: worn on the \(place.name?.lowercased() ?? "body (location \(place.rawValue))")")
    }
    if let battery = found[Battery.level.uuid] {
      say("watch", "reads: battery at \(try await read(battery, as: BatteryLevel.self).percent) %")
    }
    guard let measurement = found[HeartRate.measurement.uuid] else {
      throw Disappointment("the monitor has no characteristic \(HeartRate.measurement.uuid)")
    }
    try await receive(beats, of: measurement, from: monitor)
    if let controlPoint = found[HeartRate.controlPoint.uuid] { try await command(controlPoint, of: monitor) }

    func read<Value: GATTValue>(_ characteristic: RemoteCharacteristic, as type: Value.Type) async throws -> Value {
      try await within(limit, "the value of \(characteristic.uuid)") {
        try await monitor.read(characteristic, as: type)
      }
    }
  }

  private func find() async throws -> ScanResult {
    say("watch", "scans for a heart rate monitor")
    let found = try await within(limit, "an advertisement of a monitor") { [adapter] in
      for try await result in adapter.scan(ScanOptions(services: [HeartRate.service]))
      where result.isConnectable {
        return result
      }
      throw Disappointment("the scan ended without a monitor")
    }
    say(
      "watch",
      "finds \(found.contents.localName?.displayText ?? "one without a name") at \(found.rssi.map { "\($0) dBm" } ?? "an unknown RSSI")"
    )
    return found
  }

  private func receive(_ beats: Int, of measurement: RemoteCharacteristic, from monitor: RemoteDevice) async throws {
    say("watch", "subscribes")
    try await within(limit + .seconds(beats), "\(beats) beats") {
      var received = 0
      for try await beat in monitor.values(of: measurement, as: HeartRateMeasurement.self) {
        received += 1
        say("watch", "♥ \(beat.beatsPerMinute) bpm\(beat.energyExpended.map { ", \($0) kJ so far" } ?? "")")
        if received == beats { break }
      }
    }
  }

  /// Resets the energy expended, then writes a value that no monitor supports.
  private func command(_ controlPoint: RemoteCharacteristic, of monitor: RemoteDevice) async throws {
    try await within(limit, "the reset of the energy expended") {
      try await monitor.write(HeartRateCommand(.resetEnergyExpended), to: controlPoint)
    }
    say("watch", "resets the energy expended")
    do {
      try await within(limit, "the answer of the control point") {
        try await monitor.write(UInt8(0x7F), to: controlPoint)
      }
      say("watch", "writes 0x7F to the control point: accepted")
    } catch let error as BLEError {
      guard case .att(let code) = error.kind else { throw error }
      say("watch", "writes 0x7F to the control point: rejected, \(code)")
    }
  }
}
