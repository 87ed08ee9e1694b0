import BLEWire

/// There are no requests for channels.
struct ChannelOpenings: Sendable {
  struct Opening: Sendable {
    let id: OpenChannelID
    let owner: OwnerID
    var channel = L2CAPChannelID(rawValue: 0)
    var request: ChannelRequest

    init(id: OpenChannelID, owner: OwnerID, request: ChannelRequest) {
      (self.id, self.owner, self.request) = (id, owner, request)
    }
  }

  struct Facts { init(_ link: Link) {} }

  var deadline: Instant? { nil }
  func releaseWaiting(_ turn: inout LinkTurn) {}
}
