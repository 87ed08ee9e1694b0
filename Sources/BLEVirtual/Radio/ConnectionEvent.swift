internal import BLEHCI
internal import BLEWire

/// A packet of a connection event (Vol 6, Part B, 2.4).
struct LinkLayerPacket: Sendable {
  enum Content: Sendable {
    /// An empty PDU. It only acknowledges the PDU of the other end.
    case empty
    case control(LinkLayerPDU)
    /// `count` octets of the first waiting ACL packet, beginning at `offset`.
    case data(offset: Int, count: Int, isLast: Bool)

    var isEmpty: Bool { if case .empty = self { true } else { false } }
  }

  var content: Content
  var airtime: Duration
  /// The MD bit: the sender has more PDUs for this connection event.
  var hasMoreData: Bool
}

/// A connection event in progress (Vol 6, Part B, 4.5.1 and 4.5.6).
///
/// ```
///  anchor                                                                            next anchor
///    │ C→P ├T_IFS┤ P→C ├T_IFS┤ C→P ├T_IFS┤ P→C ├T_IFS┤ … closed                           │
/// ```
///
/// The event continues while the latest packet of one end has the MD bit, the latest exchange carried a PDU that was
/// not empty, and the next exchange ends T_IFS before the next anchor point.
struct ConnectionEvent: Sendable {
  /// The anchor point of the next event.
  let nextAnchor: Instant
  /// The current packet.
  private(set) var packet: LinkLayerPacket
  private(set) var sender: HCI.Role
  private(set) var packetEnd: Instant
  /// The MD bit of the central's latest packet.
  private(set) var centralHasMoreData: Bool
  /// Whether the current exchange has carried a PDU that was not empty and was accepted.
  var isExchangeUseful = false
  /// Whether the receiver of the current packet had a PDU to send before the packet ended. T_IFS is too short to
  /// prepare the answer to a PDU: the answers of the Link Layer and of the host are sent with the next packet or later.
  var isAnswerPrepared = false
  /// Whether the central has sent one packet in the event.
  private(set) var isFirstExchange = true

  /// Begins the event with the central's packet at the anchor point.
  init(packet: LinkLayerPacket, anchor: Instant, nextAnchor: Instant) {
    self.packet = packet
    self.nextAnchor = nextAnchor
    sender = .central
    packetEnd = anchor + packet.airtime
    centralHasMoreData = packet.hasMoreData
  }

  /// Whether the central may begin another exchange if there is time for it.
  var mayContinue: Bool {
    sender == .peripheral && isExchangeUseful && (centralHasMoreData || packet.hasMoreData)
  }

  /// Whether `count` packets of `airtime` in total fit between the current packet and the next anchor point, with T_IFS
  /// before each and after the last.
  func hasRoom(for airtime: Duration, packets count: Int) -> Bool {
    packetEnd + airtime + RadioPHY.interFrameSpace * (count + 1) <= nextAnchor
  }

  /// Starts the packet of the end that has received the current one, T_IFS later.
  mutating func answer(with next: LinkLayerPacket) {
    sender = sender == .central ? .peripheral : .central
    packet = next
    packetEnd = packetEnd + RadioPHY.interFrameSpace + next.airtime
    isAnswerPrepared = false
    if sender == .central {
      centralHasMoreData = next.hasMoreData
      isExchangeUseful = false
      isFirstExchange = false
    }
  }
}
