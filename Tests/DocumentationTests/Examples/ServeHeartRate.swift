import BLEKit

/// A heart-rate sensor: a body location that is constant, a measurement that is notified, a control point that is written.
func serveHeartRate(on adapter: Adapter, rate: @escaping @Sendable () -> UInt8) async throws {
  let heartRate = LocalService(
    "180D",
    [
      LocalCharacteristic("2A37").notify { subscriber in
        while true {
          try await subscriber.send([0, rate()])
          try await Task.sleep(for: .seconds(1))
        }
      },
      LocalCharacteristic("2A38").value(UInt8(1)),
      LocalCharacteristic("2A39").write(UInt8.self) { command, device in
        guard command == 1 else { throw ATTErrorCode.valueNotAllowed }
        print("\(device) reset the energy expended")
      },
    ])
  try await adapter.serve([heartRate], advertisingAs: "Heart Rate")
}
