import BluetoothLE

/// Takes the temperatures of a sensor until the task is cancelled, over as many links as it takes.
///
/// - Parameters:
///   - pause: before the second attempt; each further one waits twice as long, up to a minute.
///   - receive: gets each temperature, in hundredths of a degree Celsius.
/// - Throws: what another attempt does not change: the sensor has no such characteristic, or does not pair.
func followTemperature(
  of sensor: DeviceAddress, with adapter: Adapter, pause first: Duration = .seconds(1),
  receive: @escaping @Sendable (Int16) -> Void
) async throws {
  var pause = first
  while true {
    let start = ContinuousClock.now
    do {
      try await adapter.waitUntilPoweredOn()
      try await adapter.withConnection(to: sensor, timeout: nil) { device in
        receive(try await device.read("2A6E", in: "181A", as: Int16.self))
        let temperature = try await device.characteristic("2A6E", in: "181A")
        for try await value in device.values(of: temperature, as: Int16.self) { receive(value) }
      }
    } catch let error as BLEError {
      switch error.kind {
      case .disconnected, .timedOut, .adapterUnavailable: print("\(sensor): \(error)")
      default: throw error
      }
    }
    // A link that has held for ten seconds was no failed attempt.
    if start.duration(to: .now) > .seconds(10) { pause = first }
    try await Task.sleep(for: pause)
    pause = min(pause * 2, .seconds(60))
  }
}
