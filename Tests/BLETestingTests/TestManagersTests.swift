import BLETesting
import CoreBluetooth
import Testing

/// A radio in virtual time, with managers of CoreBluetooth.
struct TestManagersTests {
  /// A collector as programs for Apple's systems have it: it connects again whenever its link ends.
  final class Collector: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    private let lock = NSLock()
    private var held: (values: [UInt8], connections: Int, ends: Int) = ([], 0, 0)
    private var peripheral: CBPeripheral?

    var values: [UInt8] { lock.withLock { held.values } }
    var connections: Int { lock.withLock { held.connections } }
    var ends: Int { lock.withLock { held.ends } }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "180F")]) }
    }

    func centralManager(
      _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
      rssi: NSNumber
    ) {
      central.stopScan()
      self.peripheral = peripheral
      peripheral.delegate = self
      central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
      lock.withLock { held.connections += 1 }
      peripheral.discoverServices([CBUUID(string: "180F")])
    }

    func centralManager(
      _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
      lock.withLock { held.ends += 1 }
      central.connect(peripheral)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
      for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
      _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
      for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
    }

    func peripheral(
      _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
      guard let value = characteristic.value?.first else { return }
      lock.withLock { held.values.append(value) }
    }
  }

  /// A battery that notifies when it is told to.
  final class Battery: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    private let level = CBMutableCharacteristic(
      type: CBUUID(string: "2A19"), properties: [.read, .notify], value: nil, permissions: .readable)
    private let lock = NSLock()
    private var count = 0

    var subscribers: Int { lock.withLock { count } }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
      guard peripheral.state == .poweredOn else { return }
      let service = CBMutableService(type: CBUUID(string: "180F"), primary: true)
      service.characteristics = [level]
      peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
      peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    }

    func peripheralManager(
      _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) { lock.withLock { count += 1 } }

    func peripheralManager(
      _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) { lock.withLock { count -= 1 } }

    func notify(_ value: UInt8, _ manager: CBPeripheralManager) -> Bool {
      manager.updateValue(Data([value]), for: level, onSubscribedCentrals: nil)
    }
  }

  @Test func aCollectorConnectsAgainWhenTheDeviceReturns() async throws {
    let (collector, battery) = (Collector(), Battery())
    try await TestRadio.run { radio in
      let sensor = try await radio.device("sensor")
      let peripheral = try await sensor.peripheralManager(delegate: battery)
      let phone = try await radio.device("phone")
      let central = try await phone.centralManager(delegate: collector)
      try await radio.wait { battery.subscribers == 1 }
      #expect(battery.notify(1, peripheral))
      try await radio.wait { collector.values == [1] }

      try await sensor.moveOutOfRange()
      try await radio.wait { collector.ends == 1 && battery.subscribers == 0 }
      // Far longer than any limit of the stack.
      try await radio.clock.sleep(for: .seconds(600))
      #expect(collector.connections == 1)

      try await sensor.moveIntoRange()
      try await radio.wait { battery.subscribers == 1 }
      #expect(battery.notify(2, peripheral))
      try await radio.wait { collector.values == [1, 2] }
      #expect(collector.connections == 2)
      #expect(central.state == .poweredOn)
    }
  }

  @Test func managersSeeThatTheirControllerIsGone() async throws {
    let (collector, battery) = (Collector(), Battery())
    try await TestRadio.run { radio in
      let sensor = try await radio.device("sensor")
      let peripheral = try await sensor.peripheralManager(delegate: battery, queue: DispatchQueue(label: "mine"))
      let phone = try await radio.device("phone")
      let central = try await phone.centralManager(delegate: collector)
      try await radio.wait { battery.subscribers == 1 }
      try await phone.powerOff()
      try await radio.wait { central.state == .poweredOff && battery.subscribers == 0 }
      #expect(peripheral.state == .poweredOn)
    }
  }
}
