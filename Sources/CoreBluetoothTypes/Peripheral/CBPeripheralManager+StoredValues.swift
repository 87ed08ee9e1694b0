import BLEAdapter
import BLEHost
public import Foundation

/// Values that the stack stores, which CoreBluetooth does not have.
extension CBPeripheralManager {
  /// Changes a value that the stack stores, without updating subscribers; ``updateValue(_:for:onSubscribedCentrals:)``
  /// updates them. It may be called before the characteristic is published.
  ///
  /// - Throws: ``CBError/invalidParameters`` if the stack does not store the value or its length is not allowed.
  public final func setStoredValue(_ value: Data, for characteristic: CBMutableCharacteristic) throws(CBError) {
    try run { state, effects throws(CBError) in
      try state.setStoredValue(
        [UInt8](value), for: characteristic, lengths: characteristic.storedLengths, into: &effects)
    }
    characteristic.value = value
  }

  /// As for a characteristic.
  public final func setStoredValue(_ value: Data, for descriptor: CBMutableDescriptor) throws(CBError) {
    try run { state, effects throws(CBError) in
      try state.setStoredValue([UInt8](value), for: descriptor, lengths: descriptor.storedLengths, into: &effects)
    }
    descriptor.held = .data(value)
  }

  /// Records that the delegate has no method for values that centrals write: they are not reported until there is
  /// another delegate.
  ///
  /// - Parameter delegate: the delegate without the method; an earlier delegate has no effect.
  final func ignoresStoredValues(_ delegate: any CBPeripheralManagerDelegate) {
    guard self.delegate === delegate else { return }
    run { $0.setReportsStoredWrites(false, into: &$1) }
  }

  /// Sets the Device Name and Appearance characteristics of the GAP service (Vol 3, Part C, 12.1 and 12.2), for all
  /// managers of the adapter; nil leaves one as it is. The name in an advertisement does not change.
  ///
  /// - Parameter name: at most 248 octets of UTF-8; a longer name is cut at a character boundary.
  public final func setDeviceName(_ name: String?, appearance: UInt16? = nil) {
    client.commands.post(.services(.setIdentity(name: name, appearance: appearance)))
  }
}
