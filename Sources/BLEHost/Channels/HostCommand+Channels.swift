package import BLEL2CAP

extension HostCommand {
  /// A command about the services whose channels peers open, and the opening of one to a peer's service (Vol 3, Part A,
  /// 10). ``HostLinks`` performs it.
  package enum Channels: Sendable {
    /// Lets peers open channels to a service until ``stopListening(_:)``; ``HostEvent/listening(_:_:)`` answers.
    indirect case listen(ListenID, ChannelService)
    /// Closes the service and its channels; ``HostEvent/stoppedListening(_:)`` answers.
    case stopListening(SPSM)
    /// Opens a channel. ``HostEvent/channelOpened(_:)`` or ``HostEvent/channelOpenFailed(_:_:)`` answers.
    indirect case open(OpenChannelID, LinkID, ChannelRequest)
  }
}

extension HostCommand {
  /// A command about one channel. ``LinkChannels`` performs it.
  package enum Channel: Sendable {
    /// Sends an SDU of at most ``OpenedChannel/remoteMTU`` octets. ``HostEvent/sduSent(_:octets:)`` reports that it has
    /// left.
    case send([UInt8])
    /// The application has read one SDU: the peer may send another one.
    case didRead
    /// ``HostEvent/channelClosed(_:_:)`` follows.
    case close
  }
}
