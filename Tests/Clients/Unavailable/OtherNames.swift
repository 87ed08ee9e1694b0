import BluetoothLE

// What users of bleak, noble and CoreBluetooth type first, where the name is another one here. scripts/check-clients
// expects an error in each line with a comment, with the text of the comment in it, and no other error.

func searches(_ adapter: Adapter, _ result: ScanResult) async throws {
  _ = adapter.discover()  // renamed to 'scan(_:)'
  _ = adapter.scanForPeripherals(withServices: ["180D"])  // adapter.scan(ScanOptions(services: ["180D"]))
  _ = adapter.scanForPeripherals(withServices: nil)  // adapter.scan(ScanOptions(services: ["180D"]))
  _ = adapter.scan(services: ["180D"])  // adapter.scan(ScanOptions(services: ["180D"]))
  _ = adapter.scan(for: ["180D"])  // adapter.scan(ScanOptions(services: ["180D"]))
  _ = try await Adapter.open(transport: "virtual:lamp")  // Adapter.open(AdapterOptions(transport: "virtual:lamp"))
  _ = try await adapter.connect(named: "Lamp")  // connect(to: .named("Lamp"))
  _ = try await adapter.connect(to: "Lamp")  // .named("Lamp"), or .at("C0:11:22:33:44:55")
  print(result.localName ?? "")  // renamed to 'name'
  print(result.manufacturerData)  // renamed to 'contents.manufacturerData'
  print(result.serviceData)  // renamed to 'contents.serviceData'
  print(result.serviceUUIDs)  // renamed to 'contents.serviceUUIDs'
}

func serves(_ adapter: Adapter, _ subscriber: Subscriber) async throws {
  try await adapter.startAdvertising(Advertisement(localName: "Lamp"))  // adapter.advertise(Advertisement(
  try await adapter.serve([], advertising: "Lamp")  // renamed to 'serve(_:advertisingAs:)'
  try await subscriber.notify(UInt8(1))  // renamed to 'send(_:)'
}

func names(_ device: RemoteDevice) async throws {
  _ = try await device.read("2A19")  // name the service too: device.read("2A19", in: "180F")
  let _: UInt8 = try await device.read("2A19")  // name the service too: device.read("2A19", in: "180F")
  try await device.write(UInt8(1), to: "2A19")  // name the service too
  for try await value in device.values(of: "2A19") { print(value) }  // name the service too
  for try await value in device.subscribe(to: "2A19") { print(value) }  // device.values(of: "2A19", in: "180F")
  for try await value in device.notifications(of: "2A19", in: "180F") { print(value) }  // renamed to 'values(of:in:)'
}

func uses(_ device: RemoteDevice, _ characteristic: RemoteCharacteristic) async throws {
  print(device.rssi ?? 0)  // renamed to 'readRSSI()'
  _ = try await device.discoverServices()  // device.services()
  _ = try await device.discoverServices(["180D"])  // device.services()
  _ = try await device.readValue(for: characteristic)  // renamed to 'read(_:as:)'
  _ = try await characteristic.read(as: UInt8.self)  // device.read(characteristic)
  let _: UInt8 = try await characteristic.read()  // device.read(characteristic)
  _ = try characteristic.subscribe()  // device.values(of: characteristic)
  _ = try characteristic.notifications()  // device.values(of: characteristic)
  try await characteristic.write(UInt8(1))  // device.write(value, to: characteristic)
  try await device.writeValue(Data([1]), for: characteristic, type: .withoutResponse)  // writeWithoutResponse(_:to:)
  try await device.write(Data([1]), to: characteristic, response: false)  // writeWithoutResponse(_:to:)
  for try await value in device.subscribe(to: characteristic) { print(value) }  // device.values(of: characteristic)
  for try await value in device.notifications(of: characteristic) { print(value) }  // device.values(of: characteristic)
  device.setNotifyValue(true, for: characteristic)  // device.values(of: characteristic)
}

func values(_ device: RemoteDevice, _ characteristic: RemoteCharacteristic) async throws {
  try await device.write(1, to: characteristic)  // UInt8(1), Int16(-5)
  _ = try await device.read(characteristic, as: Int.self)  // UInt8(1), Int16(-5)
  _ = LocalCharacteristic("2A19").read { _ in 97 }  // UInt8(1), Int16(-5)
}

func codes(_ error: BLEError) { print(error.code ?? .invalidHandle) }  // if case .att(let code) = error.kind

func characteristics() {
  _ = LocalCharacteristic("2A19", properties: [.read, .write])  // .read { _ in value }
  _ = LocalCharacteristic("2A19", properties: [.read], value: Data([97]))  // LocalCharacteristic(uuid).value(value)
  _ = LocalCharacteristic("2A19", properties: [.read]) { _ in UInt8(97) }  // .read { _ in value }
  _ = LocalCharacteristic("2A19").read { _ -> UInt8 in throw BLEError.att(.readNotPermitted) }  // throw ATTErrorCode.
}
