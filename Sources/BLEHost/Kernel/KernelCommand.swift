package import BLEGATT
package import BLEL2CAP
package import BLESMP
package import BLEWire

/// A command to the kernel of the operating system, where it runs the controller
/// (``ControllerOwnership/sharedWithKernel``).
///
/// The kernel is a Bluetooth host then: it pairs, encrypts, answers the controller's requests for keys, and has the
/// signalling channel. This host decides on pairings, asks the user, stores the bonds, and has the services that peers
/// open channels to. ``KernelReport`` is the other direction. Both name a device by the address that the kernel uses:
/// the identity address if known.
package enum KernelCommand: Sendable {
  /// Sets the settings of pairings; nil disables pairing.
  case setPairing(PairingSettings?)
  /// Replaces the keys of the kernel with those of all bonds.
  case loadKeys([KernelKeys])
  /// Removes the keys of a device.
  case forget(DeviceAddress)
  /// The answer to ``KernelReport/asked(_:_:)``.
  case answer(DeviceAddress, PairingQuestion, PairingAnswer)
  /// Encrypts the link with this handle, with an existing key or by a pairing. A peripheral sends a Security Request.
  case secure(handle: UInt16, isAuthenticated: Bool)
  /// Accepts channels to a service from now on. These settings replace earlier ones.
  ///
  /// - Parameters:
  ///   - level: the security that the kernel demands of a link before it accepts a channel.
  ///   - mtu: the largest SDU that this host accepts, in octets.
  case listen(SPSM, level: SecurityLevel, mtu: UInt16)
  /// Accepts no more channels to a service.
  case stopListening(SPSM)
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

extension KernelCommand {
  /// The command for one service.
  static func listen(_ number: SPSM, for service: ChannelService) -> Self {
    .listen(number, level: service.requirement.security, mtu: service.parameters.mtu)
  }
}
