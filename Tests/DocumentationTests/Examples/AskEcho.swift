import BluetoothLE

/// noble's example "echo": finds the device, writes, and prints what comes back.
func askEcho() async throws {
  let adapter = try await Adapter.open()
  try await adapter.withConnection(to: .advertising("EC00")) { device in
    try await device.write([UInt8]("hello".utf8), to: "EC0E", in: "EC00")
    print(try await device.read("EC0E", in: "EC00"))
  }
}
