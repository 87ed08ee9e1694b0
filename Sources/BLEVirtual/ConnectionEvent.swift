internal import BLEHCI
internal import BLEWire

/// A packet of a connection event (Vol 6, Part B, 2.4).
struct LinkLayerPacket: Sendable {
  enum Content: Sendable {
    /// An empty PDU: it acknowledges the other end's PDU and carries nothing.
    case empty
    case control(LinkLayerPDU)
    /// `count` octets, from `offset` on, of the first ACL packet that waits.
    case data(offset: Int, count: Int, isLast: Bool)

    var isEmpty: Bool { if case .empty = self { true } else { false } }
  }

  var content: Content
  var airtime: Duration
  /// The MD bit: the sender has more PDUs for this connection event.
  var hasMoreData: Bool
}

/// A connection event that is taking place (Vol 6, Part B, 4.5.1 and 4.5.6).
///
/// ```
///  anchor                                                                            next anchor
///    │ C→P ├T_IFS┤ P→C ├T_IFS┤ C→P ├T_IFS┤ P→C ├T_IFS┤ … closed                           │
/// ```
///
/// The event goes on while the latest packet of either end has the MD bit, the exchange before carried a PDU, and the next
/// exchange ends T_IFS before the next anchor point.
struct ConnectionEvent: Sendable {
  /// The anchor point of the next event.
  let nextAnchor: Instant
  /// The packet on the channel.
  private(set) var packet: LinkLayerPacket
  private(set) var sender: HCI.Role
  private(set) var packetEnd: Instant
  /// The MD bit of the central's latest packet.
  private(set) var centralHasMoreData: Bool
  /// Whether a PDU of the current exchange was not empty and was accepted.
  var isExchangeUseful = false
  /// Whether the receiver of the current packet had a PDU before the packet arrived. T_IFS is too short to answer a PDU:
  /// what follows from it, in the Link Layer or in the host, waits for the next packet.
  var isAnswerPrepared = false

  /// The central's first packet, at the anchor point.
  init(packet: LinkLayerPacket, anchor: Instant, nextAnchor: Instant) {
    self.packet = packet
    self.nextAnchor = nextAnchor
    sender = .central
    packetEnd = anchor + packet.airtime
    centralHasMoreData = packet.hasMoreData
  }

  /// Whether the central may begin another exchange, where there is room for it.
  var mayContinue: Bool {
    sender == .peripheral && isExchangeUseful && (centralHasMoreData || packet.hasMoreData)
  }

  /// Whether packets of `airtime` in all, with T_IFS before each of the `count` and after the last, fit behind the current one.
  func hasRoom(for airtime: Duration, packets count: Int) -> Bool {
    packetEnd + airtime + RadioPHY.interFrameSpace * (count + 1) <= nextAnchor
  }

  /// The end that has received the current packet sends the next one, T_IFS later.
  mutating func answer(with next: LinkLayerPacket) {
    sender = sender == .central ? .peripheral : .central
    packet = next
    packetEnd = packetEnd + RadioPHY.interFrameSpace + next.airtime
    isAnswerPrepared = false
    if sender == .central {
      centralHasMoreData = next.hasMoreData
      isExchangeUseful = false
    }
  }
}
