public import BLEAdapter
public import CoreFoundation
public import Foundation

/// The delegate of a ``CBCentralManager``; mirrors `CBCentralManagerDelegate`.
///
/// Every call comes on the manager's queue, one at a time. Only ``centralManagerDidUpdateState(_:)`` is required; the
/// others have defaults that do nothing.
///
/// Declare the conformance at the class that has the methods. A method that only a subclass of the conforming class has
/// is not called: Swift on Linux chooses the methods of a protocol where the conformance is declared. The log names
/// such a class once.
public protocol CBCentralManagerDelegate: NSObjectProtocol {
  /// The state changed; read ``CBManager/state``.
  func centralManagerDidUpdateState(_ central: CBCentralManager)

  /// The first call of a manager with a ``CBCentralManagerOptionRestoreIdentifierKey``, if there is something to
  /// restore: from an earlier process that was killed or crashed, or from an earlier manager of this process. After an
  /// orderly end (`exit`, SIGINT, SIGTERM, SIGHUP) nothing is restored. Retain the peripherals: a connection whose
  /// peripheral is released is cancelled.
  ///
  /// On Apple's systems links outlive the process; here they end with it, and their peripherals are
  /// ``CBPeripheralState/connecting``.
  ///
  /// - Parameter dict: by the keys ``CBCentralManagerRestoredStatePeripheralsKey``,
  ///   ``CBCentralManagerRestoredStateScanServicesKey`` and ``CBCentralManagerRestoredStateScanOptionsKey``.
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any])

  /// A device was found. Retain `peripheral`: the manager does not.
  ///
  /// - Parameters:
  ///   - advertisementData: by the `AdvertisementData…` keys; the content of its advertisement and its scan response.
  ///   - rssi: in dBm; 127 where the controller has none.
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber)

  /// Called instead of ``centralManager(_:didDiscover:advertisementData:rssi:)`` if the delegate has this method.
  /// `device` has everything that the device advertises and the controller reported. CoreBluetooth has no such call.
  func centralManager(_ central: CBCentralManager, didDiscover peripheral: CBPeripheral, device: DiscoveredDevice)

  /// The link to a peripheral is established.
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral)

  /// The connection failed; the error contains the reason.
  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?)

  /// The link ended, or the connection was cancelled. The error is nil if this program did that. No more results of
  /// this peripheral follow, and everything that was discovered on it is invalid.
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?)

  /// Called instead of ``centralManager(_:didDisconnectPeripheral:error:)`` if the delegate has this method.
  ///
  /// - Parameters:
  ///   - timestamp: when it happened.
  ///   - isReconnecting: the manager reconnects automatically (``CBConnectPeripheralOptionEnableAutoReconnect``).
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?)

  /// A link that ``CBCentralManager/registerForConnectionEvents(options:)`` registered for was established or ended.
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral)

  /// Never called: Linux has no Apple Notification Center Service.
  func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral)
}

extension CBCentralManagerDelegate {
  public func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    central.reportUnusedRestoration()
  }
  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {}
  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, device: DiscoveredDevice
  ) {
    centralManager(
      central, didDiscover: peripheral, advertisementData: device.dictionary, rssi: device.strength)
  }
  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {}
  public func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {}
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {}
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?
  ) {
    centralManager(central, didDisconnectPeripheral: peripheral, error: error)
  }
  public func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
  ) {}
  public func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral) {}
}
