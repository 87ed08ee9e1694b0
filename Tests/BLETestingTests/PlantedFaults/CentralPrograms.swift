import BLEKit
import BLETesting
import CoreBluetooth
import Synchronization

/// A program on CoreBluetooth that uses one characteristic of one device.
class CentralProgram: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  static let service = CBUUID(string: "FFE0")
  static let value = CBUUID(string: "FFE1")
  /// On the queue of the manager, as everything that a subclass adds.
  var peripheral: CBPeripheral?
  var characteristic: CBCharacteristic?
  private let ready = Mutex(false)

  /// Whether it has its characteristic.
  var isReady: Bool { ready.withLock { $0 } }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [Self.service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover found: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    endScan(central)
    guard peripheral == nil else { return }
    peripheral = found
    found.delegate = self
    central.connect(found)
  }

  func endScan(_ central: CBCentralManager) { central.stopScan() }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.service])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([Self.value], for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    characteristic = service.characteristics?.first
    ready.withLock { $0 = true }
    if let characteristic { use(characteristic, of: peripheral) }
  }

  func use(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) {}

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {}

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}
}

extension PlantedFault {
  /// A sensor whose value is 7 and takes what is written.
  private static func serveSensor(
    on radio: TestRadio, _ options: AdapterOptions = AdapterOptions(), written: @escaping @Sendable ([UInt8]) -> Void
  ) async throws -> (TestDevice, Task<Void, any Error>) {
    let sensor = try await radio.device("sensor", options)
    let adapter = try await sensor.adapter()
    let value = LocalCharacteristic("FFE1").read { _ in UInt8(7) }
      .write(kinds: [.withResponse, .withoutResponse]) { value, _ in written(value) }
    let serving = Task(executorPreference: radio.executor) {
      try await adapter.serve([LocalService("FFE0", [value])], advertising: Advertisement(serviceUUIDs: ["FFE0"]))
    }
    return (sensor, serving)
  }

  /// The user has stopped the program, and it connects again because its link has ended.
  static let reconnectsAfterStop = PlantedFault(testDescription: "a reconnection that races with a disconnection") {
    radio, isPlanted in
    let (sensor, serving) = try await serveSensor(on: radio) { _ in }
    defer { serving.cancel() }
    let program = Reconnector(isPlanted)
    let manager = try await radio.device("phone").centralManager(delegate: program)
    try await radio.wait { program.isReady }
    program.stop(manager)
    try await sensor.expect(.connected, .disconnected(), within: .seconds(10))
    try await sensor.expectNone(of: .connected, for: .seconds(10))
  }

  private final class Reconnector: CentralProgram, @unchecked Sendable {
    private let isPlanted: Bool
    private let stopped = Mutex(false)

    init(_ isPlanted: Bool) { self.isPlanted = isPlanted }

    func stop(_ central: CBCentralManager) {
      stopped.withLock { $0 = true }
      if let peripheral = central.retrieveConnectedPeripherals(withServices: [Self.service]).first {
        central.cancelPeripheralConnection(peripheral)
      }
    }

    override func centralManager(
      _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
      if isPlanted || !stopped.withLock({ $0 }) { central.connect(peripheral) }
    }
  }

  /// A packet of the program has as many octets as it had with the device of its author.
  static let assumesMTU = PlantedFault(testDescription: "an assumed MTU") { radio, isPlanted in
    let received = Mutex<[UInt8]>([])
    let (_, serving) = try await serveSensor(on: radio, AdapterOptions(maximumMTU: 64)) { value in
      received.withLock { $0 += value }
    }
    defer { serving.cancel() }
    let program = Sender(isPlanted)
    let manager = try await radio.device("phone").centralManager(delegate: program)
    defer { withExtendedLifetime(manager) {} }
    try await radio.wait { program.isReady }
    try await radio.clock.sleep(for: .seconds(5))
    let count = received.withLock { $0.count }
    if count != Sender.message.count { throw Found("\(count) of \(Sender.message.count) octets have arrived") }
  }

  private final class Sender: CentralProgram, @unchecked Sendable {
    static let message = [UInt8](repeating: 0x55, count: 180)
    private let isPlanted: Bool

    init(_ isPlanted: Bool) { self.isPlanted = isPlanted }

    override func use(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
      let length = isPlanted ? 182 : peripheral.maximumWriteValueLength(for: .withoutResponse)
      var rest = Self.message[...]
      while !rest.isEmpty {
        peripheral.writeValue(Data(rest.prefix(length)), for: characteristic, type: .withoutResponse)
        rest = rest.dropFirst(length)
      }
    }
  }

  /// The scan goes on after the device was found, and costs energy and time on the radio.
  static let keepsScanning = PlantedFault(testDescription: "a scan that never stops") { radio, isPlanted in
    let (_, serving) = try await serveSensor(on: radio) { _ in }
    defer { serving.cancel() }
    let program = Finder(isPlanted)
    let phone = try await radio.device("phone")
    let manager = try await phone.centralManager(delegate: program)
    defer { withExtendedLifetime(manager) {} }
    try await radio.wait { program.isReady }
    try await radio.clock.sleep(for: .seconds(5))
    if try await phone.isScanning() { throw Found("the phone still scans") }
  }

  private final class Finder: CentralProgram, @unchecked Sendable {
    private let isPlanted: Bool

    init(_ isPlanted: Bool) { self.isPlanted = isPlanted }

    override func endScan(_ central: CBCentralManager) { if !isPlanted { central.stopScan() } }
  }

  /// The objects of an earlier link are invalid, and the program goes on with them.
  static let keepsServices = PlantedFault(
    testDescription: "a retained peripheral and its services",
    plan: IncidentPlan(of: ["phone"], [.losesPower(for: .seconds(5))], count: 1...2, within: .seconds(20))
  ) { radio, isPlanted in
    let writes = Mutex(0)
    let (_, serving) = try await serveSensor(on: radio) { _ in writes.withLock { $0 += 1 } }
    defer { serving.cancel() }
    let program = Keeper(isPlanted)
    let manager = try await radio.device("phone").centralManager(delegate: program)
    defer { withExtendedLifetime(manager) {} }
    try await radio.clock.sleep(for: .seconds(40))
    let before = writes.withLock { $0 }
    program.write()
    try await radio.clock.sleep(for: .seconds(5))
    if writes.withLock({ $0 }) == before { throw Found("the value is not written") }
  }

  private final class Keeper: CentralProgram, @unchecked Sendable {
    private let isPlanted: Bool
    private let used = Mutex<(CBPeripheral, CBCharacteristic)?>(nil)

    init(_ isPlanted: Bool) { self.isPlanted = isPlanted }

    func write() {
      guard let (peripheral, characteristic) = used.withLock({ $0 }) else { return }
      peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    }

    override func centralManagerDidUpdateState(_ central: CBCentralManager) {
      if central.state == .poweredOn, let peripheral {
        central.connect(peripheral)
      } else {
        super.centralManagerDidUpdateState(central)
      }
    }

    override func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
      if isPlanted, characteristic != nil { return }
      super.centralManager(central, didConnect: peripheral)
    }

    override func use(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
      used.withLock { $0 = (peripheral, characteristic) }
    }
  }

  /// A function that waits for the value, called on the queue on which the value would be reported.
  static let waitsOnItsQueue = PlantedFault(testDescription: "a wrong queue", patience: .milliseconds(500)) {
    radio, isPlanted in
    let (_, serving) = try await serveSensor(on: radio) { _ in }
    defer { serving.cancel() }
    let program = Waiter(isPlanted)
    let manager = try await radio.device("phone").centralManager(delegate: program)
    defer { withExtendedLifetime(manager) {} }
    try await radio.wait(atMost: .seconds(20)) { program.hasValue.withLock { $0 } }
  }

  private final class Waiter: CentralProgram, @unchecked Sendable {
    let hasValue = Mutex(false)
    private let isPlanted: Bool
    private let arrived = DispatchSemaphore(value: 0)

    init(_ isPlanted: Bool) { self.isPlanted = isPlanted }

    override func use(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
      peripheral.readValue(for: characteristic)
      if isPlanted { arrived.wait() }
    }

    override func peripheral(
      _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
      hasValue.withLock { $0 = true }
      arrived.signal()
    }
  }
}
