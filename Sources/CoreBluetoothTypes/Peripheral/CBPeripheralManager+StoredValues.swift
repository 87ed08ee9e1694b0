import BLEAdapter
import BLEHost
public import Foundation

/// Values that the stack keeps. CoreBluetooth has no such thing.
extension CBPeripheralManager {
  /// Changes a value that the stack keeps, without telling subscribers; ``updateValue(_:for:onSubscribedCentrals:)``
  /// tells them. It may be called before the characteristic is published.
  ///
  /// - Throws: ``CBError/invalidParameters`` where the stack does not keep the value or its length is not allowed.
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

  /// The delegate has no method for values that centrals write: no more of them are reported, until there is another delegate.
  ///
  /// - Parameter delegate: that one; an earlier delegate decides nothing.
  final func ignoresStoredValues(_ delegate: any CBPeripheralManagerDelegate) {
    guard self.delegate === delegate else { return }
    run { $0.setReportsStoredWrites(false, into: &$1) }
  }

  /// Sets the Device Name and Appearance characteristics of the GAP service (Vol 3, Part C, 12.1 and 12.2), for all
  /// managers of the adapter; nil leaves one as it is. The name in an advertisement is another matter.
  ///
  /// - Parameter name: at most 248 octets of UTF-8; more are cut at a character.
  public final func setDeviceName(_ name: String?, appearance: UInt16? = nil) {
    client.commands.post(.setIdentity(name: name, appearance: appearance))
  }
}
