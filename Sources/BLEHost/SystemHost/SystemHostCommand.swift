package import BLEGATT
package import BLEL2CAP
package import BLESMP
package import BLEWire

/// A command to the system host: a Bluetooth host of the operating system that runs the controller, as the Linux kernel
/// does (``ControllerOwnership/sharedWithSystemHost``).
///
/// The system host pairs, encrypts, answers the controller's requests for keys, and has the signalling channel. This
/// host decides on pairings, asks the user, stores the bonds, and has the services that peers open channels to.
/// ``SystemHostReport`` is the other direction. Both name a device by the address that the system host uses: the
/// identity address if known.
package enum SystemHostCommand: Sendable {
  /// Sets the settings of pairings; nil disables pairing.
  case setPairing(PairingSettings?)
  /// Replaces the keys of the system host with those of all bonds.
  case loadKeys([SystemHostKeys])
  /// Removes the keys of a device.
  case forget(DeviceAddress)
  /// The answer to ``SystemHostReport/asked(_:_:)``.
  case answer(DeviceAddress, PairingQuestion, PairingAnswer)
  /// Encrypts the link with this handle, with an existing key or by a pairing. A peripheral sends a Security Request.
  case secure(handle: UInt16, isAuthenticated: Bool)
  /// Accepts channels to a service from now on. These settings replace earlier ones.
  ///
  /// - Parameters:
  ///   - level: the security that the system host demands of a link before it accepts a channel.
  ///   - mtu: the largest SDU that this host accepts, in octets.
  case listen(SPSM, level: SecurityLevel, mtu: UInt16)
  /// Accepts no more channels to a service.
  case stopListening(SPSM)
}

/// The keys of one bonded device, for the system host.
package struct SystemHostKeys: Hashable, Sendable {
  package var identity: DeviceAddress
  package var identityResolvingKey: SecretKey?
  /// The key for links on which this device is the peripheral.
  package var peripheralKey: LongTermKey?
  /// The key for links on which this device is the central.
  package var centralKey: LongTermKey?

  package init(identity: DeviceAddress) { self.identity = identity }
}
