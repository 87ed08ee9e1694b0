import BLEHCI
import BLEHost
import BLEL2CAP

/// Why a channel has ended.
package enum ChannelEnd: Equatable, Sendable {
  /// This end closed it.
  case closed
  /// The peer closed it.
  case closedByPeer
  /// The peer broke a rule of the protocol, which the text states.
  case violation(String)
  /// The channel demanded security that the link has lost: a pairing failed after the link was encrypted with its key.
  case notSecured
  /// The link ended, for this reason.
  case linkEnded(DisconnectReason)
  /// The client of the adapter has ended.
  case detached
  /// Too many commands waited for the host, which could not take the next octets.
  case overloaded

  /// Whether everything that the peer sent before was received.
  package var isOrderly: Bool { self == .closed || self == .closedByPeer }
}

extension ChannelEnd: CustomStringConvertible {
  package var description: String {
    switch self {
    case .closed: "the channel was closed"
    case .closedByPeer: "the other device closed the channel"
    case .violation(let rule): "the channel was closed: the other device sent \(rule)"
    case .notSecured: "the channel was closed: the pairing of the link has failed. Pair, then open another one"
    case .linkEnded(let reason): "the channel ended with its link: \(reason)"
    case .detached: "the channel ended with its adapter"
    case .overloaded: "the channel was closed: too many commands wait for the host (write on fewer channels at once)"
    }
  }
}

extension ChannelEnd {
  init(_ reason: ChannelCloseReason) {
    self =
      switch reason {
      case .local: .closed
      case .peer: .closedByPeer
      case .violation(let violation): .violation("\(violation)")
      case .duplicateCID: .violation("one channel number for two channels")
      case .keyRevoked: .notSecured
      case .linkEnded(let reason): .linkEnded(DisconnectReason(rawValue: reason.rawValue))
      }
  }
}
