import BluetoothLE

// What a newcomer types first, and compiles.

let sensorService: BluetoothUUID = "7D0A0031-9E47-4C5A-9B1B-3C1E6F2A8D10"

func findsAndConnects(_ adapter: Adapter) async throws {
  for try await result in adapter.scan() {
    print(result.name ?? "no name", result.address, result.rssi ?? 0, result.contents.serviceUUIDs)
    let device = try await adapter.connect(to: result)
    print(device.name ?? "no name")
    break
  }
  _ = try await adapter.findDevice(named: "Lamp", timeout: .seconds(5))
  _ = try await adapter.findDevice(advertising: "180D", timeout: .seconds(5))
  _ = try await adapter.findDevice(at: "C0:11:22:33:44:55", timeout: .seconds(5))
  _ = try await adapter.connect(to: .named("Lamp"))
  _ = try await adapter.connect(to: .at("C0:11:22:33:44:55"))
}

func readsAndWrites(_ device: RemoteDevice, _ characteristic: RemoteCharacteristic) async throws {
  print(try await device.read("2A19", in: "180F"))
  let level: UInt8 = try await device.read("2A19", in: "180F")
  let factor: Float = try await device.read(characteristic)
  let scale: Double = try await device.read(characteristic)
  let data: Data = try await device.read(characteristic)
  let octets = try await device.read(characteristic)
  print(level, factor, scale, data, octets)
  try await device.write([1, 2], to: characteristic)
  try await device.write(Data([1, 2]), to: characteristic)
  try await device.write("text", to: characteristic)
  try await device.write(1.5, to: characteristic)
  try await device.write(Float(1.5), to: characteristic)
  try await device.writeWithoutResponse([1], to: "2A39", in: "180D")
  for try await value in device.values(of: "2A37", in: "180D") { print(value) }
  for try await value in device.values(of: characteristic, as: UInt16.self) { print(value) }
}

func serves(_ uuid: UUID, _ text: String) throws {
  guard let read = BluetoothUUID(text) else { throw ATTError(.invalidHandle) }
  let value = LocalCharacteristic("2A19").read { _ -> UInt8 in throw ATTErrorCode.insufficientAuthorization }
  _ = LocalService(BluetoothUUID(uuid), [value, LocalCharacteristic(read).value(Float(1.5))])
  _ = LocalService(sensorService, [LocalCharacteristic(BluetoothUUID(0x2A19)).readSynchronously { _ in 21.5 }])
  _ = LocalCharacteristic("2A3A").write { _, _ in throw ATTError(.writeNotPermitted) }
}
