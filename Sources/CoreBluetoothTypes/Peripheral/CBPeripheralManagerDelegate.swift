public import Foundation

/// What a ``PeripheralManager`` tells the application; mirrors `CBPeripheralManagerDelegate`.
///
/// Every call comes on the manager's queue, one at a time. Only ``peripheralManagerDidUpdateState(_:)`` must be there; the
/// others have defaults that do nothing, except that requests nobody implements are answered Request Not Supported (0x06).
public protocol PeripheralManagerDelegate: NSObjectProtocol {
  /// The state changed; read ``Manager/state``.
  func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager)

  /// Never called: what a program publishes ends with it.
  func peripheralManager(_ peripheral: PeripheralManager, willRestoreState dict: [String: Any])

  /// Answers each ``PeripheralManager/startAdvertising(_:)-(Dictionary<String,Any>?)``.
  func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?)

  /// Answers each ``PeripheralManager/add(_:)``, in order, with the object that was added.
  func peripheralManager(_ peripheral: PeripheralManager, didAdd service: Service, error: (any Error)?)

  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic)

  /// The central wants no more changes, or its link ended.
  func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didUnsubscribeFrom characteristic: Characteristic)

  /// Set the request's value to the octets from its offset on and respond, exactly once, now or later.
  func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest)

  /// Carry out all of the writes or none, then respond to the first, exactly once.
  func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest])

  /// There is room again after ``PeripheralManager/updateValue(_:for:onSubscribedCentrals:)`` returned false.
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: PeripheralManager)

  func peripheralManager(_ peripheral: PeripheralManager, didPublishL2CAPChannel psm: L2CAPPSM, error: (any Error)?)
  func peripheralManager(_ peripheral: PeripheralManager, didUnpublishL2CAPChannel psm: L2CAPPSM, error: (any Error)?)
  func peripheralManager(_ peripheral: PeripheralManager, didOpen channel: L2CAPChannel?, error: (any Error)?)

  // What CoreBluetooth does not tell.

  /// A central connected.
  func peripheralManager(_ peripheral: PeripheralManager, didConnect central: Central)

  /// A central has proven that it is a bonded device, on a link that came up while another link had the device's address. From
  /// now on the link is that of `identified`, which has the device's identifier, and `central` is not connected any more.
  /// Subscriptions of `central` end before this call, and those of `identified` begin after it. The other link has ended.
  func peripheralManager(_ peripheral: PeripheralManager, didIdentify central: Central, as identified: Central)

  /// The link of a central ended; its subscriptions have ended before this call.
  func peripheralManager(_ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason)

  /// The timing of a link changed, or the central refused to change it.
  func peripheralManager(
    _ peripheral: PeripheralManager, didUpdateConnectionOf central: Central, timing: ConnectionTiming?,
    error: (any Error)?)

  /// Answers ``PeripheralManager/readRSSI(of:)``; in dBm.
  func peripheralManager(
    _ peripheral: PeripheralManager, didReadRSSI rssi: Int?, of central: Central, error: (any Error)?)

  /// A central wrote a characteristic or a descriptor whose value the stack keeps.
  func peripheralManager(_ peripheral: PeripheralManager, central: Central, didStoreValueOf attribute: Attribute)

  /// The advertisement rests, because of a link or the controller, and comes back by itself.
  func peripheralManager(_ peripheral: PeripheralManager, didPauseAdvertising reason: DisconnectReason?)

  func peripheralManagerDidResumeAdvertising(_ peripheral: PeripheralManager)
}

extension PeripheralManagerDelegate {
  public func peripheralManager(_ peripheral: PeripheralManager, willRestoreState dict: [String: Any]) {}
  public func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {}
  public func peripheralManager(_ peripheral: PeripheralManager, didAdd service: Service, error: (any Error)?) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didSubscribeTo characteristic: Characteristic
  ) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didUnsubscribeFrom characteristic: Characteristic
  ) {}

  public func peripheralManager(_ peripheral: PeripheralManager, didReceiveRead request: ATTRequest) {
    peripheral.respond(to: request, withResult: .requestNotSupported)
  }

  public func peripheralManager(_ peripheral: PeripheralManager, didReceiveWrite requests: [ATTRequest]) {
    guard let first = requests.first else { return }
    peripheral.respond(to: first, withResult: .requestNotSupported)
  }

  public func peripheralManagerIsReady(toUpdateSubscribers peripheral: PeripheralManager) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, didPublishL2CAPChannel psm: L2CAPPSM, error: (any Error)?
  ) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, didUnpublishL2CAPChannel psm: L2CAPPSM, error: (any Error)?
  ) {}
  public func peripheralManager(_ peripheral: PeripheralManager, didOpen channel: L2CAPChannel?, error: (any Error)?) {}

  public func peripheralManager(_ peripheral: PeripheralManager, didConnect central: Central) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, didIdentify central: Central, as identified: Central
  ) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, didDisconnect central: Central, reason: DisconnectReason
  ) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, didUpdateConnectionOf central: Central, timing: ConnectionTiming?,
    error: (any Error)?
  ) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, didReadRSSI rssi: Int?, of central: Central, error: (any Error)?
  ) {}
  public func peripheralManager(
    _ peripheral: PeripheralManager, central: Central, didStoreValueOf attribute: Attribute
  ) {}
  public func peripheralManager(_ peripheral: PeripheralManager, didPauseAdvertising reason: DisconnectReason?) {}
  public func peripheralManagerDidResumeAdvertising(_ peripheral: PeripheralManager) {}
}
