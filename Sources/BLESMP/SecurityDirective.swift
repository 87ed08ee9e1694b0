package import BLEWire

/// A command of a host to the security manager of the operating system's kernel, where that one runs the controller.
///
/// The kernel pairs, encrypts and answers the controller's requests for keys. The host decides on pairings, asks the user, and
/// stores the bonds. ``SecurityReport`` is the other direction. Both have the address under which the kernel has the device:
/// the identity address where it is known.
package enum SecurityDirective: Sendable {
  /// Sets the settings of pairings; nil disables pairing.
  case setPolicy(PairingSettings?)
  /// Replaces the kernel's keys by those of all bonds.
  case loadKeys([KernelKeys])
  /// Removes the keys of a device.
  case forget(DeviceAddress)
  /// The answer to ``SecurityReport/asked(_:_:)``.
  case answer(DeviceAddress, PairingQuestion, PairingAnswer)
  /// Encrypts the link with this handle, with an existing key or by a pairing. A peripheral sends a Security Request.
  case secure(handle: UInt16, isAuthenticated: Bool)
}

/// The keys of one bonded device, for the kernel.
package struct KernelKeys: Hashable, Sendable {
  package var identity: DeviceAddress
  package var identityResolvingKey: SecretKey?
  /// The key for links on which this device is the peripheral.
  package var peripheralKey: LongTermKey?
  /// The key for links on which this device is the central.
  package var centralKey: LongTermKey?

  package init(identity: DeviceAddress) { self.identity = identity }
}

/// A report of the kernel's security manager to the host.
package enum SecurityReport: Hashable, Sendable {
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
