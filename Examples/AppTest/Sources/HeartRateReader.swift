import CoreBluetooth
import Foundation

/// Reports the heart rates of the first sensor that it finds, and connects again when the link has ended.
///
/// It uses CoreBluetooth alone, as a part of an app for Apple's systems. The delegate calls arrive on the queue of the
/// manager.
final class HeartRateReader: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private static let service = CBUUID(string: "180D")
  private static let measurement = CBUUID(string: "2A37")
  /// The manager does not retain the device that it connects to.
  private var sensor: CBPeripheral?
  private let report: @Sendable (Int) -> Void

  /// - Parameter report: gets each rate, in beats per minute.
  init(report: @escaping @Sendable (Int) -> Void) { self.report = report }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    if let sensor { central.connect(sensor) } else { central.scanForPeripherals(withServices: [Self.service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    central.stopScan()
    sensor = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    // The request has no timeout: it is pending until the sensor returns.
    central.connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics([Self.measurement], for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    // The flags, then the rate: one octet, or two with bit 0 of the flags.
    guard let octets = characteristic.value.map(Array.init), let flags = octets.first else { return }
    let isWide = flags & 1 != 0
    guard octets.count >= (isWide ? 3 : 2) else { return }
    report(isWide ? Int(octets[1]) | Int(octets[2]) << 8 : Int(octets[1]))
  }
}
