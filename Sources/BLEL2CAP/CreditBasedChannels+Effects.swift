import BLEWire

/// The limits of the channels of a link, the requests for channels, and the events for their owner.
extension CreditBasedChannels {
  /// The limits of one link.
  public struct Limits: Hashable, Sendable {
    /// The number of channels, those that are being opened included. An LE link has 64 dynamic numbers at most.
    public var channels = 32
    /// Requests of the peer that wait for ``SignallingChannel/accept(_:_:into:effects:)``.
    public var waitingRequests = 4
    /// The octets that wait to be sent on one channel.
    public var queuedOctets = 65_536

    /// The default limits.
    public init() {}
  }

  /// The identifier of a call of ``SignallingChannel/open(_:_:now:into:)``, chosen by the caller.
  public struct OpenID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
  }

  /// A request of the peer for one to five channels. The owner answers it.
  public struct Request: Hashable, Sendable {
    /// The identifier of the request on the signalling channel.
    public let identifier: UInt8
    /// The service.
    public let spsm: SPSM
    /// The flow control mode.
    public let mode: CreditBasedChannel.Mode
    /// What the peer accepts.
    public let remote: CreditBasedChannel.Parameters
    /// The numbers of the channels at the peer. A null one has already been rejected.
    var remoteCIDs: [ChannelID]
    /// The result for the channels that were rejected.
    var partialResult: CreditBasedConnectionResult
    /// The number of channels that can be opened.
    public var count: Int { remoteCIDs.count { $0 != .null } }
    /// Whether the peer lists its channels by ascending numbers, as most do.
    package var isAscending: Bool {
      let numbers = remoteCIDs.filter { $0 != .null }
      return zip(numbers, numbers.dropFirst()).allSatisfy { $0.rawValue < $1.rawValue }
    }

    /// Whether another request, whose numbers are not checked, is the same.
    func isRepeated(by other: Self) -> Bool {
      (spsm, mode, remote) == (other.spsm, other.mode, other.remote) && remoteCIDs.count == other.remoteCIDs.count
        && zip(remoteCIDs, other.remoteCIDs).allSatisfy { $0 == $1 || $0 == .null }
    }
  }

  /// The reason why a channel was not opened.
  public enum OpenFailure: Error, Hashable, Sendable {
    /// The peer rejected the request.
    case refused(CreditBasedConnectionResult)
    /// The peer does not support the request.
    case notUnderstood(CommandRejectReason)
    /// The response contradicts the request or the specification.
    case invalidResponse
    /// The peer did not respond in time.
    case timedOut
    /// The link ended.
    case linkEnded
  }

  /// The reason why a channel was closed.
  public enum CloseReason: Hashable, Sendable {
    /// The owner closed it.
    case local
    /// The peer closed it.
    case peer
    /// The peer broke a rule: a Disconnection Request was sent.
    case violation(CreditBasedChannel.Violation)
    /// The peer gave the same number to two channels (Vol 3, Part A, 4.26).
    case duplicateCID
    /// The link ended.
    case linkEnded
  }

  /// An event for the owner.
  public enum Effect: Equatable, Sendable {
    /// The peer requests channels. Answer with ``SignallingChannel/accept(_:_:into:effects:)`` or
    /// ``SignallingChannel/reject(_:_:into:)``.
    case requested(Request)
    /// Channels are open, by a request of the peer or by our request with this identifier. Fewer than requested if the
    /// peer rejected some.
    case opened([ChannelID], OpenID?)
    /// A request of ours failed.
    case openFailed(OpenID, OpenFailure)
    /// An SDU was received. Call ``SignallingChannel/didRead(_:into:)`` when it is read.
    case received(ChannelID, [UInt8])
    /// The queue of a channel was full and takes SDUs again.
    case canSend(ChannelID)
    /// The peer has other sizes for these channels, or accepted ours.
    case reconfigured([ChannelID])
    /// The peer rejected our sizes; nil if it did not respond.
    case reconfigurationFailed([ChannelID], CreditBasedReconfigureResult?)
    /// A channel is closed. SDUs in its queue are lost.
    case closed(ChannelID, CloseReason)
  }

  /// A request of ours without a response.
  enum Outstanding: Sendable {
    case open(OpenID, SPSM, CreditBasedChannel.Mode, CreditBasedChannel.Parameters, [ChannelID])
    case reconfigure([ChannelID], mtu: UInt16, mps: UInt16)
    case close(local: ChannelID, remote: ChannelID)
  }
}
