import BLEHCI
import BLEL2CAP
import BLEWire

/// The link has no credit-based channels.
struct LinkChannels: Sendable {
  var openings = ChannelOpenings()

  init(peer: LinkID) {}

  func takeSent() -> [AddressedEvent<HostEvent>] { [] }
  func linkEnded(_ reason: HCIErrorCode, _ turn: inout LinkTurn) {}
}
