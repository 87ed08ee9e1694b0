import BLEL2CAP

/// An effect of the channels of enhanced ATT bearers on the halves of a link, or of the halves on the channels.
enum BearerEffect: Sendable {
  /// Our central requests bearers.
  case open(Int)
  /// Channels of bearers are open.
  case opened([ChannelID])
  /// Channels of bearers have another MTU.
  case resized([ChannelID])
  /// A PDU of the peer.
  case received(ChannelID, [UInt8])
  /// A bearer is closed.
  case closed(ChannelID)
  /// A bearer is to be closed, for this reason.
  case close(ChannelID, String)
  /// A bearer of the server has work.
  case tick
}

/// A PDU for an enhanced ATT bearer.
struct BearerFrame: Equatable, Sendable {
  var channel: ChannelID
  var pdu: [UInt8]
}
