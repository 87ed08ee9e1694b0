import BLEAdapter
import BLELinux
public import CoreBluetoothTypes
public import Dispatch

/// Managers of CoreBluetooth on a device.
///
/// The radio waits until each call of a delegate has returned, before time passes. A delegate that waits on its queue
/// for something that the same queue has to do fails the test: ``TestRadioError/delegateBlocks(_:_:)``.
extension TestDevice {
  /// A central manager of the device.
  ///
  /// - Parameters:
  ///   - delegate: is not retained.
  ///   - queue: the queue of its calls, which something has to serve; nil is one of the manager's own, not the main
  ///     queue as outside of tests.
  ///   - restoreIdentifier: as `CBCentralManagerOptionRestoreIdentifierKey`.
  public func centralManager(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue? = nil, restoreIdentifier: String? = nil
  ) async throws -> CBCentralManager {
    let client = try await addClient()
    let manager = CBCentralManager(
      delegate: delegate, queue: queue ?? DispatchQueue(label: "BLETesting.central"), over: client.link,
      restoration: store(restoreIdentifier, .central), log: BluetoothLog.write, later: later)
    try await begin(manager, client)
    return manager
  }

  /// A peripheral manager of the device; the parameters are those of
  /// ``centralManager(delegate:queue:restoreIdentifier:)``.
  public func peripheralManager(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue? = nil, restoreIdentifier: String? = nil
  ) async throws -> CBPeripheralManager {
    let client = try await addClient()
    let manager = CBPeripheralManager(
      delegate: delegate, queue: queue ?? DispatchQueue(label: "BLETesting.peripheral"), over: client.link,
      restoration: store(restoreIdentifier, .peripheral), log: BluetoothLog.write, later: later)
    try await begin(manager, client)
    return manager
  }

  private func store(_ identifier: String?, _ role: RestorationStore.Role) -> RestorationStore? {
    identifier.flatMap {
      RestorationStore.open($0, role, beside: nil, "test:\(name)", log: BluetoothLog.write)
    }
  }

  private func begin(_ manager: CBManager, _ client: SimulatedClient) async throws {
    // A manager may be released in one of its calls.
    try await setManager(
      { [weak manager, weak radio, name, queue = manager.callQueue] in
        radio?.waitForDelegate(of: name) {
          while !queue.sync(execute: { client.link.isSilent && manager?.hasCalls != true }) {}
        }
      }, of: client)
    try await attach(client)
  }
}
