import BLEWire

/// The queued frames of one link, and its packets in the controller.
struct ACLLink: Sendable {
  let handle: ConnectionHandle
  /// The queued frames; the first may be partly sent.
  private(set) var frames = FIFO<Frame>()
  /// The octets of ``frames`` that have not been sent.
  var queuedOctets: Int { octets.count }
  /// For each packet in the controller, oldest first: the tag of the frame that ends with it, otherwise 0.
  var inFlight = FIFO<UInt32>()
  /// The link had frames or packets when a period began, and the controller has completed none since.
  var isWatched = false
  /// As ``isWatched``, for packets and the period of ``ACLScheduler/watchProgress()``.
  var lacksProgress = false
  /// The longest payload of the link's data packets in octets; 0 if it is not known.
  var dataLength: UInt16 = 0
  /// Whether the memory of a full queue was taken.
  private var hasReserve = false

  /// The queued frames one after the other.
  private var octets = OctetQueue()
  /// The octets of the first frame that have been sent.
  private var sentOfFirst = 0

  struct Frame: Sendable {
    var length: Int
    var tag: UInt32
  }

  init(handle: ConnectionHandle) { self.handle = handle }

  /// Takes the memory for a full queue, and for packets in all buffers of the controller.
  mutating func reserveCapacity(_ limits: ACLScheduler.Limits, packets: Int) {
    hasReserve = true
    frames.reserveCapacity(limits.frames)
    octets.reserveCapacity(limits.octets)
    inFlight.reserveCapacity(packets)
  }

  mutating func enqueue(cid: UInt16, payload: Span<UInt8>, tag: UInt32) {
    let header: InlineArray<4, UInt8> = [payload.count.octet(0), payload.count.octet(1), cid.octet(0), cid.octet(1)]
    if hasReserve { octets.makeRoom(for: header.count + payload.count) }
    octets.append(header.span, payload)
    frames.append(Frame(length: payload.count + 4, tag: tag))
  }

  /// Queues a frame whose payload begins with `header`.
  mutating func enqueue(cid: UInt16, header: InlineArray<3, UInt8>, body: Span<UInt8>, tag: UInt32) {
    let count = body.count + 3
    let beginning: InlineArray<7, UInt8> = [
      count.octet(0), count.octet(1), cid.octet(0), cid.octet(1), header[0], header[1], header[2],
    ]
    if hasReserve { octets.makeRoom(for: beginning.count + body.count) }
    octets.append(beginning.span, body)
    frames.append(Frame(length: count + 4, tag: tag))
  }

  /// Removes packets that the controller has sent.
  ///
  /// - Parameter transmitted: gets the tagged frames that are complete.
  /// - Returns: how many packets there were, at most `count`.
  @inline(__always)
  mutating func complete(_ count: Int, into transmitted: inout [TransmittedFrames]) -> Int {
    let taken = max(0, min(count, inFlight.count))
    for place in 0..<taken {
      let tag = inFlight[place]
      if tag != 0 { transmitted.add(handle, tag) }
    }
    inFlight.removeFirst(taken)
    if taken > 0 { (isWatched, lacksProgress) = (false, false) }
    return taken
  }

  /// The length of the fragments of a frame that takes several: whole packets of the link layer, which begin anew with
  /// each fragment.
  @inline(__always)
  func fragmentLength(of frame: Int, within limit: Int) -> Int {
    guard frame > limit, dataLength > 0, Int(dataLength) <= limit else { return limit }
    return limit / Int(dataLength) * Int(dataLength)
  }

  /// Appends the next packet of the first frame, with at most `limit` octets of data.
  @inline(__always)
  mutating func writeFragment(_ limit: Int, into out: inout PacketBuffer) {
    guard let frame = frames.first else { return }
    let length = min(fragmentLength(of: frame.length, within: limit), frame.length - sentOfFirst)
    let flag: PacketBoundaryFlag = sentOfFirst == 0 ? .firstNonFlushable : .continuing
    out.append(aclHeader: handle, flag, octets.memory.span.extracting(octets.start..<octets.start + length))
    octets.removeFirst(length)
    sentOfFirst += length
    if sentOfFirst == frame.length {
      frames.removeFirst(1)
      sentOfFirst = 0
      inFlight.append(frame.tag)
    } else {
      inFlight.append(0)
    }
  }
}

extension Array where Element == UInt8 {
  /// Appends the packet indicator and the header of an ACL packet with `length` octets of data.
  package mutating func append(aclHeader handle: ConnectionHandle, _ flag: PacketBoundaryFlag, length: Int) {
    append(copying: DataHeader.octets(handle, flag, length: length).span)
  }
}

private enum DataHeader {
  /// The packet indicator and the header of an ACL packet with `length` octets of data (Vol 4, Part E, 5.4.2).
  @inline(__always)
  static func octets(_ handle: ConnectionHandle, _ flag: PacketBoundaryFlag, length: Int) -> InlineArray<5, UInt8> {
    let field = handle.rawValue | flag.rawValue << 12
    return [HCIPacketType.aclData.rawValue, field.octet(0), field.octet(1), length.octet(0), length.octet(1)]
  }
}

extension PacketBuffer {
  /// Appends an ACL packet with its data.
  @inline(__always)
  mutating func append(aclHeader handle: ConnectionHandle, _ flag: PacketBoundaryFlag, _ data: Span<UInt8>) {
    append(DataHeader.octets(handle, flag, length: data.count).span, data)
  }

  /// Appends an ACL packet that begins with the header of an L2CAP frame (Vol 3, Part A, 3.1), followed by `data`.
  ///
  /// - Parameter payload: the length of the payload of the frame, in octets.
  @inline(__always)
  mutating func append(
    aclHeader handle: ConnectionHandle, _ flag: PacketBoundaryFlag, frame payload: Int, _ cid: UInt16,
    _ data: Span<UInt8>
  ) {
    let (field, length) = (handle.rawValue | flag.rawValue << 12, data.count + 4)
    let header: InlineArray<9, UInt8> = [
      HCIPacketType.aclData.rawValue, field.octet(0), field.octet(1), length.octet(0), length.octet(1),
      payload.octet(0), payload.octet(1), cid.octet(0), cid.octet(1),
    ]
    append(header.span, data)
  }

  /// Appends an ACL packet with a whole L2CAP frame, whose payload is `beginning` and then `data`.
  @inline(__always)
  mutating func append(
    aclHeader handle: ConnectionHandle, frame cid: UInt16, _ beginning: InlineArray<3, UInt8>, _ data: Span<UInt8>
  ) {
    let (field, payload) = (handle.rawValue | PacketBoundaryFlag.firstNonFlushable.rawValue << 12, data.count + 3)
    let length = payload + 4
    let header: InlineArray<12, UInt8> = [
      HCIPacketType.aclData.rawValue, field.octet(0), field.octet(1), length.octet(0), length.octet(1),
      payload.octet(0), payload.octet(1), cid.octet(0), cid.octet(1), beginning[0], beginning[1], beginning[2],
    ]
    append(header.span, data)
  }
}

extension FixedWidthInteger {
  /// An octet of the number; 0 is the least significant one.
  fileprivate func octet(_ number: Int) -> UInt8 { UInt8(truncatingIfNeeded: self &>> Self(8 * number)) }
}

/// Indices by connection handle, found in constant time. A handle is at most 0x0EFF (Vol 4, Part E, 5.4.2), so that the
/// table takes at most 8 kB.
package struct ConnectionHandleTable: Sendable {
  @usableFromInline var indices: [UInt16] = []

  @inlinable package init() {}

  /// The index of a handle; nil for none. An index is at most 65,534.
  @inlinable package subscript(handle: ConnectionHandle) -> Int? {
    get {
      let number = Int(handle.rawValue)
      guard number < indices.count, indices[number] != .max else { return nil }
      return Int(indices[number])
    }
    set {
      let number = Int(handle.rawValue)
      if number >= indices.count {
        guard newValue != nil else { return }
        indices += repeatElement(.max, count: number + 1 - indices.count)
      }
      indices[number] = newValue.map { UInt16(truncatingIfNeeded: $0) } ?? .max
    }
  }
}
