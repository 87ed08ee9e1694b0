import BluetoothLE

/// Publishes a PSM, tells it in a characteristic, and transfers over each channel that a central opens.
@MainActor final class TransferServer: NSObject, @MainActor PeripheralManagerDelegate {
  private let plan: TransferPlan
  private var manager: PeripheralManager?
  private var transfers: [StreamTransfer] = []

  init(_ plan: TransferPlan, on adapter: AdapterOptions) {
    self.plan = plan
    super.init()
    manager = PeripheralManager(delegate: self, queue: .main, adapter: adapter)
  }

  /// The service with the PSM.
  static let service = CBUUID(string: "7A3C0030-52D6-4C1E-9B0F-6D1E2F3A4B5C")

  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
    guard peripheral.state == .poweredOn else {
      return say("state \(peripheral.state) \(peripheral.stateReason.map { "\($0)" } ?? "")")
    }
    peripheral.publishL2CAPChannel(withEncryption: plan.isEncrypted)
  }

  func peripheralManager(_ peripheral: PeripheralManager, didPublishL2CAPChannel psm: L2CAPPSM, error: (any Error)?) {
    if let error {
      say("not published: \(error.localizedDescription)")
      end(1)
    }
    say("PSM \(psm)")
    let value = Data([UInt8(truncatingIfNeeded: psm), UInt8(truncatingIfNeeded: psm >> 8)])
    let service = MutableService(type: Self.service, primary: true)
    service.characteristics = [
      MutableCharacteristic(
        type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: .read, value: value,
        permissions: .readable)
    ]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataLocalNameKey: plan.name])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
    say(error.map { "not advertising: \($0.localizedDescription)" } ?? "READY")
  }

  func peripheralManager(_ peripheral: PeripheralManager, didOpen channel: L2CAPChannel?, error: (any Error)?) {
    guard let channel else { return }
    say("open")
    transfers.append(StreamTransfer(plan, over: channel, closesFirst: true) { _ in })
  }
}
