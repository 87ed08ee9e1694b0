// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetooth

protocol GATTBearerDelegate: AnyObject {
  func bearerDidOpen(_ bearer: GATTBearer)
  func bearer(_ bearer: GATTBearer, didReceive message: Data)
  func bearerDidClose(_ bearer: GATTBearer, error: Error?)
}

/// The provisioner's end of PB-GATT. A bearer that loses its link connects again.
final class GATTBearer: NSObject, @unchecked Sendable {
  weak var delegate: GATTBearerDelegate?

  private let queue = DispatchQueue(label: "bearer")
  private let segmentLength: Int?
  private var manager: CBCentralManager?
  private var device: CBPeripheral?
  private var dataIn: CBCharacteristic?
  private var segments: [Data] = []
  private var reassembler = ProxyPDU.Reassembler()
  private var isClosing = false

  /// - Parameter segmentLength: nil for as much as one packet of the link takes.
  init(segmentLength: Int?) { self.segmentLength = segmentLength }

  func open() { manager = CBCentralManager(delegate: self, queue: queue) }

  func close() {
    isClosing = true
    if let device = device { manager?.cancelPeripheralConnection(device) }
  }

  /// Sends a message: its first segment at once, each other one when the peripheral is ready for it.
  func send(_ message: Data) {
    guard let device = device, let dataIn = dataIn else { return }
    let length = segmentLength ?? device.maximumWriteValueLength(for: .withoutResponse)
    let isIdle = segments.isEmpty
    segments += ProxyPDU.segments(of: message, length: length)
    if isIdle { device.writeValue(segments.removeFirst(), for: dataIn, type: .withoutResponse) }
  }
}

extension GATTBearer: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(withServices: [Mesh.provisioningService])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    central.stopScan()
    device = peripheral
    peripheral.delegate = self
    central.connect(peripheral, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Mesh.provisioningService])
  }

  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
    dataIn = nil
    segments = []
    reassembler = ProxyPDU.Reassembler()
    delegate?.bearerDidClose(self, error: error)
    if !isClosing { central.connect(peripheral, options: nil) }
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    if !isClosing { central.connect(peripheral, options: nil) }
  }
}

extension GATTBearer: CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let service = peripheral.services?.first(where: { $0.uuid == Mesh.provisioningService }) else { return }
    peripheral.discoverCharacteristics([Mesh.dataIn, Mesh.dataOut], for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    for characteristic in service.characteristics ?? [] {
      if characteristic.uuid == Mesh.dataIn { dataIn = characteristic }
      if characteristic.uuid == Mesh.dataOut { peripheral.setNotifyValue(true, for: characteristic) }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
  ) {
    if characteristic.isNotifying { delegate?.bearerDidOpen(self) }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    guard let segment = characteristic.value, let message = reassembler.receive(segment) else { return }
    delegate?.bearer(self, didReceive: message)
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    guard !segments.isEmpty, let dataIn = dataIn else { return }
    peripheral.writeValue(segments.removeFirst(), for: dataIn, type: .withoutResponse)
  }
}
