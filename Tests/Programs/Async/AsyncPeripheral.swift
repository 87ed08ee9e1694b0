@preconcurrency import CoreBluetooth

/// A connected peripheral with `async` functions and sequences of values.
@MainActor public final class AsyncPeripheral: NSObject {
  public let peripheral: CBPeripheral
  private var services: CheckedContinuation<[CBService], any Error>?
  private var characteristics: [CBUUID: CheckedContinuation<[CBCharacteristic], any Error>] = [:]
  private var reads: [CBUUID: [CheckedContinuation<Data, any Error>]] = [:]
  private var writes: [CBUUID: [CheckedContinuation<Void, any Error>]] = [:]
  private var values: [CBUUID: AsyncThrowingStream<Data, any Error>.Continuation] = [:]

  init(_ peripheral: CBPeripheral) {
    self.peripheral = peripheral
    super.init()
    peripheral.delegate = self
  }

  public func discoverServices(_ uuids: [CBUUID]?) async throws -> [CBService] {
    try await withCheckedThrowingContinuation {
      services = $0
      peripheral.discoverServices(uuids)
    }
  }

  public func discoverCharacteristics(_ uuids: [CBUUID]?, for service: CBService) async throws -> [CBCharacteristic] {
    try await withCheckedThrowingContinuation {
      characteristics[service.uuid] = $0
      peripheral.discoverCharacteristics(uuids, for: service)
    }
  }

  public func read(_ characteristic: CBCharacteristic) async throws -> Data {
    try await withCheckedThrowingContinuation {
      reads[characteristic.uuid, default: []].append($0)
      peripheral.readValue(for: characteristic)
    }
  }

  public func write(_ data: Data, to characteristic: CBCharacteristic) async throws {
    try await withCheckedThrowingContinuation {
      writes[characteristic.uuid, default: []].append($0)
      peripheral.writeValue(data, for: characteristic, type: .withResponse)
    }
  }

  /// Subscribes until the sequence is not iterated any more.
  public func values(of characteristic: CBCharacteristic) -> AsyncThrowingStream<Data, any Error> {
    AsyncThrowingStream { continuation in
      values[characteristic.uuid] = continuation
      continuation.onTermination = { [peripheral] _ in
        Task { @MainActor in
          if peripheral.state == .connected { peripheral.setNotifyValue(false, for: characteristic) }
        }
      }
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }
}

extension AsyncPeripheral: @preconcurrency CBPeripheralDelegate {
  public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    services?.resume(with: result(peripheral.services ?? [], error))
    services = nil
  }

  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    characteristics.removeValue(forKey: service.uuid)?.resume(with: result(service.characteristics ?? [], error))
  }

  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    let result = result(characteristic.value ?? Data(), error)
    if var waiting = reads[characteristic.uuid], !waiting.isEmpty {
      waiting.removeFirst().resume(with: result)
      reads[characteristic.uuid] = waiting
    } else {
      values[characteristic.uuid]?.yield(with: result)
    }
  }

  public func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard var waiting = writes[characteristic.uuid], !waiting.isEmpty else { return }
    waiting.removeFirst().resume(with: result((), error))
    writes[characteristic.uuid] = waiting
  }

  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    if let error { values.removeValue(forKey: characteristic.uuid)?.finish(throwing: error) }
  }

  private func result<Value>(_ value: Value, _ error: (any Error)?) -> Result<Value, any Error> {
    if let error { .failure(error) } else { .success(value) }
  }
}
