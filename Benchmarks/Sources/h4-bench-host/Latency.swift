import BluetoothLE
import Synchronization

// The service FFF0 for the scenario latency of the load generator: a write of FFF3 is followed by a notification of
// FFF4 with two times, the one at which the handler was called and the one at which the value is sent. FFF5 is sent as
// fast as the stack takes its values.

/// CLOCK_MONOTONIC, which the load generator also reads, in nanoseconds.
private func monotonicTime() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Both times as the value of FFF4.
private func times(called: UInt64) -> [UInt8] {
  var octets = [UInt8](repeating: 0, count: 16)
  let sent = monotonicTime()
  for index in 0..<8 {
    octets[index] = UInt8(truncatingIfNeeded: called >> (8 * UInt64(index)))
    octets[8 + index] = UInt8(truncatingIfNeeded: sent >> (8 * UInt64(index)))
  }
  return octets
}

/// The service as a delegate serves it.
final class LatencyPeripheral: NSObject, PeripheralManagerDelegate, @unchecked Sendable {
  private let fixed = MutableCharacteristic(
    type: "FFF1", properties: [.read], value: Data([1]), permissions: [.readable])
  private let trigger = MutableCharacteristic(
    type: "FFF3", properties: [.writeWithoutResponse], value: nil, permissions: [.writeable])
  private let stamps = MutableCharacteristic(type: "FFF4", properties: [.notify], value: nil, permissions: [.readable])
  private let flood = MutableCharacteristic(type: "FFF5", properties: [.notify], value: nil, permissions: [.readable])
  private let value = Data(repeating: 5, count: 20)
  private var hasFlood = false

  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = MutableService(type: "FFF0", primary: true)
    service.characteristics = [fixed, trigger, stamps, flood]
    peripheral.add(service)
    peripheral.startAdvertising([AdvertisementDataLocalNameKey: "h4bench"])
  }

  func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest]) {
    let called = monotonicTime()
    for request in requests {
      _ = peripheral.updateValue(Data(times(called: called)), for: stamps, onSubscribedCentrals: [request.central])
    }
  }

  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic
  ) {
    guard characteristic.uuid == flood.uuid else { return }
    hasFlood = true
    pump(peripheral)
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: PeripheralManager) { pump(peripheral) }

  private func pump(_ peripheral: PeripheralManager) {
    while hasFlood, peripheral.updateValue(value, for: flood, onSubscribedCentrals: nil) {}
  }
}

/// The service as handlers of the Swift API serve it.
///
/// - Parameter isSynchronous: whether writes are handled on the thread of the stack.
func serveLatency(_ options: AdapterOptions, isSynchronous: Bool) async throws {
  let subscribers = Mutex<[DeviceAddress: Subscriber]>([:])
  let trigger = LocalCharacteristic("FFF3")
  let service = LocalService(
    "FFF0",
    [
      LocalCharacteristic("FFF1").value(UInt8(1)),
      isSynchronous
        ? trigger.writeSynchronously(kinds: .withoutResponse) { _, device in
          let called = monotonicTime()
          guard let subscriber = subscribers.withLock({ $0[device.address] }) else { return }
          Task { try await subscriber.send(times(called: called)) }
        }
        : trigger.write(kinds: .withoutResponse) { _, device in
          let called = monotonicTime()
          guard let subscriber = subscribers.withLock({ $0[device.address] }) else { return }
          // The device's next write does not wait until the value has left.
          Task { try await subscriber.send(times(called: called)) }
        },
      LocalCharacteristic("FFF4").notify { subscriber in
        subscribers.withLock { $0[subscriber.device.address] = subscriber }
      },
      LocalCharacteristic("FFF5").notify { subscriber in
        let value = [UInt8](repeating: 5, count: 20)
        await withTaskGroup { group in
          // As many values as the stack takes at a time.
          for _ in 0..<16 { group.addTask { while (try? await subscriber.send(value)) != nil {} } }
        }
      },
    ])
  let adapter = try await Adapter.open(options)
  try await adapter.serve([service], advertising: Advertisement(localName: "h4bench", serviceUUIDs: ["FFF0"]))
}
