import BLEProfiles

/// A heart-rate sensor with battery and device information.
func sensorServices(rate: @escaping @Sendable () -> UInt16) -> [LocalService] {
  var information = DeviceInformation()
  information.manufacturerName = "BluetoothLE for Swift"
  information.modelNumber = "Chest strap 1"
  return [
    HeartRate.localService(location: .chest) { subscriber in
      while true {
        try await subscriber.send(HeartRateMeasurement(beatsPerMinute: rate(), contact: .detected))
        try await Task.sleep(for: .seconds(1))
      }
    },
    Battery.localService { BatteryLevel(percent: 87) },
    information.localService(),
  ]
}

/// Reads such a sensor.
func readSensor(_ device: RemoteDevice) async throws -> (rate: UInt16, location: BodySensorLocation, battery: UInt8) {
  let location = try await device.read(HeartRate.bodySensorLocation)
  let battery = try await device.read(Battery.level).percent
  for try await measurement in try await device.values(of: HeartRate.measurement) {
    return (measurement.beatsPerMinute, location, battery)
  }
  throw CancellationError()
}
