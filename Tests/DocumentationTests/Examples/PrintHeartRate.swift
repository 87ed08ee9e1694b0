import BluetoothLE

/// bleak's `read_gatt_char` and `start_notify`: the battery of a device that is found by its name, then its heart rate.
func printHeartRate(of name: String, with adapter: Adapter, count: Int) async throws {
  try await adapter.withConnection(to: .named(name)) { device in
    print("battery: \(try await device.read("2A19", in: "180F", as: UInt8.self)) %")
    var received = 0
    for try await value in device.values(of: "2A37", in: "180D") {
      // The first octet has the flags: bit 0 is set where the rate has two octets.
      guard let flags = value.first, value.count > 1, flags & 1 == 0 else { continue }
      print("heart rate: \(value[1]) beats per minute")
      received += 1
      if received == count { return }
    }
  }
}
