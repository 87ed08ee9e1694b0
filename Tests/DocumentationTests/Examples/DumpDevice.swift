import BluetoothLE

/// What `bumble-gatt-dump` prints: the services, characteristics and descriptors of a device, one line for each.
func dump(_ device: RemoteDevice) async throws -> [String] {
  var lines: [String] = []
  for service in try await device.services() {
    lines.append("service \(service.uuid)")
    for characteristic in service.characteristics {
      lines.append("  \(characteristic.handle) \(characteristic.uuid) \(characteristic.properties)")
      for descriptor in try await device.descriptors(of: characteristic) {
        lines.append("    \(descriptor.handle) \(descriptor.uuid)")
      }
    }
  }
  return lines
}
