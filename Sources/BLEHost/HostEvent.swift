package import BLEATT
package import BLEGATT
package import BLEHCI
package import BLEL2CAP
package import BLESMP
package import BLEWire

/// All events for the application, results of commands included, in one order.
package enum HostEvent: Sendable {
  /// The adapter's state; the error says why it is below `poweredOn` and how to fix it.
  indirect case state(AdapterState, HostError?)
  /// Our identity address, before the state `poweredOn`.
  case address(DeviceAddress)
  /// What the controller can do, to owners that requested it (``HostCommand/reportCapabilities``).
  indirect case capabilities(ControllerCapabilities)

  indirect case serviceAdded(ServiceID, Result<ServiceHandles, DatabaseError>)
  indirect case serviceRemoved(ServiceID, Result<ClosedRange<AttributeHandle>, DatabaseError>)
  /// The host rejected a command, or the command failed, and no other event reports it.
  indirect case refused(HostError)

  indirect case advertisingStarted(AdvertisingID, Result<Void, HostError>)
  /// Advertising is paused by a connection or by the controller, and resumes automatically.
  case advertisingPaused(AdvertisingID, HCIErrorCode?)
  case advertisingResumed(AdvertisingID)
  /// The controller does not send an advertisement that has started, and will not: the host has given it up.
  indirect case advertisingEnded(AdvertisingID, HostError)

  indirect case connected(ConnectedLink)
  /// A link has proven the bond of this identity. It was reported by a drawn address, because another link was reported
  /// by the identity when this one came up.
  case identified(LinkID, DeviceAddress)
  case disconnected(LinkID, HCIErrorCode)
  /// Another program of this machine has connected to a device, or its link has ended; on adapters that the kernel
  /// runs. The host does not use the link.
  case foreignLink(DeviceAddress, isUp: Bool)
  case mtu(LinkID, Int)
  case connectionUpdated(LinkID, LinkTiming)
  /// The longest packets of the link layer have changed.
  indirect case dataLength(LinkID, ConnectionDataLength)
  indirect case connectionUpdateRefused(LinkID, HostError)
  /// The security level of the link, from the controller's encryption events and the key in use.
  indirect case security(LinkID, SecurityState)

  /// A pairing needs the user or the application; answer with ``HostCommand/Link/answerPairing(_:_:)``.
  indirect case pairing(LinkID, PairingQuestionID, PairingQuestion)
  /// A question is void: its pairing has ended without an answer to it, or another question has taken its place. A
  /// passkey that was displayed is void when its pairing ends, with success or without.
  case pairingQuestionWithdrawn(LinkID, PairingQuestionID)
  indirect case paired(LinkID, PairedDevice)
  indirect case pairingFailed(LinkID, PairingFailure)
  /// The other device's user is typing the passkey that is displayed here (Vol 3, Part H, 3.5.8).
  case keypress(LinkID, KeypressNotificationType)
  /// A bond is new or has changed: store it, and remove one with the same identity.
  indirect case bondChanged(Bond)
  case bondRemoved(DeviceAddress)
  /// A pairing replaced the bond of this device on a link that had not proven the old one: the device has forgotten it,
  /// or another device has taken its place. ``paired(_:_:)`` follows.
  case bondReplaced(LinkID, DeviceAddress)
  /// Encryption with the keys of a bond failed.
  indirect case bondLost(LinkID, DeviceAddress, BondLoss)
  indirect case rssi(LinkID, Result<Int8, HostError>)
  /// The PHYs of a link: changes go to all owners, the answer to ``HostCommand/Link/readPHY`` and a failure to the
  /// owner of the request.
  indirect case phy(LinkID, Result<ConnectionPHY, HostError>)

  /// A client reads a dynamic value; answer with ``HostCommand/respond(_:_:_:)``.
  case read(LinkID, RequestToken, AttributeID, offset: Int)
  /// A client writes dynamic values; several parts only for a queued write, which is all or nothing. With a nil token
  /// there is nothing to answer.
  case write(LinkID, RequestToken?, [WritePart])
  /// A client writes a dynamic value with a Write Command, which has no answer.
  case command(LinkID, AttributeID, [UInt8])
  /// A client changed a value that the stack keeps.
  case stored(LinkID, AttributeID, [UInt8])
  /// The application did not answer in time; the client got Unlikely Error.
  case requestTimedOut(LinkID, RequestToken)
  /// A client's subscription changed: by a write, by its bond or by the end of its link.
  case subscription(LinkID, AttributeID, Subscription)
  /// A value has left on a link: its notification was sent, or its indication confirmed. Or it does not leave: the
  /// client has not subscribed, or the link has ended.
  case updateFinished(LinkID, UpdateToken)
  /// As ``updateFinished(_:_:)``, for so many values of ``UpdateRun``.
  case updatesFinished(LinkID, Int)

  /// Advertisements and scan responses in order, at most ``HostOutput/maximumDiscoveries``.
  case discovered([ScanReport])
  indirect case scanStopped(HostError?)
  indirect case connectionFailed(ConnectID, HostError)
  indirect case client(LinkID, GATTClient.Event)

  /// The answer to ``HostCommand/Channels/listen(_:_:)``, with the number that the host assigned where the command had
  /// none.
  indirect case listening(ListenID, Result<SPSM, HostError>)
  case stoppedListening(SPSM)
  indirect case channelOpened(OpenedChannel)
  indirect case channelOpenFailed(OpenChannelID, HostError)
  /// An SDU of the peer; answer with ``HostCommand/Channel/didRead`` when it is read.
  case sduReceived(L2CAPChannelID, [UInt8])
  /// These octets of SDUs have left the queue of the channel towards the controller.
  case sduSent(L2CAPChannelID, octets: Int)
  /// The peer accepts larger SDUs on a channel, in octets (Vol 3, Part A, 4.27).
  case channelResized(L2CAPChannelID, remoteMTU: Int)
  indirect case channelClosed(L2CAPChannelID, ChannelCloseReason)

  /// A line for the log, with its origin.
  indirect case diagnostic(Diagnostic)
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
  /// already has that address, an address drawn for this link alone (``HostEvent/identified(_:_:)``).
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
