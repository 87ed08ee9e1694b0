package import BLEATT
package import BLEGATT
package import BLEHCI
package import BLEL2CAP
package import BLESMP
package import BLEWire

/// A command of an owner to the host. Commands are performed in the order in which they were posted.
///
/// The poster chooses every identifier in a command, unique among all owners; the events that answer carry it back, to
/// the owner alone.
package enum HostCommand: Sendable {
  // The database (Vol 3, Part G). Answered by ``HostEvent/serviceAdded(_:_:)`` and ``HostEvent/serviceRemoved(_:_:)``.
  indirect case addService(ServiceDefinition)
  case removeService(ServiceID)
  /// Changes a value that the stack keeps (``ValueSource/stored(_:length:)``) without updating clients.
  case setValue(AttributeID, [UInt8])
  /// The Device Name and Appearance characteristics of the GAP service (Vol 3, Part C, 12.1 and 12.2).
  indirect case setIdentity(name: String?, appearance: UInt16?)
  /// Whether the owner receives ``HostEvent/stored(_:_:_:)``, which it does by default. Without it a write never leaves
  /// the host.
  case reportStoredWrites(Bool)

  // Advertising as a declared intent: kept, through connections and resets, until stopped.
  indirect case startAdvertising(AdvertisingID, AdvertisingIntent)
  case stopAdvertising(AdvertisingID)

  // The server's side of a link.
  /// Answers a ``HostEvent/read(_:_:_:offset:)`` or ``HostEvent/write(_:_:_:)``.
  case respond(LinkID, RequestToken, RequestAnswer)
  /// Notifies or indicates `value` to the peers named, or to every subscriber. ``HostEvent/updateFinished(_:)`` follows
  /// when the last copy has left or its link has gone.
  case update(UpdateToken, AttributeID, [UInt8], to: [LinkID])

  // Links.
  /// Ends a link, even if other owners use it.
  case disconnect(LinkID, HCIErrorCode)
  /// Withdraws this owner's use of a link that our central made. The link ends when no other owner uses it.
  case release(LinkID)
  indirect case updateConnection(LinkID, ConnectionParameters)
  /// Brings data length, PHY and timing of a link to a priority. A setting that is refused is reported as a diagnostic,
  /// a timing by ``HostEvent/connectionUpdateRefused(_:_:)``.
  case prioritize(LinkID, ConnectionPriority)
  case readRSSI(LinkID)
  /// Requests other PHYs for a link. ``HostEvent/phy(_:_:)`` answers when both ends use the PHYs that the controllers
  /// chose, and also reports a change that the peer requested.
  indirect case setPHY(LinkID, PHYPreference)
  /// Reads the PHYs of a link; ``HostEvent/phy(_:_:)`` answers.
  case readPHY(LinkID)
  /// Requests pairing or encryption from the central (SMP Security Request); as the central, pairs or encrypts.
  case requestSecurity(LinkID)
  /// Requests security as ``requestSecurity(_:)``, with a demand: a key that does not meet it is replaced by pairing
  /// anew, and a pairing that cannot meet it fails.
  indirect case secure(LinkID, SecurityDemand)

  // Trust (Vol 3, Part H).
  /// How we pair from now on; nil refuses every attempt.
  indirect case setPairing(PairingSettings?)
  /// Whether the adapter uses resolvable private addresses (Vol 3, Part C, 10.7); ``HostEvent/refused(_:)`` answers if
  /// it cannot.
  indirect case setPrivacy(PrivacySettings?)
  /// Whether the peer is authorized on this link (Vol 3, Part C, 10.5). ``HostEvent/security(_:_:)`` answers if that is
  /// a change.
  case authorize(LinkID, Bool)
  /// Answers one ``HostEvent/pairing(_:_:_:)``. An answer to a question that is not open, or of another kind than the
  /// question asks for, changes nothing and is reported as a diagnostic.
  indirect case answerPairing(LinkID, PairingQuestionID, PairingAnswer)
  /// Replaces all bonds with those of earlier runs. No event follows.
  case setBonds([Bond])
  /// These bonds are on stable storage, as ``HostEvent/bondChanged(_:)`` reported them. Sign counters wait for it
  /// (``HostConfiguration/awaitsBondStorage``).
  case bondsStored([Bond])
  /// Forgets a device; ``HostEvent/bondRemoved(_:)`` answers if it was bonded.
  case removeBond(DeviceAddress)
  /// Forgets what our client has discovered of a device's database, with its bond and on its links.
  case discardAttributeCacheOfBond(DeviceAddress)

  /// Requests reports of the controller's capabilities, now and each time before the adapter is powered on:
  /// ``HostEvent/capabilities(_:)``.
  case reportCapabilities

  // The central's side.
  indirect case startScanning(ScanParameters)
  case stopScanning
  /// Connects to a device. ``HostEvent/connected(_:)`` or ``HostEvent/connectionFailed(_:_:)`` answers; a link that our
  /// central made for another owner is shared, and reported at once.
  indirect case connect(ConnectID, DeviceAddress, ConnectionParameters, InitiatingParameters = InitiatingParameters())
  /// Cancels a pending connection; ``HostEvent/connectionFailed(_:_:)`` follows.
  case cancelConnect(ConnectID)
  /// Sends an operation to the peer's server; ``HostEvent/client(_:_:)`` answers with the operation's identifier.
  indirect case client(LinkID, GATTClient.Operation)
  /// As ``client(_:_:)``, for an operation that the program has not requested: the link is not secured for it.
  indirect case inspect(LinkID, GATTClient.Operation)
  /// Forgets what our client has discovered of the peer's database, on the link and with the bond.
  case discardAttributeCache(LinkID)

  // Credit-based channels (Vol 3, Part A, 10). A command about a channel that is closed is ignored: it has crossed
  // ``HostEvent/channelClosed(_:_:)``.
  /// Lets peers open channels to a service until ``stopListening(_:)``; ``HostEvent/listening(_:_:)`` answers.
  indirect case listen(ListenID, ChannelService)
  /// Closes the service and its channels; ``HostEvent/stoppedListening(_:)`` answers.
  case stopListening(SPSM)
  /// Opens a channel. ``HostEvent/channelOpened(_:)`` or ``HostEvent/channelOpenFailed(_:_:)`` answers.
  indirect case openChannel(OpenChannelID, LinkID, ChannelRequest)
  /// Sends an SDU of at most ``OpenedChannel/remoteMTU`` octets. ``HostEvent/sduSent(_:octets:)`` reports that it has
  /// left.
  case sendSDU(L2CAPChannelID, [UInt8])
  /// The application has read one SDU: the peer may send another one.
  case didReadSDU(L2CAPChannelID)
  /// Closes a channel; ``HostEvent/channelClosed(_:_:)`` follows.
  case closeChannel(L2CAPChannelID)
}

/// Values of one attribute for the same links, in order. They need no tokens: ``HostEvent/updatesFinished(_:_:)``
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
    case .startAdvertising(let id, _): return .advertisingStarted(id, .failure(error))
    case .updateConnection(let peer, _): return .connectionUpdateRefused(peer, error)
    case .readRSSI(let peer): return .rssi(peer, .failure(error))
    case .setPHY(let peer, _), .readPHY(let peer): return .phy(peer, .failure(error))
    case .startScanning: return .scanStopped(error)
    case .connect(let id, _, _, _): return .connectionFailed(id, error)
    case .client(let peer, let operation), .inspect(let peer, let operation):
      let limit = GATTClient.Limits().waitingOctets
      return .client(peer, .finished(operation.id, .failure(.tooManyOperations(limit: limit))))
    case .listen(let id, _): return .listening(id, .failure(error))
    case .openChannel(let id, _, _): return .channelOpenFailed(id, error)
    case .addService, .removeService, .setValue, .setIdentity, .reportStoredWrites, .stopAdvertising, .respond, .update,
      .disconnect, .release, .prioritize, .requestSecurity, .secure, .setPairing, .setPrivacy, .authorize,
      .answerPairing, .setBonds, .bondsStored, .removeBond, .discardAttributeCacheOfBond, .reportCapabilities,
      .stopScanning, .cancelConnect, .discardAttributeCache, .stopListening, .sendSDU, .didReadSDU, .closeChannel:
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
    default: self
    }
  }

  /// The link that the command is about.
  var link: LinkID? {
    switch self {
    case .respond(let peer, _, _), .disconnect(let peer, _), .release(let peer), .updateConnection(let peer, _),
      .prioritize(let peer, _), .readRSSI(let peer), .setPHY(let peer, _), .readPHY(let peer), .client(let peer, _),
      .inspect(let peer, _), .discardAttributeCache(let peer),
      .requestSecurity(let peer), .secure(let peer, _), .answerPairing(let peer, _, _), .authorize(let peer, _),
      .openChannel(_, let peer, _):
      peer
    default: nil
    }
  }

  /// The answer to a command about a link that has ended; nil where none is needed.
  func rejection(for owner: OwnerID) -> AddressedEvent<HostEvent>? {
    switch self {
    case .respond, .authorize, .discardAttributeCache: nil
    case .answerPairing(let peer, _, _):
      AddressedEvent(.diagnostic(PairingAnswerError.notOpen.diagnostic(of: peer)))
    case .readRSSI(let peer): AddressedEvent(.rssi(peer, .failure(.notConnected)), to: owner.recipient)
    case .setPHY(let peer, _), .readPHY(let peer):
      AddressedEvent(.phy(peer, .failure(.notConnected)), to: owner.recipient)
    case .client(let peer, let operation), .inspect(let peer, let operation):
      AddressedEvent(.client(peer, .finished(operation.id, .failure(.linkEnded))), to: owner.recipient)
    case .openChannel(let id, _, _):
      AddressedEvent(.channelOpenFailed(id, .notConnected), to: owner.recipient)
    default: AddressedEvent(.refused(.notConnected), to: owner.recipient)
    }
  }
}

extension PairingAnswerError {
  /// The line about an answer that changed nothing (Vol 3, Part H, 2.3.5.6.2: a yes counts only for the digits that the
  /// user compared).
  func diagnostic(of peer: LinkID) -> Diagnostic {
    Diagnostic(.application, "an answer to a pairing question is ignored: \(self)", peer: peer)
  }
}
