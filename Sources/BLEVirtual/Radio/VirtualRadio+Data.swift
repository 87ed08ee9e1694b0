internal import BLEHCI
internal import BLEWire

/// ACL data from one host to another (Vol 4, Part E, 5.4.2). It is read in place and written once; with warm buffers
/// nothing is allocated.
extension VirtualRadio {
  /// Receives an ACL packet (without the type octet) from the host of the controller in `slot`.
  mutating func receiveData(_ packet: Span<UInt8>, slot: Int) {
    guard let head = packet.uint16(at: 0), let length = packet.uint16(at: 2), packet.count == 4 + Int(length) else {
      return controllers[slot].complaints.append(.malformedPacket(firstOctet: 0x02))
    }
    let handle = ConnectionHandle(rawValue: head)
    // The link has just ended, and the host has not received the event yet.
    guard let index = controllers[slot].linkIndex(handle) else { return }
    let isStart = head >> 12 & 0b11 != 0b01
    let data = packet.extracting(4...)
    guard controllers[slot].admit(data.count, isStart: isStart, on: index, &context) else { return }

    let isFree = controllers[slot].links[index].isFreeForData
    let receiver = controllers[slot].links[index].peer
    if context.pacing == .immediate, isFree, let peer = end(of: controllers[slot].links[index].id, at: receiver),
      controllers[receiver].hostHasRoom(for: data.count)
    {
      controllers[receiver].passToHost(data, isStart: isStart, on: peer, &context)
      controllers[slot].host.sendCompleted(on: handle, &context)
    } else {
      invalidateDeadline()
      controllers[slot].keep(data, isStart: isStart, on: index, &context)
      deliver()
    }
  }

  /// Delivers a buffer of the sender to the receiver and frees it. If the receiver's host has no free buffer, it stays,
  /// and so do the packets behind it.
  mutating func deliver(buffer: Int, isStart: Bool, _ transmission: Transmission) {
    let (sender, receiver) = (transmission.sender, transmission.receiver)
    let own = end(of: transmission.link, at: sender)
    let peer = end(of: transmission.link, at: receiver)
    if let own, peer != nil {
      let isBlocked = controllers[sender].links[own].isBlocked
      if isBlocked || !controllers[receiver].hostHasRoom(for: controllers[sender].buffers.length(of: buffer)) {
        controllers[sender].links[own].putBack(.init(buffer: buffer, isStart: isStart))
        return
      }
    }
    let octets = controllers[sender].buffers.take(buffer)
    if let peer { controllers[receiver].passToHost(octets.span, isStart: isStart, on: peer, &context) }
    controllers[sender].buffers.putBack(octets, into: buffer)
    controllers[sender].buffers.release(buffer)
    if let own { controllers[sender].host.sendCompleted(on: controllers[sender].links[own].handle, &context) }
  }
}

extension VirtualController {
  /// Checks whether the host may send the packet now, and records a complaint otherwise.
  mutating func admit(_ count: Int, isStart: Bool, on index: Int, _ context: inout RadioContext) -> Bool {
    let handle = links[index].handle
    guard count <= buffers.packetLength else {
      complaints.append(.dataTooLong(handle, count: count))
      return false
    }
    guard buffers.hasFree else {
      complaints.append(.dataBeyondCredits(handle))
      host.send(HCI.DataBufferOverflow { $0.linkType = 0x01 }, &context)
      return false
    }
    guard isStart || links[index].hasStartedFrame else {
      complaints.append(.continuationWithoutStart(handle))
      return false
    }
    links[index].hasStartedFrame = true
    return true
  }

  /// Stores a packet in a buffer until it is sent.
  mutating func keep(_ data: Span<UInt8>, isStart: Bool, on index: Int, _ context: inout RadioContext) {
    guard let buffer = buffers.store(data) else { return }
    links[index].waiting.append(.init(buffer: buffer, isStart: isStart))
    release(index, &context)
  }

  /// Passes received data to the host, in fragments of the size of its buffers.
  mutating func passToHost(_ data: Span<UInt8>, isStart: Bool, on index: Int, _ context: inout RadioContext) {
    let handle = links[index].handle
    let size = flowControl.packetLength(limit: buffers.packetLength)
    let fragments = host.send(data, isStart: isStart, on: handle, size: size, &context)
    flowControl.sent(fragments, on: handle)
  }

  /// Whether the host has free buffers for `count` octets.
  func hostHasRoom(for count: Int) -> Bool { flowControl.hasRoom(for: count, limit: buffers.packetLength) }
}
