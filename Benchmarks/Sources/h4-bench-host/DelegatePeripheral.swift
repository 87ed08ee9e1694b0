import BluetoothLE

/// The service FFF0 as a delegate serves it.
final class DelegatePeripheral: NSObject, PeripheralManagerDelegate, @unchecked Sendable {
  private let fixed = MutableCharacteristic(
    type: "FFF1", properties: [.read], value: Data((0..<20).map { UInt8($0) }), permissions: [.readable])
  private let dynamic = MutableCharacteristic(type: "FFF2", properties: [.read], value: nil, permissions: [.readable])
  private let sink: MutableCharacteristic
  private let stream = MutableCharacteristic(type: "FFF4", properties: [.notify], value: nil, permissions: [.readable])
  /// Services to publish beside FFF0, or only to construct.
  private let filler: [MutableService]
  private let publishesFiller: Bool
  private var reads: UInt32 = 0
  private var writes: UInt32 = 0
  private var number: UInt32 = 0
  /// The next value to be notified: changed in place, so that what is counted is not the program's own.
  private var update = Data(benchmarkValue(0, 0))
  private var subscribers = 0

  /// - Parameter storesWrites: whether the stack keeps what clients write, instead of handing it to the delegate.
  init(filler: Int, publishesFiller: Bool, storesWrites: Bool) {
    // A service with ten characteristics is 21 attributes.
    self.filler = (0..<filler / 21).map { index in
      let more = MutableService(type: CBUUID(string: String(format: "%04X", 0x8000 + index)), primary: true)
      more.characteristics = (0..<10).map { number in
        MutableCharacteristic(
          type: CBUUID(string: String(format: "%04X", 0xA000 + (index * 10 + number) % 0x4000)),
          properties: [.read], value: Data(count: 20), permissions: [.readable])
      }
      return more
    }
    self.publishesFiller = publishesFiller
    sink =
      storesWrites
      ? MutableCharacteristic(
        type: "FFF3", properties: [.write, .writeWithoutResponse], storedValue: Data(), permissions: [.writeable])
      : MutableCharacteristic(
        type: "FFF3", properties: [.writeWithoutResponse], value: nil, permissions: [.writeable])
  }

  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = MutableService(type: "FFF0", primary: true)
    service.characteristics = [fixed, dynamic, sink, stream]
    peripheral.add(service)
    if publishesFiller {
      for more in filler { peripheral.add(more) }
    }
    peripheral.startAdvertising([AdvertisementDataLocalNameKey: "h4bench"])
  }

  func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
    request.value = nextValue()
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest]) {
    count(requests.count)
    peripheral.respond(to: requests[0], withResult: .success)
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic
  ) {
    subscribers += 1
    pump(peripheral)
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didUnsubscribeFrom characteristic: Characteristic
  ) { subscribers -= 1 }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: PeripheralManager) { pump(peripheral) }

  private func pump(_ peripheral: PeripheralManager) {
    guard subscribers > 0 else { return }
    while peripheral.updateValue(update, for: stream, onSubscribedCentrals: nil) {
      changeUpdate()
    }
  }

  // What this program does itself for an operation. `measureApplication` counts it alone.

  @inline(never) func nextValue() -> Data {
    reads &+= 1
    return Data(benchmarkValue(reads, writes))
  }

  @inline(never) func count(_ requests: Int) { writes &+= UInt32(requests) }

  @inline(never) func changeUpdate() {
    number &+= 1
    update.withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, as: UInt32.self) }
  }
}
