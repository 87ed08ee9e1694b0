package import BLEGATT
package import BLEWire

/// All events for the application, results of commands included, in one order.
///
/// An event is in the group of the part that reports it, as a command is in that of the part that performs it. A client
/// switches over each group that concerns it.
package enum HostEvent: Sendable {
  /// The adapter's state; the error says why it is below `poweredOn` and how to fix it.
  indirect case state(AdapterState, HostError?)
  /// Our identity address, before the state `poweredOn`.
  case address(DeviceAddress)
  /// What the controller can do, to owners that requested it (``HostCommand/reportCapabilities``).
  indirect case capabilities(ControllerCapabilities)
  /// The host rejected a command, or the command failed, and no other event reports it.
  indirect case refused(HostError)
  /// A line for the log, with its origin.
  indirect case diagnostic(Diagnostic)

  case services(Services)
  case advertising(AdvertisingID, Advertising)
  case scanning(Scanning)
  case synchronizing(SyncID, Synchronizing)

  indirect case connected(ConnectedLink)
  indirect case connectionFailed(ConnectID, HostError)
  /// Another program of this machine has connected to a device, or its link has ended; on adapters that the kernel
  /// runs. The host does not use the link.
  case foreignLink(DeviceAddress, isUp: Bool)
  case link(LinkID, Link)
  indirect case client(LinkID, GATTClient.Event)
  case server(LinkID, Server)
  case pairing(LinkID, Pairing)
  case bonds(Bonds)

  case channels(Channels)
  case channel(L2CAPChannelID, Channel)
}

/// The adapter's states, in CoreBluetooth's order.
package enum AdapterState: Int, Comparable, Sendable {
  case unknown, resetting, unsupported, unauthorized, poweredOff, poweredOn
  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A link that came up.
package struct ConnectedLink: Equatable, Sendable {
  package enum Role: Equatable, Sendable { case central, peripheral }

  package var peer: LinkID
  /// The peer's address; an identity address if the controller or the host resolved a private one. If another link
  /// already has that address, an address drawn for this link alone (``HostEvent/Link/identified(_:)``).
  package var address: DeviceAddress
  /// Our role on the link.
  package var role: Role
  package var timing: LinkTiming
  /// The connection request, where we are the central.
  package var request: ConnectID?

  package init(
    peer: LinkID, address: DeviceAddress, role: Role, timing: LinkTiming, request: ConnectID? = nil
  ) {
    self.peer = peer
    self.address = address
    self.role = role
    self.timing = timing
    self.request = request
  }
}
