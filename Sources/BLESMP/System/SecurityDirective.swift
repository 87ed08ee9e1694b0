package import BLEWire

/// What a host asks of a security manager that is not its own: the operating system's, where that runs the controller.
///
/// The system pairs, encrypts and answers the controller's requests for keys; the host decides who may pair, asks the
/// user, and keeps the bonds. ``SecurityReport`` is the other direction. Devices are named by the address that the system
/// knows them by: the identity where it has one.
package enum SecurityDirective: Sendable {
  /// How to pair from now on; nil: not at all.
  case setPolicy(PairingSettings?)
  /// The keys of every bond, in the place of those that are there.
  case loadKeys([SystemKeys])
  /// Forget the keys of a device.
  case forget(DeviceAddress)
  /// The answer to a ``SecurityReport/asked(_:_:)``.
  case answer(DeviceAddress, PairingQuestion, PairingAnswer)
  /// Encrypt the link with this handle, by the keys that are there or by a pairing; a peripheral asks its central for it.
  case secure(handle: UInt16, isAuthenticated: Bool)
}

/// What the system is to know of one bonded device.
package struct SystemKeys: Hashable, Sendable {
  package var identity: DeviceAddress
  package var identityResolvingKey: SecretKey?
  /// For links where we are the peripheral, and where we are the central.
  package var peripheralKey: LongTermKey?
  package var centralKey: LongTermKey?

  package init(identity: DeviceAddress) { self.identity = identity }
}

/// What a security manager that is not the host's own tells it, in order.
package enum SecurityReport: Hashable, Sendable {
  /// A pairing needs the user or the application.
  case asked(DeviceAddress, PairingQuestion)
  /// A pairing came to nothing; the system does not say why.
  case failed(DeviceAddress)
  /// A device that used `address` gave its identity and the key that resolves its private addresses.
  case identity(DeviceAddress, usedAs: DeviceAddress, SecretKey)
  /// A key that encrypts later links, and for which of our roles; a key of Secure Connections is for both.
  ///
  /// `isToBeKept` is false where the device does not bond or will not be known again.
  case longTermKey(DeviceAddress, LongTermKey, KeyUse, isToBeKept: Bool)
  /// What the peer signs with (`isOurs` false), or what we sign with for it.
  case signatureKey(DeviceAddress, SecretKey, isOurs: Bool)
  /// What the link with this handle is worth now; nil in the clear.
  case level(handle: UInt16, KeyStrength?)

  package enum KeyUse: Hashable, Sendable { case peripheral, central, both }
}
