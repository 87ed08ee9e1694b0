internal import BLEHCI
internal import BLEWire

/// Control PDUs and ACL data from one controller to another (Vol 4, Part E, 5.4.2). Data is read in place and written
/// once. Once the buffers are warm, nothing is allocated.
extension VirtualRadio {
  /// Receives an ACL packet (without the type octet) from the host of the controller in `slot`.
  mutating func receiveData(_ packet: Span<UInt8>, slot: Int) {
    guard let head = packet.uint16(at: 0), let length = packet.uint16(at: 2), packet.count == 4 + Int(length) else {
      return controllers[slot].complain(.malformedPacket(firstOctet: 0x02))
    }
    let handle = ConnectionHandle(rawValue: head)
    let isStart = head >> 12 & 0b11 != 0b01
    let data = packet.extracting(4...)
    guard let admitted = controllers[slot].admit(data.count, isStart: isStart, on: handle, &context) else { return }
    if context.pacing == .immediate, admitted.isFree,
      controllers[admitted.peer].receiveIfRoom(data, isStart: isStart, on: admitted.link, &context)
    {
      controllers[slot].sendCompleted(on: handle, &context)
    } else {
      invalidateDeadline()
      controllers[slot].send(data, isStart: isStart, on: admitted.link, &context)
      deliver()
    }
  }

  /// Delivers all transmissions, including those that follow from them.
  mutating func deliver() {
    var next = 0
    while next < context.transmissions.count {
      let transmission = context.transmissions[next]
      next += 1
      switch transmission.payload {
      case .control(let pdu): deliver(pdu, transmission)
      case .data(let packet): deliver(packet, transmission)
      }
    }
    context.transmissions.removeAll(keepingCapacity: true)
  }

  private mutating func deliver(_ pdu: LinkLayerPDU, _ transmission: Transmission) {
    guard controllers[transmission.receiver].receive(pdu, on: transmission.link, &context) else { return }
    controllers[transmission.sender].acknowledge(pdu, on: transmission.link, &context)
  }

  /// Delivers a packet from the sender to the receiver and frees its buffer. If the receiver's host has no free buffer,
  /// the packet and the packets after it stay.
  private mutating func deliver(_ packet: TransmitQueue.Packet, _ transmission: Transmission) {
    let (sender, receiver, link) = (transmission.sender, transmission.receiver, transmission.link)
    if controllers[receiver].hasLink(link) {
      let peerHasRoom = controllers[receiver].hostHasRoom(for: packet.length)
      if controllers[sender].putBack(packet, on: link, peerHasRoom: peerHasRoom) { return }
    }
    let octets = controllers[sender].takeOctets(of: packet)
    controllers[receiver].receive(octets.span, isStart: packet.isStart, on: link, &context)
    controllers[sender].putBackOctets(octets, of: packet)
    controllers[sender].complete(packet, on: link, &context)
  }
}
