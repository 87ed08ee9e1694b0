import BLEL2CAP

/// An effect of the channels of a link on other parts.
enum ChannelEffect: Sendable {
  /// The peer requests channels, which the services of the host answer.
  case requested(CreditBasedChannels.Request)
  /// A request waits until the link is secured.
  case securityWanted(SecurityInput)
  /// The name of a channel is no longer in use.
  case ended(L2CAPChannelID)
}
