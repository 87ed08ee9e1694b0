package import BLEGATT
package import BLEHCI
package import BLEL2CAP

/// A service that peers may open credit-based channels to (Vol 3, Part A, 4.22 and 4.25). It is a declared intent: it
/// survives links and resets, and ends with its owner.
package struct ChannelService: Equatable, Sendable {
  /// The number of the service; nil: the host assigns a free one of ``/BLEL2CAP/SPSM/dynamicRange``.
  package var spsm: SPSM?
  /// What the host accepts on each channel.
  package var parameters: CreditBasedChannel.Parameters
  /// The security that the link needs before a peer may open a channel (Vol 3, Part C, 10.3.2).
  package var requirement: AccessRequirement

  package init(
    spsm: SPSM? = nil, parameters: CreditBasedChannel.Parameters = .init(), requirement: AccessRequirement = .open
  ) {
    (self.spsm, self.parameters, self.requirement) = (spsm, parameters, requirement)
  }
}

/// A request for a channel to a service of a peer.
package struct ChannelRequest: Equatable, Sendable {
  /// The service at the peer.
  package var spsm: SPSM
  /// What the host accepts on the channel.
  package var parameters: CreditBasedChannel.Parameters
  /// The flow control mode.
  package var mode: CreditBasedChannel.Mode
  /// The security that the link must have before the request is sent; nil: as it is. If the peer refuses for want of
  /// security and our central pairs on demand, the request is repeated once after a pairing.
  package var demand: SecurityDemand?

  package init(
    spsm: SPSM, parameters: CreditBasedChannel.Parameters = .init(), mode: CreditBasedChannel.Mode = .leCreditBased,
    demand: SecurityDemand? = nil
  ) {
    (self.spsm, self.parameters, self.mode, self.demand) = (spsm, parameters, mode, demand)
  }
}

/// A channel that is open.
package struct OpenedChannel: Hashable, Sendable {
  package var id: L2CAPChannelID
  package var peer: LinkID
  package var spsm: SPSM
  /// Whether the peer requested it.
  package var isIncoming: Bool
  /// Our request; nil where the peer requested the channel.
  package var request: OpenChannelID?
  /// The largest SDU that the host accepts, in octets.
  package var localMTU: Int
  /// The largest SDU that the peer accepts, in octets.
  package var remoteMTU: Int
  /// The largest payload of a frame that the peer accepts, in octets.
  package var remoteMPS: Int

  package init(
    id: L2CAPChannelID, peer: LinkID, spsm: SPSM, isIncoming: Bool, request: OpenChannelID? = nil, localMTU: Int,
    remoteMTU: Int, remoteMPS: Int = .max
  ) {
    self.id = id
    self.peer = peer
    self.spsm = spsm
    self.isIncoming = isIncoming
    self.request = request
    self.localMTU = localMTU
    self.remoteMTU = remoteMTU
    self.remoteMPS = remoteMPS
  }
}

/// The reason why a channel was closed.
package enum ChannelCloseReason: Hashable, Sendable {
  /// The owner closed the channel, or stopped listening.
  case local
  /// The peer closed it.
  case peer
  /// The peer broke a rule of the protocol. The channel is closed with a Disconnection Request.
  case violation(CreditBasedChannel.Violation)
  /// The peer gave one channel number to two channels (Vol 3, Part A, 4.26).
  case duplicateCID
  /// The channel demanded security, and the pairing whose key encrypts the link has failed.
  case keyRevoked
  /// The link has ended, for this reason.
  case linkEnded(HCIErrorCode)
}

extension ChannelCloseReason: CustomStringConvertible {
  package var description: String {
    switch self {
    case .local: "closed by this host"
    case .peer: "closed by the peer"
    case .violation(let violation): "the peer broke a rule: \(violation)"
    case .duplicateCID: "the peer gave one channel number to two channels"
    case .keyRevoked: "the pairing whose key encrypts the link has failed"
    case .linkEnded(let reason): "the link has ended: \(reason)"
    }
  }
}

/// The identifier of one ``HostCommand/Channels/listen(_:_:)``, chosen by the poster.
package struct ListenID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The identifier of one ``HostCommand/Channels/open(_:_:_:)``, chosen by the poster.
package struct OpenChannelID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The host's name of one channel, which is not used again. The channel numbers of L2CAP are reused.
package struct L2CAPChannelID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}
