package import BLESMP
package import BLEWire

/// A report of the kernel about pairings and keys (``KernelCommand``).
package enum KernelReport: Hashable, Sendable {
  /// A pairing needs an answer of the user or of the application.
  case asked(DeviceAddress, PairingQuestion)
  /// A pairing has failed. The kernel reports no reason.
  case failed(DeviceAddress)
  /// The device with the address `usedAs` has distributed its identity address and its IRK.
  case identity(DeviceAddress, usedAs: DeviceAddress, SecretKey)
  /// A key for later links, and the roles in which this device uses it. A key of LE Secure Connections is for both.
  ///
  /// `isToBeKept` is false where the device does not bond or will have another address.
  case longTermKey(DeviceAddress, LongTermKey, KeyUse, isToBeKept: Bool)
  /// The key of the peer's signatures (`isOurs` false), or of this device's.
  case signatureKey(DeviceAddress, SecretKey, isOurs: Bool)
  /// The strength of the key that encrypts the link with this handle; nil: it is not encrypted.
  case level(handle: UInt16, KeyStrength?)

  /// The roles in which this device uses a key.
  package enum KeyUse: Hashable, Sendable {
    case peripheral
    case central
    case both
  }
}
