import BLEKit
import BLETesting
import CoreBluetooth
import Testing

/// The program under test: it serves one value, with managers of CoreBluetooth.
final class Door: NSObject, CBPeripheralManagerDelegate {
  static let service = CBUUID(string: "FFF0")

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let state = CBMutableCharacteristic(
      type: CBUUID(string: "FFF1"), properties: .read, value: Data("open".utf8), permissions: .readable)
    let service = CBMutableService(type: Self.service, primary: true)
    service.characteristics = [state]
    peripheral.add(service)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }
}

struct DoorTests {
  @Test func theDoorIsReadAgainWhenItHasReturned() async throws {
    try await TestRadio.run { radio in
      let door = Door()
      let device = try await radio.device("door")
      let manager = try await device.peripheralManager(delegate: door)
      let phone = try await radio.device("phone").adapter()
      for _ in 1...2 {
        let text = try await phone.withConnection(to: device.address) { link in
          try await link.read("FFF1", in: "FFF0", as: String.self)
        }
        #expect(text == "open")
        try await device.moveOutOfRange()
        try await radio.clock.sleep(for: .seconds(60))
        try await device.moveIntoRange()
      }
      #expect(manager.isAdvertising)
    }
  }
}
