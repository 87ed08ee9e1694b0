import BluetoothLE

/// bleak's `discover`: the devices that were found in some seconds, the strongest first.
func findDevices(with adapter: Adapter, for duration: Duration) async throws -> [ScanResult] {
  let scan = Task {
    var found: [DeviceAddress: ScanResult] = [:]
    // The sequence ends when the task is cancelled.
    for try await result in adapter.scan() { found[result.address] = result }
    return found
  }
  try await Task.sleep(for: duration)
  scan.cancel()
  return try await scan.value.values.sorted { $0.rssi ?? -128 > $1.rssi ?? -128 }
}
