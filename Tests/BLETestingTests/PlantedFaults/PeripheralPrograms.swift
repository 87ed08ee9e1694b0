import BLEKit
import BLETesting
import CoreBluetooth
import Synchronization

extension PlantedFault {
  /// The values that the manager had no room for are lost.
  static let ignoresUpdateResult = PlantedFault(
    // More values than the manager takes at once, 32, have to be sent.
    testDescription: "the result of updateValue is ignored", actionLimit: 44
  ) { radio, isPlanted in
    let program = BurstSender(isPlanted)
    let sensor = try await radio.device("sensor")
    let manager = try await sensor.peripheralManager(delegate: program)
    defer { withExtendedLifetime(manager) {} }
    let device = try await radio.device("phone").adapter().connect(to: sensor.address)
    var values = try await device.values(of: "FFE1", in: "FFE0", as: [UInt8].self).subscribed()
    try await radio.clock.sleep(for: .seconds(5))
    await device.disconnect()
    var count = 0
    do { while try await values.next() != nil { count += 1 } } catch is BLEError {}
    if count != BurstSender.count { throw Found("\(count) of \(BurstSender.count) values have arrived") }
  }

  /// It sends 40 values to each subscriber.
  private final class BurstSender: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    static let count = 40
    private let ignoresResult: Bool
    private let samples = CBMutableCharacteristic(
      type: CBUUID(string: "FFE1"), properties: .notify, value: nil, permissions: .readable)
    /// On the manager's queue.
    private var next = count

    init(_ ignoresResult: Bool) { self.ignoresResult = ignoresResult }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
      guard peripheral.state == .poweredOn else { return }
      let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
      service.characteristics = [samples]
      peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
      peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    }

    func peripheralManager(
      _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
      next = 0
      send(peripheral)
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send(peripheral) }

    private func send(_ peripheral: CBPeripheralManager) {
      while next < Self.count {
        let isTaken = peripheral.updateValue(Data([UInt8(next)]), for: samples, onSubscribedCentrals: nil)
        if !isTaken, !ignoresResult { return }
        next += 1
      }
    }
  }

  /// The central waits 30 s for a value that the program does not have.
  static let answersNoRequest = PlantedFault(testDescription: "an unanswered request") { radio, isPlanted in
    let program = SilentServer(isPlanted)
    let sensor = try await radio.device("sensor")
    let manager = try await sensor.peripheralManager(delegate: program)
    defer { withExtendedLifetime(manager) {} }
    let device = try await radio.device("phone").adapter().connect(to: sensor.address)
    let begin = radio.clock.now
    _ = try? await device.read("FFE1", in: "FFE0")
    let time = begin.duration(to: radio.clock.now)
    if time > .seconds(5) { throw Found("the answer has taken \(time)") }
  }

  private final class SilentServer: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    private let isPlanted: Bool

    init(_ isPlanted: Bool) { self.isPlanted = isPlanted }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
      guard peripheral.state == .poweredOn else { return }
      let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
      service.characteristics = [
        CBMutableCharacteristic(type: CBUUID(string: "FFE1"), properties: .read, value: nil, permissions: .readable)
      ]
      peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
      peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
      // It has no value yet.
      if !isPlanted { peripheral.respond(to: request, withResult: .unlikelyError) }
    }
  }
}
