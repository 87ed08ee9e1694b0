internal import BLEHCI
internal import BLEWire

/// One end of a link in connection events with airtime: its next PDU, and the effects of an acknowledgement.
extension VirtualController {
  /// The PDU that this end sends next: control PDUs first, then data; nil if it has none.
  ///
  /// The PDU before it is acknowledged, because both ends send in turns and no packet is lost.
  func nextPacket(on index: Int) -> LinkLayerPacket? {
    let link = links[index]
    guard !link.isCut, link.terminationReason == nil else { return nil }
    let mayData = !link.holdsData && !link.waiting.isEmpty
    if let pdu = link.controls.first {
      let airtime = transmitPHY(of: link).airtime(payload: pdu.length, isEncrypted: link.sendsEncrypted)
      let hasMoreData = link.controls.count > 1 || mayData
      return LinkLayerPacket(content: .control(pdu), airtime: airtime, hasMoreData: hasMoreData)
    }
    guard mayData, let first = link.waiting.first else { return nil }
    let rest = max(0, buffers.length(of: first.buffer) - link.sentOctets)
    let count = min(rest, greatestDataPayload(of: link))
    let isLast = count == rest
    return LinkLayerPacket(
      content: .data(offset: link.sentOctets, count: count, isLast: isLast),
      airtime: transmitPHY(of: link).airtime(payload: count, isEncrypted: link.sendsEncrypted),
      hasMoreData: !isLast || link.waiting.count > 1)
  }

  /// The empty PDU that this end sends if it has no PDU, or if its PDU does not fit.
  func emptyPacket(on index: Int, hasMoreData: Bool) -> LinkLayerPacket {
    let airtime = transmitPHY(of: links[index]).airtime(payload: 0)
    return LinkLayerPacket(content: .empty, airtime: airtime, hasMoreData: hasMoreData)
  }

  /// Whether this end needs a connection event: it has a PDU to send, waits for an acknowledgement, or has to
  /// acknowledge LL_TERMINATE_IND.
  func needsEvent(on index: Int) -> Bool {
    let link = links[index]
    return link.unacknowledged != nil || link.terminationReason != nil || nextPacket(on: index) != nil
  }

  /// Records that the peer has received a PDU of this end. The peer acknowledges it with its next packet.
  mutating func sent(_ content: LinkLayerPacket.Content, on index: Int) {
    links[index].unacknowledged = content
    switch content {
    case .empty: links[index].unacknowledged = nil
    case .control: links[index].controls.removeFirst()
    case .data(let offset, let count, _): links[index].sentOctets = offset + count
    }
  }

  /// Completes the PDU that the peer has acknowledged. LL_TERMINATE_IND ends the link. The last PDU of an ACL packet
  /// frees its buffer and sends Number Of Completed Packets (Vol 4, Part E, 7.7.19).
  mutating func acknowledged(on index: Int, _ context: inout RadioContext) {
    guard let content = links[index].unacknowledged else { return }
    links[index].unacknowledged = nil
    switch content {
    case .control(.terminate(let reason)): acknowledge(.terminate(reason), on: index, &context)
    case .data(_, _, isLast: true):
      guard !links[index].waiting.isEmpty else { return }
      let completed = links[index].waiting.removeFirst()
      links[index].sentOctets = 0
      buffers.release(completed.buffer)
      host.sendCompleted(on: links[index].handle, &context)
    default: break
    }
  }

  private func transmitPHY(of link: VirtualLink) -> RadioPHY { RadioPHY(link.transmitPHY, prefersS2: link.prefersS2) }

  /// The greatest payload of a data PDU in octets: limited by the data length (Vol 6, Part B, 4.5.10), and by half of a
  /// connection interval, so that both ends can send in each event.
  private func greatestDataPayload(of link: VirtualLink) -> Int {
    let phy = transmitPHY(of: link)
    let least = DataLength.initial.octets
    var limit = Duration.microseconds(Int64(link.transmitLength.time))
    // connEffectiveMaxTxTimeCoded is at least the airtime of 27 octets at S=8.
    if phy.isCoded { limit = max(limit, RadioPHY.codedS8.airtime(payload: Int(least), isEncrypted: true)) }
    limit = min(limit, (link.timing.intervalDuration - RadioPHY.interFrameSpace * 2) / 2)
    let fitting = phy.greatestPayload(within: limit, isEncrypted: link.sendsEncrypted)
    return max(Int(least), min(Int(link.transmitLength.octets), fitting))
  }
}
