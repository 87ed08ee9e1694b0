public import BLEWire

/// Fragments L2CAP frames into ACL packets, and sends them as the controller has buffers. The links share these (Vol 4,
/// Part E, 4.1.1).
///
/// ```
///   send ──▶ [link's queue] ──fragments, fewest first──▶ controller's buffers ──Number Of Completed Packets──▶ free
///     └── queue empty, buffers free: at once ──────────────▲                 └──── removeLink ──────────────▶ free
/// ```
///
/// A frame is the L2CAP header and its payload. It is sent in ACL packets of at most the controller's length: the first
/// with the packet boundary flag 0b00 (first, non-flushable), the others with 0b01 (continuing). Where the data length
/// of the link is known, the packets of a longer frame are whole packets of the link layer.
///
/// The controller keeps the packets of a peer that does not acknowledge them. These rules prevent such a link from
/// taking the buffers of the others (Docs/Decisions/links-and-channels.md#the-controllers-buffers):
/// - A buffer stays free for each link that has no packet in the controller, up to half of the buffers.
/// - Of the links that wait, the one with the fewest packets in the controller sends next; equal ones send in turn.
/// - `takeStalled()` returns the links that keep their buffers while another link has none at all.
public struct ACLScheduler: Sendable {
  /// The limits of the queue of each link.
  public struct Limits: Equatable, Sendable {
    /// The number of frames in one link's queue, a partly sent one included.
    public var frames = 128
    /// The octets of these frames, L2CAP headers included.
    public var octets = 1 << 16

    /// The default limits.
    public init() {}
    /// The given limits.
    public init(frames: Int, octets: Int) {
      self.frames = frames
      self.octets = octets
    }
  }

  /// The result of sending a frame.
  public enum Sent: Equatable, Sendable {
    /// The whole frame is in the output.
    case atOnce
    /// The frame, or a part of it, is queued.
    case queued
  }

  /// The shortest packet length that a controller may have, in octets (Vol 4, Part E, 7.8.2).
  public static let shortestPacketLength = 27

  /// The limits of the queue of each link.
  public let limits: Limits
  /// The octets of data in one ACL packet; 0 until ``setBuffers(length:count:)``.
  public private(set) var packetLength = 0
  /// The number of ACL packets that the controller can buffer.
  public private(set) var bufferCount = 0
  /// The number of free buffers.
  public var freeBuffers: Int { max(0, bufferCount - inFlight) }
  /// The number of links that memory is reserved for when the first one comes up; more are possible.
  private let expectedLinks: Int
  /// Whether each link takes the memory for its queue when it comes up.
  private let reservesMemory: Bool

  private var inFlight = 0
  private var links: [ACLLink] = []
  /// The index in ``links`` by the handle.
  private var indices = ConnectionHandleTable()
  /// The links with queued frames.
  @usableFromInline var waitingLinks = 0
  /// The links with packets in the controller.
  @usableFromInline var activeLinks = 0
  /// The index of the link that sends next.
  private var turn = 0

  /// A scheduler without links and buffers. When the first link comes up, memory is reserved for as many as are
  /// expected; more are possible.
  public init(limits: Limits = Limits(), expectedLinks: Int = 64) {
    self.init(limits: limits, expectedLinks: expectedLinks, reservesMemory: false)
  }

  /// A scheduler without links and buffers.
  ///
  /// - Parameter reservesMemory: whether each link takes the memory for its queue when it comes up, and the scheduler
  ///   that for its links when it is made.
  package init(limits: Limits, expectedLinks: Int, reservesMemory: Bool) {
    self.limits = limits
    self.expectedLinks = max(0, expectedLinks)
    self.reservesMemory = reservesMemory
    if reservesMemory { links.reserveCapacity(self.expectedLinks) }
  }

  /// Sets the buffers of the controller, from HCI_LE_Read_Buffer_Size, or from HCI_Read_Buffer_Size if that returns
  /// 0.
  public mutating func setBuffers(length: Int, count: Int) {
    packetLength = max(0, min(length, 0xFFFF))
    bufferCount = max(0, count)
  }

  /// Adds a new link.
  public mutating func addLink(_ handle: ConnectionHandle) {
    guard index(of: handle) == nil else { return }
    // An array that grows would leave its copies behind.
    if links.isEmpty { links.reserveCapacity(expectedLinks) }
    indices[handle] = links.count
    links.append(ACLLink(handle: handle))
    if reservesMemory { links[links.count - 1].reserveCapacity(limits, packets: bufferCount) }
  }

  /// Sets the data length of a link, whose packets the fragments of long frames fill.
  ///
  /// - Parameter octets: Max_TX_Octets of LE Data Length Change.
  package mutating func setDataLength(_ octets: UInt16, of handle: ConnectionHandle) {
    if let index = index(of: handle) { links[index].dataLength = octets }
  }

  /// Removes a link that has ended, with its queue. Its buffers are free, because no further event reports them
  /// (Vol 4, Part E, 4.1.1); its tags are not reported. Queued packets of other links are sent.
  public mutating func removeLink(_ handle: ConnectionHandle, into out: inout PacketBuffer) {
    guard let index = index(of: handle) else { return }
    inFlight -= links[index].inFlight.count
    if !links[index].inFlight.isEmpty { activeLinks -= 1 }
    if !links[index].frames.isEmpty { waitingLinks -= 1 }
    links.remove(at: index)
    assignIndices()
    if turn > index { turn -= 1 }
    pump(into: &out)
  }

  /// Removes all links, after a reset of the controller. The buffers stay as they were set.
  public mutating func removeAll() {
    links.removeAll()
    (inFlight, waitingLinks, activeLinks, turn) = (0, 0, 0, 0)
    assignIndices()
  }

  /// Sends one L2CAP frame with the given payload.
  ///
  /// - Parameters:
  ///   - handle: the link.
  ///   - cid: the L2CAP channel.
  ///   - payload: the payload of the frame, at most 65,535 octets.
  ///   - tag: a number that ``completed(_:count:into:transmitted:)`` reports when the controller has sent the last
  ///     packet of the frame; 0 for no report.
  ///   - out: the buffer to which ACL packets are appended.
  /// - Throws: ``ACLSchedulerError``; nothing is sent then.
  public mutating func send(
    _ handle: ConnectionHandle, cid: UInt16, payload: Span<UInt8>, tag: UInt32 = 0, into out: inout PacketBuffer
  ) throws(ACLSchedulerError) -> Sent {
    guard let index = index(of: handle) else { throw .unknownLink(handle) }
    guard packetLength > 0, bufferCount > 0 else { throw .noBuffers }
    guard payload.count <= 0xFFFF else { throw .frameTooLong(octets: payload.count) }
    let length = payload.count + 4
    let limit = links[index].fragmentLength(of: length, within: packetLength)
    let packets = length <= limit ? 1 : (length + limit - 1) / limit
    if links[index].frames.isEmpty, packets <= allowance(of: index), packetLength >= Self.shortestPacketLength {
      writeThrough(index, limit, cid: cid, payload: payload, tag: tag, into: &out)
      return .atOnce
    }
    try requireRoom(index, octets: length)
    if links[index].frames.isEmpty { waitingLinks += 1 }
    links[index].enqueue(cid: cid, payload: payload, tag: tag)
    pump(into: &out)
    return .queued
  }

  @inline(__always)
  private func requireRoom(_ index: Int, octets: Int) throws(ACLSchedulerError) {
    guard links[index].frames.count < limits.frames, links[index].queuedOctets + octets <= limits.octets else {
      throw .queueFull(links[index].handle, frames: links[index].frames.count, octets: links[index].queuedOctets)
    }
  }

  /// Sends one L2CAP frame, as ``send(_:cid:payload:tag:into:)``, whose payload is `header` and then `body`, which are
  /// copied once.
  package mutating func send(
    _ handle: ConnectionHandle, cid: UInt16, header: InlineArray<3, UInt8>, body: Span<UInt8>, tag: UInt32,
    into out: inout PacketBuffer
  ) throws(ACLSchedulerError) {
    guard let index = index(of: handle) else { throw .unknownLink(handle) }
    guard packetLength > 0, bufferCount > 0 else { throw .noBuffers }
    let length = body.count + 7
    guard length <= 0xFFFF else { throw .frameTooLong(octets: length - 4) }
    if links[index].frames.isEmpty, length <= packetLength, allowance(of: index) > 0,
      packetLength >= Self.shortestPacketLength
    {
      out.append(aclHeader: handle, frame: cid, header, body)
      if links[index].inFlight.isEmpty { activeLinks += 1 }
      links[index].inFlight.append(tag)
      inFlight += 1
      return
    }
    try requireRoom(index, octets: length)
    if links[index].frames.isEmpty { waitingLinks += 1 }
    links[index].enqueue(cid: cid, header: header, body: body, tag: tag)
    pump(into: &out)
  }

  /// Frees the buffers of packets that the controller has sent, and sends queued packets.
  ///
  /// - Parameters:
  ///   - handle: the link.
  ///   - count: Num_Completed_Packets. A number above the packets of the link in the controller is limited to it.
  ///   - out: the buffer to which ACL packets are appended.
  ///   - transmitted: the list to which the tagged frames that are complete are appended.
  /// - Returns: the number of reported packets that are not in the controller: 0 from a correct controller.
  @discardableResult
  @inline(__always)
  public mutating func completed(
    _ handle: ConnectionHandle, count: Int, into out: inout PacketBuffer, transmitted: inout [TransmittedFrames]
  ) -> Int {
    guard let index = index(of: handle) else { return max(0, count) }
    let taken = links[index].complete(count, into: &transmitted)
    inFlight -= taken
    if taken > 0, links[index].inFlight.isEmpty { activeLinks -= 1 }
    if waitingLinks > 0 { pump(into: &out) }
    return max(0, count - taken)
  }

  /// Receives the parameters of a Number Of Completed Packets event, without decoding them into a packet.
  ///
  /// - Returns: the number of reported packets that are not in the controller.
  /// - Throws: ``/BLEWire/CodecError`` for malformed parameters.
  @discardableResult
  public mutating func receive(
    numberOfCompletedPackets parameters: Span<UInt8>, into out: inout PacketBuffer,
    transmitted: inout [TransmittedFrames]
  ) throws(CodecError) -> Int {
    var excess = 0
    try HCI.NumberOfCompletedPackets.forEach(in: parameters) { handle, count in
      excess += completed(handle, count: count, into: &out, transmitted: &transmitted)
    }
    return excess
  }

  /// The queue of one link and its packets in the controller; nil for an unknown link.
  public func backlog(_ handle: ConnectionHandle) -> (frames: Int, octets: Int, packetsInFlight: Int)? {
    index(of: handle).map { (links[$0].frames.count, links[$0].queuedOctets, links[$0].inFlight.count) }
  }

  /// Whether a link has room for the next frame of a stream, whose frames have this tag: none of them waits, not even
  /// in part, and the queue is less than half full. Other frames then always find room beside the longest one.
  public func hasRoomForStream(_ handle: ConnectionHandle, tag: UInt32) -> Bool {
    guard let index = index(of: handle) else { return false }
    let link = links[index]
    guard link.frames.count < max(1, limits.frames / 2), link.queuedOctets < max(1, limits.octets / 2) else {
      return false
    }
    return !link.frames.elements.contains { $0.tag == tag }
  }

  private func index(of handle: ConnectionHandle) -> Int? { indices[handle] }

  private mutating func assignIndices() {
    indices = ConnectionHandleTable()
    for (index, link) in links.enumerated() { indices[link.handle] = index }
  }

  /// The number of packets that the link may send now. Buffers are kept for the links without a packet in the
  /// controller, one for each: half of all at most, so that many idle links do not slow the one that sends.
  @inline(__always)
  private func allowance(of index: Int) -> Int {
    let free = freeBuffers
    let isActive = !links[index].inFlight.isEmpty
    let otherIdleLinks = links.count - activeLinks - (isActive ? 0 : 1)
    let allowed = free - min(otherIdleLinks, bufferCount / 2)
    return isActive ? allowed : max(allowed, min(1, free))
  }

  /// Sends queued packets, one at a time, until none may be sent.
  private mutating func pump(into out: inout PacketBuffer) {
    while waitingLinks > 0, freeBuffers > 0, let index = nextLink() {
      if links[index].inFlight.isEmpty { activeLinks += 1 }
      links[index].writeFragment(packetLength, into: &out)
      if links[index].frames.isEmpty { waitingLinks -= 1 }
      inFlight += 1
      turn = index + 1
    }
  }

  /// The link that sends next: the one with the fewest packets in the controller, in turn if several have equally few.
  private func nextLink() -> Int? {
    var (next, fewest) = (Int?.none, Int.max)
    for step in links.indices {
      let index = turn + step < links.count ? turn + step : turn + step - links.count
      let count = links[index].inFlight.count
      guard count < fewest, !links[index].frames.isEmpty, allowance(of: index) > 0 else { continue }
      (next, fewest) = (index, count)
      if count == 0 { break }
    }
    return next
  }

  /// Appends the packets of a frame that is sent at once, with at most `limit` octets of data each.
  @inline(__always)
  private mutating func writeThrough(
    _ index: Int, _ limit: Int, cid: UInt16, payload: Span<UInt8>, tag: UInt32, into out: inout PacketBuffer
  ) {
    let handle = links[index].handle
    let first = min(payload.count, limit - 4)
    if links[index].inFlight.isEmpty { activeLinks += 1 }
    out.append(
      aclHeader: handle, .firstNonFlushable, frame: payload.count, cid, payload.extracting(0..<first))
    var sent = first
    var packets = 1
    while sent < payload.count {
      links[index].inFlight.append(0)
      let next = min(payload.count, sent + limit)
      out.append(aclHeader: handle, .continuing, payload.extracting(sent..<next))
      sent = next
      packets += 1
    }
    links[index].inFlight.append(tag)
    inFlight += packets
  }
}

/// Links that keep their buffers.
extension ACLScheduler {
  /// Whether no buffer is free, and a link may have frames and no packet in the controller. It is read after each input,
  /// and inlinable so that the scheduler is not copied (Docs/Decisions/performance.md#in-place).
  @inlinable package var mayStarve: Bool { waitingLinks > 0 && lacksBuffers }
  @usableFromInline var lacksBuffers: Bool { freeBuffers == 0 && activeLinks < links.count }

  /// Whether a link has packets in the controller. It is inlinable as ``mayStarve``.
  @inlinable package var mayStall: Bool { activeLinks > 0 }

  /// Begins a period, at whose end ``takeWithoutProgress()`` returns the links without progress.
  package mutating func watchProgress() {
    for index in links.indices { links[index].lacksProgress = !links[index].inFlight.isEmpty }
  }

  /// The links whose packets the controller has had since ``watchProgress()`` without completing one of them. The period
  /// is over.
  package mutating func takeWithoutProgress() -> [ConnectionHandle] {
    var found: [ConnectionHandle] = []
    for index in links.indices where links[index].lacksProgress {
      links[index].lacksProgress = false
      found.append(links[index].handle)
    }
    return found
  }

  /// Begins a period, at whose end ``takeStalled()`` returns the links without progress.
  package mutating func watch() {
    for index in links.indices {
      links[index].isWatched = !links[index].frames.isEmpty || !links[index].inFlight.isEmpty
    }
  }

  /// The links whose packets the controller has had since ``watch()`` without completing one of them, if all this time
  /// another link has waited without a packet in the controller. The period is over.
  package mutating func takeStalled() -> [ConnectionHandle] {
    var stalled: [ConnectionHandle] = []
    var isOneStarved = false
    for index in links.indices {
      guard links[index].isWatched else { continue }
      links[index].isWatched = false
      if links[index].inFlight.isEmpty { isOneStarved = true } else { stalled.append(links[index].handle) }
    }
    return isOneStarved ? stalled : []
  }
}

/// Frames of one link with one tag that the controller has sent.
public struct TransmittedFrames: Equatable, Sendable {
  /// The link.
  public var handle: ConnectionHandle
  /// The tag of the frames.
  public var tag: UInt32
  /// The number of frames.
  public var count: Int

  /// A number of frames.
  public init(handle: ConnectionHandle, tag: UInt32, count: Int) {
    self.handle = handle
    self.tag = tag
    self.count = count
  }
}

extension Array where Element == TransmittedFrames {
  /// Counts one more frame. Consecutive frames with the same link and tag share an entry.
  mutating func add(_ handle: ConnectionHandle, _ tag: UInt32) {
    if let last = indices.last, self[last].handle == handle, self[last].tag == tag {
      self[last].count += 1
    } else {
      append(TransmittedFrames(handle: handle, tag: tag, count: 1))
    }
  }
}

/// The reason why a frame was not sent.
public enum ACLSchedulerError: Error, Equatable, Sendable {
  /// The link does not exist.
  case unknownLink(ConnectionHandle)
  /// The buffers of the controller have not been set, or there are none.
  case noBuffers
  /// The payload exceeds 65,535 octets.
  case frameTooLong(octets: Int)
  /// The queue of the link is full.
  case queueFull(ConnectionHandle, frames: Int, octets: Int)
}

extension ACLSchedulerError: CustomStringConvertible {
  /// What failed and what to do.
  public var description: String {
    switch self {
    case .unknownLink(let handle): "no link has the handle \(handle). It may have ended"
    case .noBuffers: "the number of ACL buffers is not known. Send LE Read Buffer Size first"
    case .frameTooLong(let octets):
      "a payload of \(octets) octets exceeds the 65535 of an L2CAP frame. Send it in parts"
    case .queueFull(let handle, let frames, let octets):
      "\(frames) frames with \(octets) octets are already queued for the link \(handle). "
        + "Send again when some of them have been sent"
    }
  }
}
