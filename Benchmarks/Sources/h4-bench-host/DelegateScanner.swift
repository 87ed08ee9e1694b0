import BluetoothLE

/// Counts what a scan reports to a delegate, and ends with the marker.
final class DelegateScanner: NSObject, CentralManagerDelegate, @unchecked Sendable {
  private let allowsDuplicates: Bool
  private var reports = 0
  private var devices: [UUID: Peripheral] = [:]

  init(allowsDuplicates: Bool) { self.allowsDuplicates = allowsDuplicates }

  func centralManagerDidUpdateState(_ central: CentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(
      withServices: nil, options: [CentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: allowsDuplicates)])
  }

  func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    if let data = advertisementData[AdvertisementDataManufacturerDataKey] as? Data, isMarker(data) {
      print("SCAN reports \(reports) distinct \(devices.count)")
      fflush(nil)
      return central.stopScan()
    }
    reports += 1
    if devices[peripheral.identifier] == nil { devices[peripheral.identifier] = peripheral }
  }
}

/// The same by the method of the delegate that gets a `DiscoveredDevice` instead of a dictionary.
final class DeviceScanner: NSObject, CentralManagerDelegate, @unchecked Sendable {
  private var reports = 0
  private var devices: [UUID: Peripheral] = [:]

  func centralManagerDidUpdateState(_ central: CentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(
      withServices: nil, options: [CentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: true)])
  }

  func centralManager(_ central: CentralManager, didDiscover peripheral: Peripheral, device: DiscoveredDevice) {
    if device.data.manufacturerData.contains(where: { $0.company.rawValue == 0xFFFF }) {
      print("SCAN reports \(reports) distinct \(devices.count)")
      fflush(nil)
      return central.stopScan()
    }
    reports += 1
    if devices[peripheral.identifier] == nil { devices[peripheral.identifier] = peripheral }
  }
}
