import BluetoothLE

/// Finds the light, pairs because the write demands it, and reads whether it is on.
func switchLight(on isOn: Bool, with adapter: Adapter) async throws -> Bool? {
  for try await result in adapter.scan(ScanOptions(services: [Light.service])) where result.isConnectable {
    return try await adapter.withConnection(to: result.address) { device in
      try await device.write(isOn, to: Light.isOn, in: Light.service)
      return try await device.read(Light.isOn, in: Light.service, as: Bool.self)
    }
  }
  return nil
}
