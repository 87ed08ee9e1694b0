// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetooth

/// The program that wants the file. It remembers the device and what it has of the file, tries each connection for a
/// few seconds, connects again when a link is lost, and goes on where it was.
final class Receiver: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private static let identifierKey = "source"
  private static let timeout: TimeInterval = 2

  private let output: URL
  private let octetsUntilKilled: Int?
  private var manager: CBCentralManager?
  private var source: CBPeripheral?
  private var timer: Timer?
  private var received: Data
  private var length: Int?

  /// - Parameters:
  ///   - output: the file; what is already there is not fetched again.
  ///   - octetsUntilKilled: the program is killed when the file has so many octets.
  init(output: URL, octetsUntilKilled: Int?) {
    self.output = output
    self.octetsUntilKilled = octetsUntilKilled
    received = (try? Data(contentsOf: output)) ?? Data()
  }

  func start() { manager = CBCentralManager(delegate: self, queue: .main) }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    if let text = UserDefaults.standard.string(forKey: Self.identifierKey), let identifier = UUID(uuidString: text),
      let known = central.retrievePeripherals(withIdentifiers: [identifier]).first
    {
      print("known source")
      return connect(known)
    }
    print("scanning")
    central.scanForPeripherals(withServices: [TransferService.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard source == nil else { return }
    central.stopScan()
    UserDefaults.standard.set(peripheral.identifier.uuidString, forKey: Self.identifierKey)
    _ = UserDefaults.standard.synchronize()
    connect(peripheral)
  }

  private func connect(_ peripheral: CBPeripheral) {
    source = peripheral
    peripheral.delegate = self
    manager?.connect(peripheral)
    timer?.invalidate()
    timer = Timer.scheduledTimer(withTimeInterval: Self.timeout, repeats: false) { [weak self] _ in
      guard let self = self, peripheral.state != .connected else { return }
      print("connection timed out")
      self.manager?.cancelPeripheralConnection(peripheral)
    }
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    timer?.invalidate()
    print("didConnect")
    peripheral.discoverServices([TransferService.service])
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
    if received.count == length { exit(0) }
    connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let service = peripheral.services?.first(where: { $0.uuid == TransferService.service }) else { return }
    peripheral.discoverCharacteristics(nil, for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    for characteristic in service.characteristics ?? [] {
      switch characteristic.uuid {
      case TransferService.length: peripheral.readValue(for: characteristic)
      case TransferService.content: peripheral.setNotifyValue(true, for: characteristic)
      default: break
      }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
  ) {
    guard characteristic.isNotifying,
      let offset = characteristic.service?.characteristics?.first(where: { $0.uuid == TransferService.offset })
    else { return }
    print("from \(received.count)")
    peripheral.writeValue(TransferService.data(received.count), for: offset, type: .withResponse)
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
    if let error = error { print("didWriteValue \(error.localizedDescription)") }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    guard let value = characteristic.value else { return }
    if characteristic.uuid == TransferService.length {
      length = TransferService.number(value)
    } else {
      received += value
      do {
        try received.write(to: output, options: .atomic)
      } catch {
        print("\(error)")
        exit(1)
      }
      if let limit = octetsUntilKilled, received.count >= limit { kill(getpid(), SIGKILL) }
    }
    // The file may also be complete when its length arrives.
    guard received.count == length else { return }
    print("received \(received.count) octets")
    manager?.cancelPeripheralConnection(peripheral)
  }
}
