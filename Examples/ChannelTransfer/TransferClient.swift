import BluetoothLE

/// Connects to the device of a name, reads the PSM, opens a channel and transfers over it. The program ends with the
/// transfer.
@MainActor final class TransferClient: NSObject, @MainActor CentralManagerDelegate, @MainActor PeripheralDelegate {
  private let plan: TransferPlan
  private var manager: CentralManager?
  private var peripheral: Peripheral?
  private var transfer: StreamTransfer?

  init(_ plan: TransferPlan, on adapter: AdapterOptions) {
    self.plan = plan
    super.init()
    manager = CentralManager(delegate: self, queue: .main, adapter: adapter)
  }

  func centralManagerDidUpdateState(_ central: CentralManager) {
    guard central.state == .poweredOn else {
      return say("state \(central.state) \(central.stateReason.map { "\($0)" } ?? "")")
    }
    central.scanForPeripherals(withServices: nil)
  }

  func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    guard self.peripheral == nil, advertisementData[CBAdvertisementDataLocalNameKey] as? String == plan.name else {
      return
    }
    self.peripheral = peripheral
    peripheral.delegate = self
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) {
    say("connected")
    if let psm = plan.psm { peripheral.openL2CAPChannel(psm) } else { peripheral.discoverServices(nil) }
  }

  func centralManager(_ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?) {
    say("disconnected \(error.map { $0.localizedDescription } ?? "")")
    end(1)
  }

  func peripheral(_ peripheral: Peripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics([CBUUID(string: CBUUIDL2CAPPSMCharacteristicString)], for: service)
    }
  }

  func peripheral(_ peripheral: Peripheral, didDiscoverCharacteristicsFor service: Service, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] { peripheral.readValue(for: characteristic) }
  }

  func peripheral(_ peripheral: Peripheral, didUpdateValueFor characteristic: Characteristic, error: (any Error)?) {
    guard let value = characteristic.value, value.count == 2 else {
      return say("no PSM: \(error?.localizedDescription ?? "")")
    }
    peripheral.openL2CAPChannel(L2CAPPSM(value[0]) | L2CAPPSM(value[1]) << 8)
  }

  func peripheral(_ peripheral: Peripheral, didOpen channel: L2CAPChannel?, error: (any Error)?) {
    guard let channel else {
      say("not open: \(error?.localizedDescription ?? "")")
      end(1)
    }
    say("open")
    transfer = StreamTransfer(plan, over: channel, closesFirst: false) { end($0 ? 0 : 1) }
  }
}
