public import Foundation

/// What a ``Peripheral`` tells the application; mirrors `CBPeripheralDelegate`.
///
/// Every call comes on the manager's queue, one at a time, in the order of the questions. All have defaults that do
/// nothing. An error is an ``ATTError`` where the peripheral refused, else a ``BluetoothError``.
public protocol PeripheralDelegate: NSObjectProtocol {
  /// The device says another name than before.
  func peripheralDidUpdateName(_ peripheral: Peripheral)

  /// The device has other services now: those named here are void, with all that is in them. Discover again.
  func peripheral(_ peripheral: Peripheral, didModifyServices invalidatedServices: [Service])

  /// As ``peripheral(_:didReadRSSI:error:)``, which came after it.
  func peripheralDidUpdateRSSI(_ peripheral: Peripheral, error: (any Error)?)

  /// Answers ``Peripheral/readRSSI()``; in dBm, 127 where there is none.
  func peripheral(_ peripheral: Peripheral, didReadRSSI rssi: NSNumber, error: (any Error)?)

  /// Answers ``Peripheral/discoverServices(_:)``; read ``Peripheral/services``.
  func peripheral(_ peripheral: Peripheral, didDiscoverServices error: (any Error)?)

  /// Answers ``Peripheral/discoverIncludedServices(_:for:)``; read ``Service/includedServices``.
  func peripheral(
    _ peripheral: Peripheral, didDiscoverIncludedServicesFor service: Service, error: (any Error)?)

  /// Answers ``Peripheral/discoverCharacteristics(_:for:)``; read ``Service/characteristics``.
  func peripheral(
    _ peripheral: Peripheral, didDiscoverCharacteristicsFor service: Service, error: (any Error)?)

  /// Answers ``Peripheral/readValue(for:)-(Characteristic)`` and tells each notification and indication; read
  /// ``Characteristic/value``.
  func peripheral(_ peripheral: Peripheral, didUpdateValueFor characteristic: Characteristic, error: (any Error)?)

  /// Answers ``Peripheral/writeValue(_:for:type:)`` with a response, exactly once.
  func peripheral(_ peripheral: Peripheral, didWriteValueFor characteristic: Characteristic, error: (any Error)?)

  /// Answers ``Peripheral/setNotifyValue(_:for:)``; read ``Characteristic/isNotifying``.
  func peripheral(
    _ peripheral: Peripheral, didUpdateNotificationStateFor characteristic: Characteristic, error: (any Error)?)

  /// Answers ``Peripheral/discoverDescriptors(for:)``; read ``Characteristic/descriptors``.
  func peripheral(
    _ peripheral: Peripheral, didDiscoverDescriptorsFor characteristic: Characteristic, error: (any Error)?)

  /// Answers ``Peripheral/readValue(for:)-(Descriptor)``; read ``Descriptor/value``.
  func peripheral(_ peripheral: Peripheral, didUpdateValueFor descriptor: Descriptor, error: (any Error)?)

  /// Answers ``Peripheral/writeValue(_:for:)``.
  func peripheral(_ peripheral: Peripheral, didWriteValueFor descriptor: Descriptor, error: (any Error)?)

  /// There is room again after ``Peripheral/canSendWriteWithoutResponse`` was false.
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: Peripheral)

  /// Answers ``Peripheral/openL2CAPChannel(_:)``.
  func peripheral(_ peripheral: Peripheral, didOpen channel: L2CAPChannel?, error: (any Error)?)
}

extension PeripheralDelegate {
  public func peripheralDidUpdateName(_ peripheral: Peripheral) {}
  public func peripheral(_ peripheral: Peripheral, didModifyServices invalidatedServices: [Service]) {}
  public func peripheralDidUpdateRSSI(_ peripheral: Peripheral, error: (any Error)?) {}
  public func peripheral(_ peripheral: Peripheral, didReadRSSI rssi: NSNumber, error: (any Error)?) {}
  public func peripheral(_ peripheral: Peripheral, didDiscoverServices error: (any Error)?) {}
  public func peripheral(
    _ peripheral: Peripheral, didDiscoverIncludedServicesFor service: Service, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: Peripheral, didDiscoverCharacteristicsFor service: Service, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: Peripheral, didUpdateValueFor characteristic: Characteristic, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: Peripheral, didWriteValueFor characteristic: Characteristic, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: Peripheral, didUpdateNotificationStateFor characteristic: Characteristic, error: (any Error)?
  ) {}
  public func peripheral(
    _ peripheral: Peripheral, didDiscoverDescriptorsFor characteristic: Characteristic, error: (any Error)?
  ) {}
  public func peripheral(_ peripheral: Peripheral, didUpdateValueFor descriptor: Descriptor, error: (any Error)?) {}
  public func peripheral(_ peripheral: Peripheral, didWriteValueFor descriptor: Descriptor, error: (any Error)?) {}
  public func peripheralIsReady(toSendWriteWithoutResponse peripheral: Peripheral) {}
  public func peripheral(_ peripheral: Peripheral, didOpen channel: L2CAPChannel?, error: (any Error)?) {}
}
