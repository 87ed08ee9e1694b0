package import BLEWire

/// Sends L2CAP frames to the controller, no faster than its buffers allow and fairly between links
/// (Vol 4, Part E, 4.1.1).
///
/// ```
///   send ──▶ [link's queue] ──fragments, round robin──▶ controller's buffers ──Number Of Completed Packets──▶ free
///     └── no queue, buffers free: straight through ────────▲                └──── removeLink ───────────────▶ free
/// ```
///
/// A frame is the L2CAP header and its payload; it goes out in ACL packets of at most the controller's length, the first
/// marked 00 (first, non-flushable), the others 01 (continuing). Where several links are up, none may hold the last buffer:
/// a peer that has gone silent cannot starve the others until its supervision timeout.
package struct ACLScheduler: Sendable {
  /// What each link may have waiting.
  package struct Limits: Equatable, Sendable {
    /// Frames that wait in one link's queue, the one in transmission included.
    package var frames = 128
    /// Octets of these frames, L2CAP headers included.
    package var octets = 1 << 16

    package init() {}
    package init(frames: Int, octets: Int) {
      self.frames = frames
      self.octets = octets
    }
  }

  /// How a frame went.
  package enum Sent: Equatable, Sendable {
    /// It is in the output.
    case atOnce
    /// It waits, or part of it does.
    case queued
  }

  /// The least that a controller may have (Vol 4, Part E, 7.8.2); where one claims less, frames go by the queue.
  package static let shortestPacketLength = 27

  package let limits: Limits
  /// Octets of data in one ACL packet; 0 until ``setBuffers(length:count:)``.
  package private(set) var packetLength = 0
  /// How many ACL packets the controller holds.
  package private(set) var bufferCount = 0
  /// How many of them are free.
  package var freeBuffers: Int { max(0, bufferCount - inFlight) }
  private var inFlight = 0
  private var links: [ACLLink] = []
  /// Whose turn it is among the links that wait.
  private var turn = 0

  package init(limits: Limits = Limits()) { self.limits = limits }

  /// Tells the buffers of the controller: HCI_LE_Read_Buffer_Size, or HCI_Read_Buffer_Size where that says 0.
  package mutating func setBuffers(length: Int, count: Int) {
    packetLength = max(0, min(length, 0xFFFF))
    bufferCount = max(0, count)
  }

  package mutating func addLink(_ handle: ConnectionHandle) {
    guard index(of: handle) == nil else { return }
    links.append(ACLLink(handle: handle))
  }

  /// Forgets a link that is gone: its queue is dropped and its buffers are free, for no further event returns them
  /// (Vol 4, Part E, 4.1.1), and its tags are not reported. What other links wait with goes out.
  package mutating func removeLink(_ handle: ConnectionHandle, into out: inout PacketBuffer) {
    guard let index = index(of: handle) else { return }
    inFlight -= links[index].inFlight.count
    links.remove(at: index)
    if turn > index { turn -= 1 }
    pump(into: &out)
  }

  /// Forgets all links, as after a reset of the controller; the buffers stay as told.
  package mutating func removeAll() {
    links.removeAll()
    inFlight = 0
    turn = 0
  }

  /// Sends one L2CAP frame: the header is written here, `payload` follows it.
  ///
  /// - Parameters:
  ///   - tag: comes back through ``completed(_:count:into:transmitted:)`` when the controller has sent the frame's last
  ///     packet; 0 for a frame that nobody asks after.
  package mutating func send(
    _ handle: ConnectionHandle, cid: UInt16, payload: Span<UInt8>, tag: UInt32 = 0, into out: inout PacketBuffer
  ) throws(ACLSchedulerError) -> Sent {
    guard let index = index(of: handle) else { throw .unknownLink(handle) }
    guard packetLength > 0, bufferCount > 0 else { throw .noBuffers }
    guard payload.count <= 0xFFFF else { throw .frameTooLong(octets: payload.count) }
    let length = payload.count + 4
    let packets = (length + packetLength - 1) / packetLength
    if links[index].frames.isEmpty, packets <= allowance(of: index), packetLength >= Self.shortestPacketLength {
      writeThrough(index, cid: cid, payload: payload, tag: tag, into: &out)
      return .atOnce
    }
    guard links[index].frames.count < limits.frames, links[index].queuedOctets + length <= limits.octets else {
      throw .queueFull(handle, frames: links[index].frames.count, octets: links[index].queuedOctets)
    }
    links[index].enqueue(cid: cid, payload: payload, tag: tag)
    pump(into: &out)
    return .queued
  }

  /// Takes back the buffers that the controller reports as sent, and fills them with what waits.
  ///
  /// - Parameters:
  ///   - count: Num_Completed_Packets. More than the link has in flight counts as that many; the rest is ignored.
  ///   - transmitted: gets the tagged frames that are through, appended.
  /// - Returns: how many packets were reported that this link does not have in flight: 0 from an honest controller.
  @discardableResult
  package mutating func completed(
    _ handle: ConnectionHandle, count: Int, into out: inout PacketBuffer, transmitted: inout [TransmittedFrames]
  ) -> Int {
    guard let index = index(of: handle) else { return max(0, count) }
    let taken = max(0, min(count, links[index].inFlight.count))
    for _ in 0..<taken {
      if let tag = links[index].inFlight.removeFirst(), tag != 0 { transmitted.add(handle, tag) }
    }
    inFlight -= taken
    pump(into: &out)
    return max(0, count - taken)
  }

  /// Takes a whole Number Of Completed Packets event, read in place.
  ///
  /// - Returns: how many packets were reported that are not in flight.
  @discardableResult
  package mutating func receive(
    numberOfCompletedPackets parameters: Span<UInt8>, into out: inout PacketBuffer,
    transmitted: inout [TransmittedFrames]
  ) throws(CodecError) -> Int {
    var excess = 0
    try HCI.NumberOfCompletedPackets.forEach(in: parameters) { handle, count in
      excess += completed(handle, count: count, into: &out, transmitted: &transmitted)
    }
    return excess
  }

  /// What waits for one link; nil for a link that is not there.
  package func backlog(_ handle: ConnectionHandle) -> (frames: Int, octets: Int, packetsInFlight: Int)? {
    index(of: handle).map { (links[$0].frames.count, links[$0].queuedOctets, links[$0].inFlight.count) }
  }

  private func index(of handle: ConnectionHandle) -> Int? { links.firstIndex { $0.handle == handle } }

  /// How many packets the link may send now.
  private func allowance(of index: Int) -> Int {
    let share = links.count > 1 && bufferCount > 1 ? bufferCount - 1 : bufferCount
    return min(freeBuffers, share - links[index].inFlight.count)
  }

  /// Sends one packet for each waiting link in turn, until nothing waits that may go.
  private mutating func pump(into out: inout PacketBuffer) {
    var passed = 0
    while freeBuffers > 0, passed < links.count {
      if turn >= links.count { turn = 0 }
      if !links[turn].frames.isEmpty, allowance(of: turn) > 0 {
        links[turn].writeFragment(packetLength, into: &out)
        inFlight += 1
        passed = 0
      } else {
        passed += 1
      }
      turn += 1
    }
  }

  /// Writes the packets of a frame that waits for nothing.
  private mutating func writeThrough(
    _ index: Int, cid: UInt16, payload: Span<UInt8>, tag: UInt32, into out: inout PacketBuffer
  ) {
    let handle = links[index].handle
    let first = min(payload.count, packetLength - 4)
    out.append {
      $0.append(aclHeader: handle, .firstNonFlushable, length: first + 4)
      $0.append(littleEndian: UInt16(truncatingIfNeeded: payload.count))
      $0.append(littleEndian: cid)
      $0.append(copying: payload.extracting(0..<first))
    }
    var sent = first
    var packets = 1
    while sent < payload.count {
      links[index].inFlight.append(0)
      let next = min(payload.count, sent + packetLength)
      out.append {
        $0.append(aclHeader: handle, .continuing, length: next - sent)
        $0.append(copying: payload.extracting(sent..<next))
      }
      sent = next
      packets += 1
    }
    links[index].inFlight.append(tag)
    inFlight += packets
  }
}

/// Frames of one link with one tag that the controller has sent.
package struct TransmittedFrames: Equatable, Sendable {
  package var handle: ConnectionHandle
  package var tag: UInt32
  package var count: Int

  package init(handle: ConnectionHandle, tag: UInt32, count: Int) {
    self.handle = handle
    self.tag = tag
    self.count = count
  }
}

extension Array where Element == TransmittedFrames {
  /// Counts one more frame; frames in a row with the same link and tag share an entry.
  fileprivate mutating func add(_ handle: ConnectionHandle, _ tag: UInt32) {
    if let last = indices.last, self[last].handle == handle, self[last].tag == tag {
      self[last].count += 1
    } else {
      append(TransmittedFrames(handle: handle, tag: tag, count: 1))
    }
  }
}

/// Why a frame was not taken; the caller's matter.
package enum ACLSchedulerError: Error, Equatable, Sendable {
  /// No such link is up.
  case unknownLink(ConnectionHandle)
  /// The controller's buffers are not told yet, or it has none.
  case noBuffers
  /// The payload is longer than an L2CAP frame can be.
  case frameTooLong(octets: Int)
  /// So much already waits for the link.
  case queueFull(ConnectionHandle, frames: Int, octets: Int)
}

extension ACLSchedulerError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unknownLink(let handle): "no link has the handle \(handle); it may just have gone"
    case .noBuffers: "the controller has told of no buffers for ACL data; read its buffer size first"
    case .frameTooLong(let octets): "a payload of \(octets) octets does not fit an L2CAP frame, which holds 65535"
    case .queueFull(let handle, let frames, let octets):
      "\(frames) frames of \(octets) octets already wait for link \(handle); send again when some are transmitted"
    }
  }
}
