// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreBluetooth

/// The terminal: it says hello as soon as it has found the characteristics, sends a file while the bridge takes it, and
/// writes down all that the bridge sends.
final class Terminal: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let input: Data
  private let output: URL
  private let greetsFirst: Bool
  private let octetsUntilKilled: Int?
  private lazy var manager = CBCentralManager(delegate: self, queue: nil)
  private var bridge: CBPeripheral?
  private var receive: CBCharacteristic?
  private var rest = Data()
  private var received = Data()
  private var isReady = false

  /// - Parameters:
  ///   - greetsFirst: hello is written before the subscription, not after it.
  ///   - octetsUntilKilled: the program is killed when so many octets have arrived.
  init(input: Data, output: URL, greetsFirst: Bool, octetsUntilKilled: Int?) {
    self.input = input
    self.output = output
    self.greetsFirst = greetsFirst
    self.octetsUntilKilled = octetsUntilKilled
  }

  func start() { _ = manager.state }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [NordicUART.service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    guard bridge == nil else { return }
    bridge = peripheral
    central.stopScan()
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    print("didConnect")
    (rest, received, isReady) = (input, Data(), false)
    peripheral.discoverServices([NordicUART.service])
  }

  func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
    print("didDisconnect")
    guard received.count < expectedCount else { exit(0) }
    receive = nil
    central.connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let service = peripheral.services?.first else { return }
    peripheral.discoverCharacteristics(nil, for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    guard let receive = service.characteristics?.first(where: { $0.uuid == NordicUART.receive }),
      let transmit = service.characteristics?.first(where: { $0.uuid == NordicUART.transmit })
    else { return print("not a bridge") }
    self.receive = receive
    if greetsFirst { peripheral.writeValue(NordicUART.hello, for: receive, type: .withoutResponse) }
    peripheral.setNotifyValue(true, for: transmit)
    if !greetsFirst { peripheral.writeValue(NordicUART.hello, for: receive, type: .withoutResponse) }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    received += characteristic.value ?? Data()
    if let limit = octetsUntilKilled, received.count >= limit { kill(getpid(), SIGKILL) }
    if !isReady, received.range(of: NordicUART.ready) != nil {
      print("ready")
      isReady = true
      send()
    }
    guard received.count >= expectedCount else { return }
    do {
      try received.write(to: output)
    } catch {
      print("\(error)")
      exit(1)
    }
    print("received \(received.count) octets")
    manager.cancelPeripheralConnection(peripheral)
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { send() }

  private var expectedCount: Int { NordicUART.banner.count + NordicUART.ready.count + input.count }

  private func send() {
    guard isReady, let bridge = bridge, let receive = receive else { return }
    while !rest.isEmpty, bridge.canSendWriteWithoutResponse {
      let part = Data(rest.prefix(bridge.maximumWriteValueLength(for: .withoutResponse)))
      rest = rest.dropFirst(part.count)
      bridge.writeValue(part, for: receive, type: .withoutResponse)
    }
  }
}
