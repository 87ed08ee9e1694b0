// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetooth

/// The other side of the hello demo, on a queue of its own: it subscribes, and looks again when the services have
/// changed.
final class HelloReader: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private static let service = CBUUID(string: "0BADCAFE-0001-4C1E-9B0F-6D1E2F3A4B5C")
  private static let greeting = CBUUID(string: "0BADCAFE-0002-4C1E-9B0F-6D1E2F3A4B5C")

  private let queue = DispatchQueue(label: "hello")
  private lazy var manager = CBCentralManager(delegate: self, queue: queue)
  private var peripheral: CBPeripheral?
  private var greetings = 0

  func start() { _ = manager }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard case .poweredOn = central.state else { return }
    central.scanForPeripherals(withServices: [Self.service], options: nil)
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard self.peripheral == nil else { return }
    NSLog("didDiscover %@", (advertisementData[CBAdvertisementDataLocalNameKey] as? String) ?? "nobody")
    self.peripheral = peripheral
    peripheral.delegate = self
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    NSLog("didConnect")
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: Error?
  ) {
    let seconds = CFAbsoluteTimeGetCurrent() - timestamp
    NSLog(
      "didDisconnectPeripheral %d %d %d", isReconnecting ? 1 : 0, error == nil ? 0 : 1,
      (0..<5).contains(seconds) ? 1 : 0)
    exit(0)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    dispatchPrecondition(condition: .onQueue(queue))
    NSLog("didDiscoverServices %d", peripheral.services?.count ?? -1)
    guard let service = peripheral.services?.first(where: { $0.uuid == Self.service }) else { return }
    peripheral.discoverCharacteristics([Self.greeting], for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    for characteristic in service.characteristics ?? [] where characteristic.properties.contains(.notify) {
      NSLog("didDiscoverCharacteristicsFor, notifying: %d", characteristic.isNotifying ? 1 : 0)
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
  ) {
    NSLog("didUpdateNotificationStateFor %d", characteristic.isNotifying ? 1 : 0)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    // The peripheral sends values until it learns that the link has ended.
    guard greetings < 6, let value = characteristic.value, let text = String(data: value, encoding: .utf8) else {
      return
    }
    NSLog("didUpdateValueFor %@", text)
    greetings += 1
    if greetings == 6 { manager.cancelPeripheralConnection(peripheral) }
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    NSLog("didModifyServices %@", invalidatedServices.map { $0.uuid == Self.service ? "hello" : "\($0.uuid)" }.joined())
    peripheral.discoverServices([Self.service])
  }
}
