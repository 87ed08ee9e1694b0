package import BLEATT
package import BLEGATT
import BLEWire

/// A command of an owner to the host. Commands are performed in the order in which they were posted.
///
/// A command is in the group of the part that performs it. Each part switches over its own group.
///
/// The poster chooses every identifier in a command, unique among all owners; the events that answer carry it back, to
/// the owner alone.
package enum HostCommand: Sendable {
  case services(Services)
  case advertising(Advertising)
  case scanning(Scanning)
  case synchronizing(Synchronizing)
  case initiating(Initiating)
  /// Whether the adapter uses resolvable private addresses (Vol 3, Part C, 10.7); ``HostEvent/refused(_:)`` answers if
  /// it cannot.
  indirect case privacy(PrivacySettings?)
  case link(LinkID, Link)
  case security(Security)
  case channels(Channels)
  /// A command about a channel that is closed is ignored: it has crossed ``HostEvent/Channel/closed(_:)``.
  case channel(L2CAPChannelID, Channel)

  /// Answers a ``HostEvent/Server/read(_:_:offset:)`` or ``HostEvent/Server/write(_:_:)``.
  case respond(LinkID, RequestToken, RequestAnswer)
  /// Notifies or indicates a value to the peers that are named. ``HostEvent/Server/updateFinished(_:)`` follows for
  /// each of them when its copy has left or its link has gone.
  case update(UpdateToken, AttributeID, [UInt8], to: [LinkID])

  /// Requests reports of the controller's capabilities, now and each time before the adapter is powered on:
  /// ``HostEvent/capabilities(_:)``.
  case reportCapabilities
}

/// Values of one attribute for the same links, in order. They need no tokens: ``HostEvent/Server/updatesFinished(_:)``
/// counts those that have left.
package struct UpdateRun: Equatable, Sendable {
  package var attribute: AttributeID
  package var owner: OwnerID
  package var peers: [LinkID]
  /// The number of values, and of their octets.
  package var count: Int
  package var octets: Int

  package init(of attribute: AttributeID, from owner: OwnerID, to peers: [LinkID], count: Int, octets: Int) {
    (self.attribute, self.owner, self.peers, self.count, self.octets) = (attribute, owner, peers, count, octets)
  }
}

/// One link, named once for the life of the host; a later link of the same device has another name.
package struct LinkID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// One declared advertisement.
package struct AdvertisingID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// One value handed over to be notified.
package struct UpdateToken: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A pending connection request.
package struct ConnectID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The application's answer to one request.
package enum RequestAnswer: Equatable, Sendable {
  /// A read: the value from the request's offset on. A write: empty.
  case success([UInt8])
  /// The attribute names the part of a write that is at fault; nil is the first.
  case failure(ATTErrorCode, attribute: AttributeID? = nil)
}

extension HostCommand {
  /// How many commands can wait for the host.
  package static let waitingLimit = 4_096

  /// The event that answers the command if the host has not taken it, because ``waitingLimit`` commands wait; nil where
  /// no event does.
  ///
  /// A program can post any number of the commands with such an answer, so they are refused at the limit. The others
  /// end something, answer an event, or carry values of a window, so that their number is limited, or they change a
  /// setting. They have the same room again.
  package var refusal: HostEvent? {
    let error = HostError.tooMany("commands waiting for the host", limit: Self.waitingLimit)
    switch self {
    case .advertising(.start(let id, _)): return .advertising(id, .started(.failure(error)))
    case .advertising(.updateTrain(let id, _, let token)):
      return .advertising(id, .trainUpdated(token, .failure(error)))
    case .advertising(.transfer(let id, let peer, _)): return .advertising(id, .transferred(peer, .failure(error)))
    case .scanning(.start): return .scanning(.stopped(error))
    case .synchronizing(.start(let id, _, _)): return .synchronizing(id, .ended(error))
    case .synchronizing(.transfer(let id, let peer, _)): return .synchronizing(id, .transferred(peer, .failure(error)))
    case .initiating(.connect(let id, _, _, _)): return .connectionFailed(id, error)
    case .link(let peer, let command): return command.refusal(of: peer, error)
    case .channels(.listen(let id, _)): return .channels(.listening(id, .failure(error)))
    case .channels(.open(let id, _, _)): return .channels(.openFailed(id, error))
    case .advertising(.stop), .scanning(.stop), .synchronizing(.stop), .initiating(.cancel), .channels(.stopListening),
      .services, .privacy,
      .security, .channel, .respond, .update, .reportCapabilities:
      return nil
    }
  }

  /// The command with its value. An answer to a read and an update may have an empty one, because their values can be
  /// handed over beside the command, in memory that is reused.
  package func value(_ octets: Span<UInt8>) -> Self {
    switch self {
    case .respond(let peer, let token, .success): .respond(peer, token, .success([UInt8](copying: octets)))
    case .update(let token, let attribute, _, let peers):
      .update(token, attribute, [UInt8](copying: octets), to: peers)
    default: self  // The others have no such value.
    }
  }
}
