import CoreBluetooth

/// A peripheral with a restoration identifier that adds its service and advertises at each start, as most programs do,
/// whatever has been restored. With `--keeps` it follows Apple's guide: it keeps the restored service, and then adds
/// none.
final class Doorbell: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private static let service = CBUUID(string: "D00B0001-4B1D-4E0C-9C35-6B2D7A1F0C11")

  private let keepsServices: Bool
  private var manager: CBPeripheralManager?
  private var button = CBMutableCharacteristic(
    type: CBUUID(string: "D00B0002-4B1D-4E0C-9C35-6B2D7A1F0C11"), properties: [.notify], value: nil,
    permissions: .readable)
  private var isRestored = false

  init(keepsServices: Bool) { self.keepsServices = keepsServices }

  func start() {
    manager = CBPeripheralManager(
      delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "doorbell"])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    print("willRestoreState \(services.count)")
    guard keepsServices, let restored = services.first?.characteristics?.first as? CBMutableCharacteristic else {
      return
    }
    (button, isRestored) = (restored, true)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    print("peripheralManagerDidUpdateState \(peripheral.state == .poweredOn)")
    guard peripheral.state == .poweredOn, !isRestored else { return }
    let service = CBMutableService(type: Self.service, primary: true)
    service.characteristics = [button]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Self.service]])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
    print("didAdd \(error?.localizedDescription ?? "without error")")
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    print("didStartAdvertising \(error?.localizedDescription ?? "without error")")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    print("didSubscribeTo the button: \(characteristic === button)")
    peripheral.updateValue(Data("ding".utf8), for: button, onSubscribedCentrals: nil)
  }
}
