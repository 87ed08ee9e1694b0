import BluetoothLE

/// The central: a watch that looks for a monitor and listens to it.
final class HeartRateCollector: Sendable {
  private let manager: CentralManager
  /// How long any one step may take.
  private let patience = Duration.seconds(10)

  init(adapter: AdapterOptions) {
    manager = CentralManager(delegate: nil, queue: DispatchQueue(label: "collector"), adapter: adapter)
  }

  /// Finds a monitor, asks it everything, hears `beats` heart beats, and leaves.
  func collect(_ beats: Int) async throws {
    do {
      try await manager.waitUntilPoweredOn(timeout: patience)
    } catch {
      throw manager.stateReason ?? error
    }
    let monitor = try await find()
    try await manager.connect(monitor, timeout: patience)
    say("watch", "connected to \(monitor.name ?? "a device without a name")")

    let services = try await monitor.services(timeout: patience)
    var found: [CBUUID: Characteristic] = [:]
    for service in services {
      let characteristics = try await monitor.characteristics(of: service, timeout: patience)
      for characteristic in characteristics { found[characteristic.uuid] = characteristic }
      say("watch", "finds \(service.uuid): \(characteristics.map(\.uuid.uuidString).joined(separator: " "))")
    }
    func characteristic(_ uuid: CBUUID) throws -> Characteristic {
      guard let characteristic = found[uuid] else { throw Disappointment("the monitor has no characteristic \(uuid)") }
      return characteristic
    }

    if let maker = found[HeartRateProfile.manufacturerName], let model = found[HeartRateProfile.modelNumber] {
      let text = [try await read(maker, of: monitor), try await read(model, of: monitor)].map {
        String(decoding: $0, as: UTF8.self)
      }
      say("watch", "reads: made by \(text[0]), model \(text[1])")
    }
    if let location = found[HeartRateProfile.bodySensorLocation] {
      let number = Int(try await read(location, of: monitor).first ?? 0)
      let names = HeartRateProfile.bodySensorLocations
      say("watch", "reads: worn on the \(names.indices.contains(number) ? names[number] : "body (place \(number))")")
    }
    if let battery = found[HeartRateProfile.batteryLevel] {
      say("watch", "reads: battery at \(try await read(battery, of: monitor).first ?? 0) %")
    }

    try await listen(to: try characteristic(HeartRateProfile.measurement), of: monitor, for: beats)
    if let controlPoint = found[HeartRateProfile.controlPoint] { try await command(controlPoint, of: monitor) }

    try await manager.disconnect(monitor, timeout: patience)
    say("watch", "disconnected")
  }

  private func find() async throws -> Peripheral {
    say("watch", "looks for a heart rate monitor")
    let manager = manager
    let found = try await within(patience, "a monitor to be heard") {
      for await found in manager.discoveries(withServices: [HeartRateProfile.heartRate])
      where found.device.isConnectable {
        return found
      }
      throw Disappointment("the scan ended without a monitor")
    }
    say(
      "watch", "hears \(found.device.data.localName?.displayText ?? "one without a name") at \(found.device.rssi) dBm")
    return found.peripheral
  }

  private func read(_ characteristic: Characteristic, of monitor: Peripheral) async throws -> Data {
    try await monitor.value(of: characteristic, timeout: patience)
  }

  private func listen(to measurement: Characteristic, of monitor: Peripheral, for beats: Int) async throws {
    let values = monitor.values(of: measurement)
    try await monitor.setNotifying(true, for: measurement, timeout: patience)
    say("watch", "listens")
    let heard = try await within(patience + .seconds(beats), "\(beats) beats") {
      var heard = 0
      for await value in values {
        guard let beat = HeartRateMeasurement(value) else {
          throw Disappointment("a beat that is none: \([UInt8](value))")
        }
        heard += 1
        say("watch", "♥ \(beat.beatsPerMinute) bpm\(beat.energyExpended.map { ", \($0) kJ so far" } ?? "")")
        if heard == beats { break }
      }
      return heard
    }
    guard heard == beats else { throw Disappointment("heard \(heard) of \(beats) beats: the link ended") }
    try await monitor.setNotifying(false, for: measurement, timeout: patience)
  }

  /// Resets the energy, and asks for something that no monitor knows, to see it refused.
  private func command(_ controlPoint: Characteristic, of monitor: Peripheral) async throws {
    try await monitor.write(Data([HeartRateProfile.resetEnergyExpended]), to: controlPoint, timeout: patience)
    say("watch", "has the energy reset")
    do {
      try await monitor.write(Data([0x7F]), to: controlPoint, timeout: patience)
      say("watch", "asks for the impossible, and the monitor takes it")
    } catch let refusal as ATTError {
      say("watch", "asks for the impossible and is refused: \(refusal)")
    }
  }
}
