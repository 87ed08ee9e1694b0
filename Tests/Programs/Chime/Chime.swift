// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetooth

/// The central of the doorbell: it connects, subscribes, and ends with the first value.
///
/// With `--restores` it has a restoration identifier, scans at each start all the same, and stays.
final class Chime: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private static let service = CBUUID(string: "D00B0001-4B1D-4E0C-9C35-6B2D7A1F0C11")

  private let restores: Bool
  private var manager: CBCentralManager?
  private var doorbell: CBPeripheral?

  init(arguments: [String]) {
    restores = arguments.contains("--restores")
  }

  func start() {
    var options: [String: Any] = [:]
    if restores { options[CBCentralManagerOptionRestoreIdentifierKey] = "chime" }
    manager = CBCentralManager(delegate: self, queue: nil, options: options)
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    print("willRestoreState \(peripherals.count)")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    print("scanForPeripherals")
    central.scanForPeripherals(withServices: [Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard doorbell == nil else { return }
    central.stopScan()
    connect(peripheral)
  }

  private func connect(_ peripheral: CBPeripheral) {
    doorbell = peripheral
    peripheral.delegate = self
    manager?.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    print("didConnect")
    peripheral.discoverServices([Self.service])
  }

  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
    print("didDisconnectPeripheral \(error?.localizedDescription ?? "without error")")
    exit(0)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    print("didDiscoverServices \(peripheral.services?.count ?? 0)")
    if let service = peripheral.services?.first { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    if let button = service.characteristics?.first { peripheral.setNotifyValue(true, for: button) }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    print("didUpdateValueFor \(String(data: characteristic.value ?? Data(), encoding: .utf8) ?? "")")
    guard !restores else { return }
    manager?.cancelPeripheralConnection(peripheral)
  }
}
