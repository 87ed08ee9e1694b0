import BluetoothLE
import Synchronization

/// A central whose functions wait for the delegate call that answers them: one operation of a kind at a time.
final class AsyncCentral: NSObject, CentralManagerDelegate, PeripheralDelegate, Sendable {
  let manager: CentralManager
  private let state = Mutex(State())

  /// The delegate calls that a task waits for.
  private enum Call: Hashable {
    case poweredOn, discovered, connected, disconnected, services, characteristics, value, wrote, notifying, name
  }

  private struct State {
    var waiting: [Call: CheckedContinuation<Void, any Error>] = [:]
    var found: Peripheral?
    var values: [ObjectIdentifier: AsyncStream<Data>.Continuation] = [:]
  }

  convenience init(_ adapter: AdapterOptions, label: String = "central") {
    self.init(adapter, queue: DispatchQueue(label: label))
  }

  init(_ adapter: AdapterOptions, queue: DispatchQueue) {
    manager = CentralManager(delegate: nil, queue: queue, adapter: adapter)
    super.init()
    manager.delegate = self
  }

  /// Begins an operation and waits for its delegate call.
  private func wait(for call: Call, _ begin: () -> Void = {}) async throws {
    try await withCheckedThrowingContinuation { continuation in
      state.withLock { $0.waiting[call] = continuation }
      begin()
    }
  }

  private func answer(_ call: Call, _ error: (any Error)? = nil) {
    let continuation = state.withLock { $0.waiting.removeValue(forKey: call) }
    if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }

  /// Ends every wait for an answer over a link, which does not come any more.
  private func fail(_ error: any Error, but last: Call? = nil) {
    let waiting = state.withLock { state in
      defer { state.waiting = state.waiting.filter { [last, .poweredOn].contains($0.key) } }
      return state.waiting.filter { ![last, .poweredOn].contains($0.key) }
    }
    waiting.values.forEach { $0.resume(throwing: error) }
  }

  // MARK: - Operations

  func waitUntilPoweredOn() async throws {
    try await wait(for: .poweredOn) { if manager.state == .poweredOn { answer(.poweredOn) } }
  }

  /// The first device that advertises a service; the scan ends with it.
  func find(_ service: CBUUID) async throws -> Peripheral {
    try await waitUntilPoweredOn()
    try await wait(for: .discovered) { manager.scanForPeripherals(withServices: [service]) }
    guard let found = state.withLock({ $0.found }) else { throw BluetoothError(.unknown) }
    found.delegate = self
    return found
  }

  func connect(_ peripheral: Peripheral) async throws {
    try await wait(for: .connected) { manager.connect(peripheral) }
  }

  func disconnect(_ peripheral: Peripheral) async throws {
    try await wait(for: .disconnected) { manager.cancelPeripheralConnection(peripheral) }
  }

  /// The characteristics of the first service of a type.
  func discover(_ service: CBUUID, of peripheral: Peripheral) async throws -> [Characteristic] {
    try await wait(for: .services) { peripheral.discoverServices([service]) }
    guard let found = peripheral.services?.first(where: { $0.uuid == service }) else { throw BluetoothError(.unknown) }
    try await wait(for: .characteristics) { peripheral.discoverCharacteristics(nil, for: found) }
    return found.characteristics ?? []
  }

  func value(of characteristic: Characteristic, of peripheral: Peripheral) async throws -> Data {
    try await wait(for: .value) { peripheral.readValue(for: characteristic) }
    return characteristic.value ?? Data()
  }

  func write(_ value: Data, to characteristic: Characteristic, of peripheral: Peripheral) async throws {
    try await wait(for: .wrote) { peripheral.writeValue(value, for: characteristic, type: .withResponse) }
  }

  func subscribe(to characteristic: Characteristic, of peripheral: Peripheral) async throws {
    try await wait(for: .notifying) { peripheral.setNotifyValue(true, for: characteristic) }
  }

  func waitForName(of peripheral: Peripheral) async throws {
    try await wait(for: .name) { if peripheral.name != nil { answer(.name) } }
  }

  /// The values of a characteristic from now on.
  func values(of characteristic: Characteristic) -> AsyncStream<Data> {
    let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
    state.withLock { $0.values[ObjectIdentifier(characteristic)] = continuation }
    return stream
  }

  // MARK: - Delegate calls

  func centralManagerDidUpdateState(_ central: CentralManager) {
    if central.state == .poweredOn { answer(.poweredOn) } else { fail(BluetoothError(.notConnected)) }
  }
  func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    state.withLock { $0.found = peripheral }
    central.stopScan()
    answer(.discovered)
  }
  func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) { answer(.connected) }
  func centralManager(_ central: CentralManager, didFailToConnect peripheral: Peripheral, error: (any Error)?) {
    answer(.connected, error ?? BluetoothError(.unknown))
  }
  func centralManager(_ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?) {
    answer(.disconnected, error)
    fail(error ?? BluetoothError(.peripheralDisconnected), but: .discovered)
  }
  func peripheralDidUpdateName(_ peripheral: Peripheral) { answer(.name) }
  func peripheral(_ peripheral: Peripheral, didDiscoverServices error: (any Error)?) { answer(.services, error) }
  func peripheral(_ peripheral: Peripheral, didDiscoverCharacteristicsFor service: Service, error: (any Error)?) {
    answer(.characteristics, error)
  }
  func peripheral(_ peripheral: Peripheral, didUpdateValueFor characteristic: Characteristic, error: (any Error)?) {
    if error == nil, let value = characteristic.value {
      _ = state.withLock { $0.values[ObjectIdentifier(characteristic)] }?.yield(value)
    }
    answer(.value, error)
  }
  func peripheral(_ peripheral: Peripheral, didWriteValueFor characteristic: Characteristic, error: (any Error)?) {
    answer(.wrote, error)
  }
  func peripheral(
    _ peripheral: Peripheral, didUpdateNotificationStateFor characteristic: Characteristic, error: (any Error)?
  ) {
    answer(.notifying, error)
  }
}
