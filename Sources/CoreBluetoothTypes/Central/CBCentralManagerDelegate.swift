public import Foundation

/// What a ``CentralManager`` tells the application; mirrors `CBCentralManagerDelegate`.
///
/// Every call comes on the manager's queue, one at a time. Only ``centralManagerDidUpdateState(_:)`` must be there; the
/// others have defaults that do nothing.
public protocol CentralManagerDelegate: NSObjectProtocol {
  /// The state changed; read ``Manager/state``.
  func centralManagerDidUpdateState(_ central: CentralManager)

  /// Never called: what a program does ends with it.
  func centralManager(_ central: CentralManager, willRestoreState dict: [String: Any])

  /// A device was found. Keep `peripheral`: nobody else does.
  ///
  /// - Parameters:
  ///   - advertisementData: by the `AdvertisementData…` keys; what it said in its advertisement and its scan response.
  ///   - rssi: in dBm; 127 where the controller has none.
  func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any],
    rssi: NSNumber)

  func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral)

  /// No link came up; the error says why.
  func centralManager(_ central: CentralManager, didFailToConnect peripheral: Peripheral, error: (any Error)?)

  /// The link ended, or the connection was given up. The error is nil where this program wanted it. Nothing of this
  /// peripheral comes after it, and everything that was found on it is void.
  func centralManager(_ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?)

  /// As ``centralManager(_:didDisconnectPeripheral:error:)``, which is not called where this one is there.
  ///
  /// - Parameters:
  ///   - timestamp: when it happened.
  ///   - isReconnecting: the connection is made again by itself (``ConnectPeripheralOptionEnableAutoReconnect``).
  func centralManager(
    _ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?)

  /// A link that ``CentralManager/registerForConnectionEvents(options:)`` asked about came up or ended.
  func centralManager(
    _ central: CentralManager, connectionEventDidOccur event: ConnectionEvent, for peripheral: Peripheral)

  /// Never called: Linux has no Apple Notification Center Service.
  func centralManager(_ central: CentralManager, didUpdateANCSAuthorizationFor peripheral: Peripheral)
}

extension CentralManagerDelegate {
  public func centralManager(_ central: CentralManager, willRestoreState dict: [String: Any]) {}
  public func centralManager(
    _ central: CentralManager, didDiscover peripheral: Peripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {}
  public func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) {}
  public func centralManager(
    _ central: CentralManager, didFailToConnect peripheral: Peripheral, error: (any Error)?
  ) {}
  public func centralManager(
    _ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?
  ) {}
  public func centralManager(
    _ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?
  ) {
    centralManager(central, didDisconnectPeripheral: peripheral, error: error)
  }
  public func centralManager(
    _ central: CentralManager, connectionEventDidOccur event: ConnectionEvent, for peripheral: Peripheral
  ) {}
  public func centralManager(_ central: CentralManager, didUpdateANCSAuthorizationFor peripheral: Peripheral) {}
}
