package import BLEL2CAP

extension HostEvent {
  /// The result of a command about channels (Vol 3, Part A, 10). ``HostLinks`` reports it.
  package enum Channels: Sendable {
    /// The answer to ``HostCommand/Channels/listen(_:_:)``, with the number that the host assigned where the command
    /// had none.
    indirect case listening(ListenID, Result<SPSM, HostError>)
    case stoppedListening(SPSM)
    indirect case opened(OpenedChannel)
    indirect case openFailed(OpenChannelID, HostError)
  }

  /// An event of one channel. ``LinkChannels`` reports it.
  package enum Channel: Sendable {
    /// An SDU of the peer; answer with ``HostCommand/Channel/didRead`` when it is read.
    case received([UInt8])
    /// These octets of SDUs have left the queue of the channel towards the controller.
    case sent(octets: Int)
    /// The peer accepts larger SDUs, in octets (Vol 3, Part A, 4.27).
    case resized(remoteMTU: Int)
    indirect case closed(ChannelCloseReason)
  }
}
