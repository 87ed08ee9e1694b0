public import BLEAdapter
public import BLEHost
public import Foundation

/// The delegate of a ``CBPeripheralManager``; mirrors `CBPeripheralManagerDelegate`.
///
/// Every call comes on the manager's queue, one at a time. Only ``peripheralManagerDidUpdateState(_:)`` is required;
/// the others have defaults that do nothing, except that the default for a request responds with Request Not Supported
/// (0x06).
///
/// Declare the conformance at the class that has the methods. A method that only a subclass of the conforming class has
/// is not called: Swift on Linux chooses the methods of a protocol where the conformance is declared. The log names
/// such a class once.
public protocol CBPeripheralManagerDelegate: NSObjectProtocol {
  /// The state changed; read ``CBManager/state``.
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager)

  /// The first call of a manager with a ``CBPeripheralManagerOptionRestoreIdentifierKey``, if there is something to
  /// restore: from an earlier process that was killed or crashed, or from an earlier manager of this process. After an
  /// orderly end (`exit`, SIGINT, SIGTERM, SIGHUP) nothing is restored.
  ///
  /// The services are published and the advertisement starts without further calls; requests come with the
  /// characteristics of these services. Keep them, or add the same services again: an added service takes the place of
  /// an equal restored one that the program does not hold, and ``CBPeripheralManager/startAdvertising(_:)`` replaces
  /// the restored advertisement.
  ///
  /// - Parameter dict: by the keys ``CBPeripheralManagerRestoredStateServicesKey`` and
  ///   ``CBPeripheralManagerRestoredStateAdvertisementDataKey``.
  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any])

  /// Answers each ``CBPeripheralManager/startAdvertising(_:)``.
  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?)

  /// Answers each ``CBPeripheralManager/add(_:)``, in order, with the object that was added.
  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?)

  /// A central subscribed to a characteristic.
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic)

  /// A central unsubscribed, or its link ended.
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic)

  /// Set the request's value to the octets from its offset on and respond, exactly once, now or later.
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest)

  /// Carry out all of the writes or none, then respond to the first, exactly once.
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest])

  /// There is room again after ``CBPeripheralManager/updateValue(_:for:onSubscribedCentrals:)`` returned false.
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager)

  /// Answers ``CBPeripheralManager/publishL2CAPChannel(withEncryption:)``.
  func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?)
  /// Answers ``CBPeripheralManager/unpublishL2CAPChannel(_:)``.
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?)
  /// A central has opened a channel to a published PSM. Keep the channel: it is closed when it is released.
  func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?)

  // Calls that CoreBluetooth does not have.

  /// A central connected.
  func peripheralManager(_ peripheral: CBPeripheralManager, didConnect central: CBCentral)

  /// A central has proven that it is a bonded device, on a link that came up while another link had the device's
  /// address. From now on the link is that of `identified`, which has the device's identifier, and `central` is no
  /// longer connected. Subscriptions of `central` end before this call, and those of `identified` begin after it. The
  /// other link has ended.
  func peripheralManager(_ peripheral: CBPeripheralManager, didIdentify central: CBCentral, as identified: CBCentral)

  /// The link of a central ended; its subscriptions have ended before this call.
  func peripheralManager(_ peripheral: CBPeripheralManager, didDisconnect central: CBCentral, reason: DisconnectReason)

  /// The timing of a link changed, or the central refused to change it.
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didUpdateConnectionOf central: CBCentral, timing: ConnectionTiming?,
    error: (any Error)?)

  /// Answers ``CBPeripheralManager/readRSSI(of:)``; in dBm.
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReadRSSI rssi: Int?, of central: CBCentral, error: (any Error)?)

  /// This program or the central has changed the PHYs of a central's link. Also answers
  /// ``CBPeripheralManager/setPreferredPHY(transmit:receive:coding:for:)`` and ``CBPeripheralManager/readPHY(of:)``.
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUpdatePHY phy: ConnectionPHY?, error: (any Error)?)

  /// A central wrote a characteristic or a descriptor whose value the stack stores; its ``CBCharacteristic/value`` is
  /// the written one.
  ///
  /// If the delegate does not have this method, the stack does not report such writes, and the objects keep the value
  /// that they have.
  func peripheralManager(_ peripheral: CBPeripheralManager, central: CBCentral, didStoreValueOf attribute: CBAttribute)

  /// The controller does not send the advertisement any longer, and ``CBPeripheralManager/isAdvertising`` is false: it
  /// has rejected it, for a reason that does not pass. Start advertising again to try once more.
  func peripheralManager(_ peripheral: CBPeripheralManager, didEndAdvertising error: any Error)

  /// Advertising is paused by a connection or by the controller, and resumes automatically.
  func peripheralManager(_ peripheral: CBPeripheralManager, didPauseAdvertising reason: DisconnectReason?)

  /// Advertising continues after a pause.
  func peripheralManagerDidResumeAdvertising(_ peripheral: CBPeripheralManager)
}

extension CBPeripheralManagerDelegate {
  public func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    peripheral.reportUnusedRestoration()
  }
  public func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {}
  public func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {}

  public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    peripheral.respond(to: request, withResult: .requestNotSupported)
  }

  public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    guard let first = requests.first else { return }
    peripheral.respond(to: first, withResult: .requestNotSupported)
  }

  public func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?
  ) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?
  ) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {}

  public func peripheralManager(_ peripheral: CBPeripheralManager, didConnect central: CBCentral) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, didIdentify central: CBCentral, as identified: CBCentral
  ) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, didDisconnect central: CBCentral, reason: DisconnectReason
  ) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, didUpdateConnectionOf central: CBCentral, timing: ConnectionTiming?,
    error: (any Error)?
  ) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, didReadRSSI rssi: Int?, of central: CBCentral, error: (any Error)?
  ) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUpdatePHY phy: ConnectionPHY?, error: (any Error)?
  ) {}
  public func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didStoreValueOf attribute: CBAttribute
  ) {
    peripheral.ignoresStoredValues(self)
  }
  public func peripheralManager(_ peripheral: CBPeripheralManager, didEndAdvertising error: any Error) {}
  public func peripheralManager(_ peripheral: CBPeripheralManager, didPauseAdvertising reason: DisconnectReason?) {}
  public func peripheralManagerDidResumeAdvertising(_ peripheral: CBPeripheralManager) {}
}
