package import BLEWire

extension HostEvent {
  /// An event of the bonds of the adapter. ``BondTable`` reports it.
  package enum Bonds: Sendable {
    /// A bond is new or has changed: store it, and remove one with the same identity.
    indirect case changed(Bond)
    case removed(DeviceAddress)
    /// A pairing replaced the bond of this device on a link that had not proven the old one: the device has forgotten
    /// it, or another device has taken its place. ``HostEvent/Pairing/succeeded(_:)`` follows.
    case replaced(LinkID, DeviceAddress)
    /// Encryption with the keys of a bond failed.
    indirect case lost(LinkID, DeviceAddress, BondLoss)
  }
}
