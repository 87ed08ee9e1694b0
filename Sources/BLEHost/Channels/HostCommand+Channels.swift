package import BLEL2CAP

extension HostCommand {
  /// A command about the services whose channels peers open, and the opening of one to a peer's service (Vol 3, Part A,
  /// 10). ``HostLinks`` performs it.
  package enum Channels: Sendable {
    /// Lets peers open channels to a service until ``stopListening(_:)``; ``HostEvent/Channels/listening(_:_:)``
    /// answers.
    indirect case listen(ListenID, ChannelService)
    /// Closes the service and its channels; ``HostEvent/Channels/stoppedListening(_:)`` answers.
    case stopListening(SPSM)
    /// Opens a channel. ``HostEvent/Channels/opened(_:)`` or ``HostEvent/Channels/openFailed(_:_:)`` answers.
    indirect case open(OpenChannelID, LinkID, ChannelRequest)
  }
}

extension HostCommand {
  /// A command about one channel. ``LinkChannels`` performs it.
  package enum Channel: Sendable {
    /// Sends an SDU of at most ``OpenedChannel/remoteMTU`` octets. ``HostEvent/Channel/sent(octets:)`` reports that it
    /// has left.
    case send([UInt8])
    /// The application has read one SDU: the peer may send another one.
    case didRead
    /// ``HostEvent/Channel/closed(_:)`` follows.
    case close
  }
}
