package import BLEGATT
package import BLEHCI
package import BLESMP

extension HostCommand {
  /// A command about one link. ``Link`` performs it.
  package enum Link: Sendable {
    /// Ends the link, even if other owners use it.
    case disconnect(HCIErrorCode)
    /// Withdraws this owner's use of a link that our central made. The link ends when no other owner uses it.
    case release
    indirect case updateConnection(ConnectionParameters)
    /// Brings data length, PHY and timing to a priority. A setting that is refused is reported as a diagnostic, a
    /// timing by ``HostEvent/Link/connectionUpdateRefused(_:)``.
    case prioritize(ConnectionPriority)
    /// Requests other subrating. ``HostEvent/Link/subrating(_:)`` answers.
    indirect case requestSubrating(SubratingParameters)
    /// Requests another connection rate. ``HostEvent/Link/connectionRate(_:)`` answers.
    indirect case requestConnectionRate(LinkRateParameters)
    case readRSSI
    /// Reads transmit powers, and reports them and the path loss.
    indirect case power(LinkPowerCommand)
    /// Requests other PHYs. ``HostEvent/Link/phy(_:)`` answers when both ends use the PHYs that the controllers chose,
    /// and also reports a change that the peer requested.
    indirect case setPHY(PHYPreference)
    /// ``HostEvent/Link/phy(_:)`` answers.
    case readPHY
    /// Requests pairing or encryption from the central (SMP Security Request); as the central, pairs or encrypts.
    case requestSecurity
    /// Requests security as ``requestSecurity``, with a demand: a key that does not meet it is replaced by pairing
    /// anew, and a pairing that cannot meet it fails.
    indirect case secure(SecurityDemand)
    /// Whether the peer is authorized (Vol 3, Part C, 10.5). ``HostEvent/Link/security(_:)`` answers if that is a
    /// change.
    case authorize(Bool)
    /// Answers one ``HostEvent/Pairing/question(_:_:)``. An answer to a question that is not open, or of another kind
    /// than the question asks for, changes nothing and is reported as a diagnostic.
    indirect case answerPairing(PairingQuestionID, PairingAnswer)
    /// Sends an operation to the peer's server; ``HostEvent/client(_:_:)`` answers with the operation's identifier.
    indirect case client(GATTClient.Operation)
    /// As ``client(_:)``, for an operation that the program has not requested: the link is not secured for it.
    indirect case inspect(GATTClient.Operation)
    /// Forgets what our client has discovered of the peer's database, on the link and with the bond.
    case discardAttributeCache
  }
}

extension HostCommand.Link {
  /// The event that answers the command if the host has not taken it (``HostCommand/refusal``).
  func refusal(of peer: LinkID, _ error: HostError) -> HostEvent? {
    switch self {
    case .updateConnection: .link(peer, .connectionUpdateRefused(error))
    case .requestSubrating: .link(peer, .subrating(.failure(error)))
    case .requestConnectionRate: .link(peer, .connectionRate(.failure(error)))
    case .readRSSI: .link(peer, .rssi(.failure(error)))
    case .power(let command): command.failure(error).map { .link(peer, .power($0)) }
    case .setPHY, .readPHY: .link(peer, .phy(.failure(error)))
    case .client(let operation), .inspect(let operation):
      .client(
        peer,
        .finished(operation.id, .failure(.tooManyOperations(limit: GATTClient.Limits().waitingOctets))))
    case .disconnect, .release, .prioritize, .requestSecurity, .secure, .authorize, .answerPairing,
      .discardAttributeCache:
      nil
    }
  }

  /// The answer to a command about a link that has ended; nil where none is needed.
  func rejection(of peer: LinkID, for owner: OwnerID) -> AddressedEvent<HostEvent>? {
    switch self {
    case .authorize, .discardAttributeCache: nil
    case .answerPairing: AddressedEvent(.diagnostic(PairingAnswerError.notOpen.diagnostic(of: peer)))
    case .requestSubrating:
      AddressedEvent(.link(peer, .subrating(.failure(.notConnected))), to: owner.recipient)
    case .requestConnectionRate:
      AddressedEvent(.link(peer, .connectionRate(.failure(.notConnected))), to: owner.recipient)
    case .readRSSI: AddressedEvent(.link(peer, .rssi(.failure(.notConnected))), to: owner.recipient)
    case .power(let command):
      command.failure(.notConnected).map { AddressedEvent(.link(peer, .power($0)), to: owner.recipient) }
    case .setPHY, .readPHY: AddressedEvent(.link(peer, .phy(.failure(.notConnected))), to: owner.recipient)
    case .client(let operation), .inspect(let operation):
      AddressedEvent(.client(peer, .finished(operation.id, .failure(.linkEnded))), to: owner.recipient)
    case .disconnect, .release, .updateConnection, .prioritize, .requestSecurity, .secure:
      AddressedEvent(.refused(.notConnected), to: owner.recipient)
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
