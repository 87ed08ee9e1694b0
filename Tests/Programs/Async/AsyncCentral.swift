// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverUseImplicitlyUnwrappedOptionals

@preconcurrency import CoreBluetooth

/// The central role with `async` functions and sequences, on the main actor, as the models of views use it.
@MainActor public final class AsyncCentral: NSObject {
  public struct Discovery: Sendable {
    public let peripheral: CBPeripheral
    public let name: String?
    public let services: [CBUUID]
    public let rssi: Int
  }

  private var manager: CBCentralManager!
  private var stateWaiters: [CheckedContinuation<Void, Never>] = []
  private var discoveries: AsyncStream<Discovery>.Continuation?
  private var connections: [UUID: CheckedContinuation<Void, any Error>] = [:]
  private var disconnections: [UUID: CheckedContinuation<Void, Never>] = [:]

  /// Each state from now on.
  public let states: AsyncStream<CBManagerState>
  private let stateUpdates: AsyncStream<CBManagerState>.Continuation

  public override init() {
    (states, stateUpdates) = AsyncStream.makeStream(of: CBManagerState.self, bufferingPolicy: .bufferingNewest(1))
    super.init()
    manager = CBCentralManager(delegate: self, queue: .main)
  }

  public func waitUntilPoweredOn() async {
    guard manager.state != .poweredOn else { return }
    await withCheckedContinuation { stateWaiters.append($0) }
  }

  /// Scans until the sequence is not iterated any more.
  public func discoveries(of services: [CBUUID]?) -> AsyncStream<Discovery> {
    AsyncStream { continuation in
      discoveries = continuation
      continuation.onTermination = { _ in Task { @MainActor [weak self] in self?.manager.stopScan() } }
      manager.scanForPeripherals(withServices: services)
    }
  }

  public func connect(_ peripheral: CBPeripheral) async throws -> AsyncPeripheral {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        connections[peripheral.identifier] = continuation
        manager.connect(peripheral, options: nil)
      }
    } onCancel: {
      Task { @MainActor in self.manager.cancelPeripheralConnection(peripheral) }
    }
    return AsyncPeripheral(peripheral)
  }

  public func disconnect(_ peripheral: AsyncPeripheral) async {
    await withCheckedContinuation { continuation in
      disconnections[peripheral.peripheral.identifier] = continuation
      manager.cancelPeripheralConnection(peripheral.peripheral)
    }
  }
}

extension AsyncCentral: CBCentralManagerDelegate {
  nonisolated public func centralManagerDidUpdateState(_ central: CBCentralManager) {
    let state = central.state
    MainActor.assumeIsolated {
      stateUpdates.yield(state)
      guard state == .poweredOn else { return }
      stateWaiters.forEach { $0.resume() }
      stateWaiters = []
    }
  }

  nonisolated public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    let discovery = Discovery(
      peripheral: peripheral, name: advertisementData[CBAdvertisementDataLocalNameKey] as? String,
      services: advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? [], rssi: RSSI.intValue)
    MainActor.assumeIsolated { _ = discoveries?.yield(discovery) }
  }

  nonisolated public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    MainActor.assumeIsolated { connections.removeValue(forKey: peripheral.identifier)?.resume() }
  }

  nonisolated public func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {
    MainActor.assumeIsolated {
      connections.removeValue(forKey: peripheral.identifier)?.resume(throwing: error ?? CBError(.connectionFailed))
    }
  }

  nonisolated public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    MainActor.assumeIsolated {
      connections.removeValue(forKey: peripheral.identifier)?.resume(throwing: CancellationError())
      disconnections.removeValue(forKey: peripheral.identifier)?.resume()
    }
  }
}
