internal import BLEHCI
internal import BLEWire

/// The control PDUs and the ACL packets that one end of a link must send, in order.
struct TransmitQueue: Sendable {
  /// An ACL packet in a buffer of the controller.
  struct Packet: Sendable {
    let buffer: Int
    let isStart: Bool
    /// In octets, without the header.
    let length: Int
  }

  /// The number of control PDUs that can wait for a connection event. More are dropped: a host that starts more
  /// procedures gets no answer to them.
  static let controlLimit = 64

  /// Control PDUs that wait for the next connection event.
  private(set) var controls: [LinkLayerPDU] = []
  /// ACL packets that wait for the next connection event or for the end of a procedure.
  private(set) var packets: [Packet] = []
  /// Whether data waits because the peer's host has no free buffer.
  private(set) var isBlocked = false
  /// The number of packets at the front of ``packets`` for which the peer's host had no buffer.
  private var returned = 0
  /// Whether the host has sent the start of a frame.
  private var hasStartedFrame = false
  /// With airtime: the PDU that the peer has received and not acknowledged yet.
  private(set) var unacknowledged: LinkLayerPacket.Content?
  /// With airtime: the number of octets of the first packet that the peer has received.
  private(set) var sentOctets = 0

  // MARK: Control PDUs

  /// Stores a control PDU until the next connection event. LL_TERMINATE_IND is never dropped, and is stored only once.
  mutating func append(_ pdu: LinkLayerPDU) {
    if case .terminate = pdu {
      if !controls.contains(where: { if case .terminate = $0 { true } else { false } }) { controls.append(pdu) }
    } else if controls.count < Self.controlLimit {
      controls.append(pdu)
    }
  }

  mutating func removeControls() { controls.removeAll(keepingCapacity: true) }

  // MARK: ACL packets

  /// Whether the host may send a fragment: a continuation follows a start.
  mutating func admits(isStart: Bool) -> Bool {
    guard isStart || hasStartedFrame else { return false }
    hasStartedFrame = true
    return true
  }

  mutating func append(_ packet: Packet) { packets.append(packet) }

  mutating func removePackets(_ count: Int) {
    if count == packets.count { packets.removeAll(keepingCapacity: true) } else { packets.removeFirst(count) }
  }

  /// Stops data until ``unblock()``, because the peer's host has no free buffer.
  mutating func block() { isBlocked = true }

  mutating func unblock() {
    isBlocked = false
    returned = 0
  }

  /// Puts a packet for which the peer's host had no buffer back at the front, behind those that were put back before.
  mutating func putBack(_ packet: Packet) {
    block()
    packets.insert(packet, at: min(returned, packets.count))
    returned += 1
  }

  // MARK: Acknowledgements, with airtime

  /// Records that the peer has received a PDU. The peer acknowledges it with its next packet.
  mutating func sent(_ content: LinkLayerPacket.Content) {
    unacknowledged = content
    switch content {
    case .empty: unacknowledged = nil
    case .control: controls.removeFirst()
    case .data(let offset, let count, _): sentOctets = offset + count
    }
  }

  /// Completes the PDU that the peer has acknowledged.
  ///
  /// - Returns: the PDU; nil if there is none.
  mutating func acknowledged() -> LinkLayerPacket.Content? {
    defer { unacknowledged = nil }
    return unacknowledged
  }

  /// Removes the first packet, whose last PDU is acknowledged.
  mutating func completeFirst() -> Packet? {
    guard !packets.isEmpty else { return nil }
    sentOctets = 0
    return packets.removeFirst()
  }
}
