public import Foundation

/// The same from tasks, which CoreBluetooth has not. Results are returned and not told to the delegate.
///
/// Each throws an ``CBATTError`` where the peripheral refused, else a ``CBError``; ``CBError/connectionTimeout``
/// when `timeout` has passed.
extension CBPeripheral {
  /// Finds the primary services, or those of certain types.
  public final func services(_ uuids: [CBUUID]? = nil, timeout: Duration? = nil) async throws -> [CBService] {
    try await ask("discoverServices", .services(uuids?.map(\.value)), timeout: timeout)
    return (services ?? []).filter { uuids?.contains($0.uuid) ?? true }
  }

  /// Finds the characteristics of a service, or those of certain types.
  public final func characteristics(
    _ uuids: [CBUUID]? = nil, of service: CBService, timeout: Duration? = nil
  ) async throws -> [CBCharacteristic] {
    let found: RemoteService = try found(service)
    try await ask("discoverCharacteristics", .characteristics(found, uuids?.map(\.value)), timeout: timeout)
    return (service.characteristics ?? []).filter { uuids?.contains($0.uuid) ?? true }
  }

  /// Finds the descriptors of a characteristic.
  public final func descriptors(
    of characteristic: CBCharacteristic, timeout: Duration? = nil
  ) async throws -> [CBDescriptor] {
    try await ask("discoverDescriptors", .descriptors(try found(characteristic)), timeout: timeout)
    return characteristic.descriptors ?? []
  }

  /// Reads a value, all of it.
  public final func value(of characteristic: CBCharacteristic, timeout: Duration? = nil) async throws -> Data {
    try await ask("readValue", .value(try found(characteristic)), timeout: timeout)
    return characteristic.value ?? Data()
  }

  /// Writes a value and waits for the peripheral's word that it has it.
  public final func write(_ value: Data, to characteristic: CBCharacteristic, timeout: Duration? = nil) async throws {
    try await ask("writeValue", .write(try found(characteristic)), value: [UInt8](value), timeout: timeout)
  }

  /// Asks to be told of changes, or no more.
  public final func setNotifying(
    _ isNotifying: Bool, for characteristic: CBCharacteristic, timeout: Duration? = nil
  ) async throws {
    try await ask("setNotifyValue", .notify(try found(characteristic), isNotifying), timeout: timeout)
  }

  /// The strength of the signal, in dBm.
  public final func signalStrength(timeout: Duration? = nil) async throws -> Int {
    guard let manager = owner else { throw CBError(.notConnected, "the central manager was released") }
    try await manager.wait(timeout: timeout, for: "the RSSI of \(self)") { [self] state, effects, waiter in
      state.readRSSI(self, answerTo: .waiter(waiter), into: &effects)
    }
    return rssi?.intValue ?? 127
  }

  /// The values that come by themselves, from now on: notifications and indications, once ``setNotifying(_:for:timeout:)``
  /// or ``setNotifyValue(_:for:)`` has asked for them, and what others read.
  ///
  /// It ends with the link. Values that nobody reads are kept, the newest 256 of them.
  public final func values(of characteristic: CBCharacteristic) -> AsyncStream<Data> {
    let (stream, continuation) = AsyncStream.makeStream(of: Data.self, bufferingPolicy: .bufferingNewest(256))
    guard state == .connected, let characteristic = characteristic as? RemoteCharacteristic else {
      continuation.finish()
      return stream
    }
    let key = addStream(continuation, of: characteristic)
    let name = ObjectIdentifier(characteristic)
    continuation.onTermination = { [weak self] _ in self?.removeStream(key, of: name) }
    return stream
  }

  private func found<Remote>(_ attribute: CBAttribute) throws -> Remote {
    guard let found = attribute as? Remote else {
      throw CBError(.invalidHandle, "\(attribute) was not found on a peripheral")
    }
    return found
  }

  private func ask(
    _ command: StaticString, _ subject: Session.Subject, value: [UInt8] = [], timeout: Duration?
  ) async throws {
    guard let manager = owner else { throw CBError(.notConnected, "the central manager was released") }
    let name = String(describing: command)
    try await manager.wait(timeout: timeout, for: "\(name) of \(self)") { [self] state, effects, waiter in
      state.ask(self, command, subject, value: value, answerTo: .waiter(waiter), into: &effects)
    }
  }
}
