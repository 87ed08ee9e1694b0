public import BLEGATT
public import BLEHCI
public import BLEHost
public import BLESMP
public import BLEWire

/// One link to a central. A later link of the same device is another peer.
public struct Peer: Hashable, Sendable {
  let link: LinkID

  init(_ link: LinkID) { self.link = link }
}

extension Peer: CustomStringConvertible {
  /// `link 1`.
  public var description: String { "link \(link.rawValue)" }
}

/// An event of a ``Peripheral``, in the order in which they occurred.
public enum PeripheralEvent: Sendable {
  /// The controller is ready. The address is the identity of this device.
  case ready(DeviceAddress)
  /// The controller is not ready. Links have ended; the advertisement stays declared. The text says why.
  ///
  /// The peripheral resets the controller up to three times by itself, each time with this event. After the last
  /// attempt ``Peripheral/hasFailed`` is true: reset the controller by its pin or its power, and call
  /// ``Peripheral/start(now:)``.
  case notReady(String)
  /// The advertisement is sent, or is paused: by a link, by ``PeripheralLimits/links``, or by
  /// ``Peripheral/stopAdvertising(now:)``.
  case advertising(Bool)
  /// The controller does not send the advertisement; the text says why. It is no longer declared.
  case advertisingFailed(String)

  /// A central has connected. The address is the identity, if the bond of the device has resolved a private address.
  case connected(Peer, DeviceAddress)
  /// A link has ended. The code says why, such as 0x13, Remote User Terminated Connection.
  case disconnected(Peer, HCIErrorCode)
  /// The security of the link has changed.
  case security(Peer, SecurityState)
  /// The client has changed its subscription, or a bonded client has restored it, or the link has ended.
  case subscription(Peer, AttributeID, Subscription)
  /// There is room again for values of a link for which ``Peripheral/update(_:_:to:now:)`` had none.
  case canUpdate(Peer)

  /// Pairing needs an answer, or shows a passkey: ``Peripheral/answer(_:_:of:now:)``.
  case question(Peer, PairingQuestionID, PairingQuestion)
  /// A question no longer needs an answer; a passkey is no longer shown.
  case questionWithdrawn(PairingQuestionID)
  /// Pairing has succeeded. Without a bond the keys are lost when the link ends.
  case paired(Peer, isBonded: Bool)
  /// Pairing has failed; the text says why.
  case pairingFailed(Peer, String)

  /// A bond is new or has changed. Store it, and replace a stored bond of the same address.
  indirect case bondChanged(Bond)
  /// A bond was removed: by ``Peripheral/removeBond(of:now:)``, or to make room for another one.
  case bondRemoved(DeviceAddress)

  /// A line for the log: something that is not an event of the program, such as a peer that breaks the protocol.
  case diagnostic(String)
  /// This number of events was discarded after the one before: ``PeripheralLimits/events``. Changes of bonds are not
  /// among them: they follow.
  case eventsDropped(Int)
}

/// The result of ``Peripheral/update(_:_:to:now:)``.
public struct UpdateResult: Hashable, Sendable {
  /// The links on which the value is sent, in order with earlier values.
  public internal(set) var accepted = 0
  /// The links that do not get the value, because ``PeripheralLimits/updates`` values wait.
  /// ``PeripheralEvent/canUpdate(_:)`` follows for each of them.
  public internal(set) var full = 0

  /// A result with these numbers of links.
  public init(accepted: Int = 0, full: Int = 0) { (self.accepted, self.full) = (accepted, full) }
}
