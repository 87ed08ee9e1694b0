import BluetoothLE

/// The program of a service: the same sensor on each of several adapters.
///
/// - Parameter transports: such as `linux:F0:F1:F2:F3:F4:F5`; an address stays, and the index of an adapter does not.
func runSensors(on transports: [String]) async -> Never {
  await Adapter.runProgram {
    try await withThrowingTaskGroup { group in
      for transport in transports {
        group.addTask {
          let adapter = try await Adapter.open(AdapterOptions(transport: transport))
          print("\(transport): ready as \(adapter.address.map { "\($0)" } ?? "?")")
          let sensing = LocalService("181A", [LocalCharacteristic("2A6E").readSynchronously { _ in Int16(2150) }])
          try await adapter.serve([sensing], advertisingAs: "Sensor")
        }
      }
      // The first adapter that fails ends the program, and systemd starts it again.
      try await group.waitForAll()
    }
  }
}
