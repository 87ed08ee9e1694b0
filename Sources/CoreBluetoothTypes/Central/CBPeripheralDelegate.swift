public import BLEAdapter
public import BLEHost
public import Foundation

/// The delegate of a ``CBPeripheral``; mirrors `CBPeripheralDelegate`.
///
/// Every call comes on the manager's queue, one at a time, in the order of the operations. All have defaults that do
/// nothing. An error is a ``CBATTError`` if the peripheral rejected the request, otherwise a ``CBError``.
///
/// Declare the conformance at the class that has the methods. A method that only a subclass of the conforming class has
/// is not called: Swift on Linux chooses the methods of a protocol where the conformance is declared. The log names
/// such a class once.
public protocol CBPeripheralDelegate: NSObjectProtocol {
  /// The device advertises another name than before.
  func peripheralDidUpdateName(_ peripheral: CBPeripheral)

  /// The device's services have changed: those named here are invalid, with everything in them. Discover them again.
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService])

  /// The older form of ``peripheral(_:didReadRSSI:error:)``.
  func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?)

  /// Answers ``CBPeripheral/readRSSI()``; in dBm, 127 where there is none.
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI rssi: NSNumber, error: (any Error)?)

  /// Answers ``CBPeripheral/discoverServices(_:)``; read ``CBPeripheral/services``.
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?)

  /// Answers ``CBPeripheral/discoverIncludedServices(_:for:)``; read ``CBService/includedServices``.
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?)

  /// Answers ``CBPeripheral/discoverCharacteristics(_:for:)``; read ``CBService/characteristics``.
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?)

  /// Answers ``CBPeripheral/readValue(for:)-(CBCharacteristic)`` and reports each notification and indication; read
  /// ``CBCharacteristic/value``.
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?)

  /// Answers ``CBPeripheral/writeValue(_:for:type:)`` with a response, exactly once.
  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?)

  /// Answers ``CBPeripheral/setNotifyValue(_:for:)``; read ``CBCharacteristic/isNotifying``.
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?)

  /// Answers ``CBPeripheral/discoverDescriptors(for:)``; read ``CBCharacteristic/descriptors``.
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?)

  /// Answers ``CBPeripheral/readValue(for:)-(CBDescriptor)``; read ``CBDescriptor/value``.
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?)

  /// Answers ``CBPeripheral/writeValue(_:for:)``.
  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?)

  /// There is room again after ``CBPeripheral/canSendWriteWithoutResponse`` was false, or all writes without response
  /// have left: one call for each time that none waits any longer.
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral)

  /// This program or the peripheral has changed the PHYs of the link. Also answers
  /// ``CBPeripheral/setPreferredPHY(transmit:receive:coding:)`` and ``CBPeripheral/readPHY()``. Not in CoreBluetooth.
  func peripheral(_ peripheral: CBPeripheral, didUpdatePHY phy: ConnectionPHY?, error: (any Error)?)

  /// This program or the peripheral has changed the connection rate of the link. Also answers
  /// ``CBPeripheral/requestConnectionRate(_:)``. Not in CoreBluetooth.
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateConnectionTiming timing: ConnectionTiming?, error: (any Error)?)

  /// Answers ``CBPeripheral/openL2CAPChannel(_:)``. Keep the channel: it is closed when it is released.
  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?)
}

extension CBPeripheralDelegate {
  public func peripheralDidUpdateName(_ peripheral: CBPeripheral) {}
  public func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {}
  public func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?) {}
  public func peripheral(_ peripheral: CBPeripheral, didReadRSSI rssi: NSNumber, error: (any Error)?) {}
  public func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {}
  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
  ) {}
  public func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {}
  public func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {}
  public func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {}
  public func peripheral(_ peripheral: CBPeripheral, didUpdatePHY phy: ConnectionPHY?, error: (any Error)?) {}
  public func peripheral(
    _ peripheral: CBPeripheral, didUpdateConnectionTiming timing: ConnectionTiming?, error: (any Error)?
  ) {}
  public func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {}
}
