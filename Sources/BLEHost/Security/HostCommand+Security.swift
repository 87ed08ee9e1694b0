package import BLESMP
package import BLEWire

extension HostCommand {
  /// A command about pairing and bonds (Vol 3, Part H), of no link in particular. ``HostLinks`` performs it.
  package enum Security: Sendable {
    /// How we pair from now on; nil refuses every attempt.
    indirect case setPairing(PairingSettings?)
    /// Replaces all bonds with those of earlier runs. No event follows.
    case setBonds([Bond])
    /// These bonds are on stable storage, as ``HostEvent/Bonds/changed(_:)`` reported them. Sign counters wait for it
    /// (``HostConfiguration/awaitsBondStorage``).
    case bondsStored([Bond])
    /// Forgets a device; ``HostEvent/Bonds/removed(_:)`` answers if it was bonded.
    case removeBond(DeviceAddress)
    /// Forgets what our client has discovered of a device's database, with its bond and on its links.
    case discardAttributeCache(DeviceAddress)
  }
}
