import BluetoothLE

/// A temperature in hundredths of a degree Celsius, as the characteristic 2A6E has it.
func temperature() -> Int16 { Int16.random(in: 2100...2200) }

func serveThermometer() async throws {
  let sensing = LocalService(
    "181A",
    [
      LocalCharacteristic("2A6E")
        .readSynchronously { _ in temperature() }
        .notify { subscriber in
          while true {
            try await subscriber.send(temperature())
            try await Task.sleep(for: .seconds(1))
          }
        }
    ])
  let adapter = try await Adapter.open()
  try await adapter.serve([sensing], advertisingAs: "Thermometer")
}
