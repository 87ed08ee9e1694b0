// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetooth

/// The central of the doorbell: it connects, subscribes, and ends with the first value.
///
/// With `--restores` it has a restoration identifier, scans at each start all the same, and stays. With `--returns` it
/// stores the identifier of the doorbell, and connects to it without a scan at the next start; `--forgets` turns the
/// memory of devices off.
final class Chime: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private static let service = CBUUID(string: "D00B0001-4B1D-4E0C-9C35-6B2D7A1F0C11")

  private let returns: Bool
  private let restores: Bool
  private let forgets: Bool
  private var manager: CBCentralManager?
  private var doorbell: CBPeripheral?

  init(arguments: [String]) {
    returns = arguments.contains("--returns")
    restores = arguments.contains("--restores")
    forgets = arguments.contains("--forgets")
  }

  func start() {
    var options: [String: Any] = [:]
    if restores { options[CBCentralManagerOptionRestoreIdentifierKey] = "chime" }
    #if os(Linux)
      if forgets { options[CBManagerOptionDeviceStorageKey] = false }
    #endif
    manager = CBCentralManager(delegate: self, queue: nil, options: options)
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    print("willRestoreState \(peripherals.count)")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    if returns, let text = UserDefaults.standard.string(forKey: "doorbell"), let identifier = UUID(uuidString: text) {
      let known = central.retrievePeripherals(withIdentifiers: [identifier])
      print("retrievePeripherals \(known.count)")
      if let first = known.first { return connect(first) }
    }
    print("scanForPeripherals")
    central.scanForPeripherals(withServices: [Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard doorbell == nil else { return }
    central.stopScan()
    if returns { UserDefaults.standard.set(peripheral.identifier.uuidString, forKey: "doorbell") }
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
    _ = UserDefaults.standard.synchronize()
    manager?.cancelPeripheralConnection(peripheral)
  }
}
