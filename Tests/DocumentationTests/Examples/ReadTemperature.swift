import BluetoothLE

/// Finds a thermometer and reads it: delegates under their names without prefix, values of the Swift API.
final class ThermometerReader: NSObject, CentralManagerDelegate, PeripheralDelegate {
  private let report: (Double) -> Void
  private var manager: CentralManager?
  private var thermometer: Peripheral?

  init(adapter: AdapterOptions, queue: DispatchQueue, report: @escaping (Double) -> Void) {
    self.report = report
    super.init()
    manager = CentralManager(delegate: self, queue: queue, adapter: adapter)
  }

  func centralManagerDidUpdateState(_ central: CentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(withServices: ["181A"])
  }

  func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    central.stopScan()
    thermometer = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) {
    peripheral.discoverServices(["181A"])
  }

  func peripheral(_ peripheral: Peripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(["2A6E"], for: service) }
  }

  func peripheral(_ peripheral: Peripheral, didDiscoverCharacteristicsFor service: Service, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] { peripheral.readValue(for: characteristic) }
  }

  func peripheral(_ peripheral: Peripheral, didUpdateValueFor characteristic: Characteristic, error: (any Error)?) {
    guard let data = characteristic.value, let hundredths = Int16(octets: data.octets) else { return }
    report(Double(hundredths) / 100)
  }
}
