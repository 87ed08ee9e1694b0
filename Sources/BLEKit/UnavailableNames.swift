public import BLEATT
public import BLEGAP
public import BLEGATT
public import BLEWire

// Names of other libraries for what has another name here: the error of the compiler is the name to write. No program
// can call them. Tests/Clients/Unavailable has a line for each, with the text that the error must contain.

// MARK: - Searching

extension Adapter {
  @available(*, unavailable, renamed: "scan(_:)")
  public func discover() -> ScanResults { scan() }

  @available(*, unavailable, message: "for try await result in adapter.scan(ScanOptions(services: [\"180D\"]))")
  public func scanForPeripherals(withServices services: [BluetoothUUID]?) -> ScanResults {
    scan(ScanOptions(services: services ?? []))
  }

  @available(*, unavailable, message: "adapter.scan(ScanOptions(services: [\"180D\"]))")
  public func scan(services: [BluetoothUUID]) -> ScanResults { scan(ScanOptions(services: services)) }

  @available(*, unavailable, message: "adapter.scan(ScanOptions(services: [\"180D\"]))")
  public func scan(for services: [BluetoothUUID]) -> ScanResults { scan(ScanOptions(services: services)) }

  @available(*, unavailable, message: "Adapter.open(AdapterOptions(transport: \"virtual:lamp\"))")
  public static func open(transport: String) async throws -> Adapter {
    try await open(AdapterOptions(transport: transport))
  }

  @available(*, unavailable, message: "connect(to: .named(\"Lamp\"))")
  public func connect(named name: String) async throws -> RemoteDevice { try await connect(to: .named(name)) }

  @available(*, unavailable, message: "try await adapter.advertise(Advertisement(localName: \"Lamp\"))")
  public func startAdvertising(_ advertisement: Advertisement) async throws { try await advertise(advertisement) }
}

@available(*, unavailable, message: "write .named(\"Lamp\"), or .at(\"C0:11:22:33:44:55\") for an address")
extension String: ConnectionTarget {
  public var connectionRoute: ConnectionRoute { DeviceSelector.named(self).connectionRoute }
}

extension ScanResult {
  @available(*, unavailable, renamed: "name")
  public var localName: String? { name }

  @available(*, unavailable, renamed: "contents.manufacturerData")
  public var manufacturerData: [ManufacturerData] { contents.manufacturerData }

  @available(*, unavailable, renamed: "contents.serviceData")
  public var serviceData: [ServiceData] { contents.serviceData }

  @available(*, unavailable, renamed: "contents.serviceUUIDs")
  public var serviceUUIDs: [BluetoothUUID] { contents.serviceUUIDs }
}

// MARK: - Devices

extension RemoteDevice {
  @available(*, unavailable, message: "name the service too: device.read(\"2A19\", in: \"180F\")")
  public func read(_ characteristic: BluetoothUUID) async throws -> [UInt8] { [] }

  @available(*, unavailable, message: "name the service too: device.read(\"2A19\", in: \"180F\")")
  public func read<Value: GATTValue>(
    _ characteristic: BluetoothUUID, as type: Value.Type = Value.self
  ) async throws -> Value { throw BLEError.notConnected }

  @available(*, unavailable, message: "name the service too: device.write(value, to: \"2A19\", in: \"180F\")")
  public func write(_ value: some GATTValue, to characteristic: BluetoothUUID) async throws {}

  @available(*, unavailable, message: "name the service too: device.values(of: \"2A19\", in: \"180F\")")
  public func values(of characteristic: BluetoothUUID) -> CharacteristicValues<[UInt8]> {
    values(of: characteristic, in: "180F")
  }

  @available(*, unavailable, message: "for try await value in device.values(of: \"2A19\", in: \"180F\")")
  public func subscribe(to characteristic: BluetoothUUID) -> CharacteristicValues<[UInt8]> {
    values(of: characteristic, in: "180F")
  }

  @available(*, unavailable, renamed: "values(of:in:)")
  public func notifications(
    of characteristic: BluetoothUUID, in service: BluetoothUUID
  ) -> CharacteristicValues<[UInt8]> { values(of: characteristic, in: service) }

  @available(*, unavailable, renamed: "readRSSI()")
  public var rssi: Int? { nil }

  @available(*, unavailable, message: "try await device.services() discovers them, with their characteristics")
  public func discoverServices(_ services: [BluetoothUUID]? = nil) async throws -> [RemoteService] {
    try await self.services()
  }

  @available(*, unavailable, renamed: "read(_:as:)")
  public func readValue(for characteristic: RemoteCharacteristic) async throws -> [UInt8] {
    try await read(characteristic)
  }

  @available(*, unavailable, message: "write(_:to:), or writeWithoutResponse(_:to:)")
  public func writeValue(
    _ value: some GATTValue, for characteristic: RemoteCharacteristic, type: LocalCharacteristic.WriteKinds
  ) async throws { try await write(value, to: characteristic) }

  @available(*, unavailable, message: "without a response: writeWithoutResponse(_:to:)")
  public func write(_ value: some GATTValue, to characteristic: RemoteCharacteristic, response: Bool) async throws {
    try await write(value, to: characteristic)
  }

  @available(*, unavailable, message: "for try await value in device.values(of: characteristic)")
  public func subscribe(to characteristic: RemoteCharacteristic) -> CharacteristicValues<[UInt8]> {
    values(of: characteristic)
  }

  @available(*, unavailable, message: "for try await value in device.values(of: characteristic)")
  public func notifications(of characteristic: RemoteCharacteristic) -> CharacteristicValues<[UInt8]> {
    values(of: characteristic)
  }

  @available(*, unavailable, message: "for try await value in device.values(of: characteristic)")
  public func setNotifyValue(_ isEnabled: Bool, for characteristic: RemoteCharacteristic) {}
}

extension RemoteCharacteristic {
  @available(*, unavailable, message: "device.read(characteristic)")
  public func read<Value: GATTValue>(as type: Value.Type = Value.self) async throws -> Value {
    throw BLEError.notConnected
  }

  @available(*, unavailable, message: "for try await value in device.values(of: characteristic)")
  public func subscribe() throws -> CharacteristicValues<[UInt8]> { throw BLEError.notConnected }

  @available(*, unavailable, message: "for try await value in device.values(of: characteristic)")
  public func notifications() throws -> CharacteristicValues<[UInt8]> { throw BLEError.notConnected }

  @available(*, unavailable, message: "device.write(value, to: characteristic)")
  public func write(_ value: some GATTValue) async throws {}
}

// MARK: - Services of this device

extension LocalCharacteristic {
  @available(
    *, unavailable, message: "each handler adds its property: .read { _ in value }, .write { … }, .notify { … }"
  )
  public init(_ uuid: BluetoothUUID, properties: GATTCharacteristicProperties) { self.init(uuid) }

  @available(*, unavailable, message: "LocalCharacteristic(uuid).value(value), or .read { _ in value } if it changes")
  public init(_ uuid: BluetoothUUID, properties: GATTCharacteristicProperties, value: some GATTValue) {
    self.init(uuid)
  }

  @available(
    *, unavailable, message: "each handler adds its property: .read { _ in value }, .write { … }, .notify { … }"
  )
  public init<Value: GATTValue>(
    _ uuid: BluetoothUUID, properties: GATTCharacteristicProperties,
    _ handler: @escaping @Sendable (RemoteDevice) async throws -> Value
  ) { self.init(uuid) }
}

extension Adapter {
  @available(*, unavailable, renamed: "serve(_:advertisingAs:)")
  public func serve(_ services: [LocalService], advertising name: String) async throws {
    try await serve(services, advertisingAs: name)
  }
}

extension Subscriber {
  @available(*, unavailable, renamed: "send(_:)")
  public func notify(_ value: some GATTValue) async throws { try await send(value) }
}

extension ServicePublication {
  @available(*, unavailable, message: "send(value, for: characteristic)")
  public func notify(_ value: some GATTValue, for characteristic: BluetoothUUID) {}
}

// MARK: - Values and errors

@available(*, unavailable, message: "a value has a fixed number of octets: write UInt8(1), Int16(-5) or another size")
extension Int: GATTValue {}

extension BLEError {
  @available(
    *, unavailable, message: "in a handler: throw ATTErrorCode.writeNotPermitted; of a caught error: switch error.kind"
  )
  public static func att(_ code: ATTErrorCode) -> Self { Self(.att(code), "\(code)") }

  @available(*, unavailable, message: "if case .att(let code) = error.kind")
  public var code: ATTErrorCode? { nil }
}
