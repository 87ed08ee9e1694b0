import BLEWire

/// The queued frames of one link, and its packets in the controller.
struct ACLLink: Sendable {
  let handle: ConnectionHandle
  /// The queued frames; the first may be partly sent.
  private(set) var frames = FIFO<Frame>()
  /// The octets of ``frames`` that have not been sent.
  var queuedOctets: Int { octets.count - head }
  /// For each packet in the controller, oldest first: the tag of the frame that it ends, otherwise 0.
  var inFlight = FIFO<UInt32>()

  /// The queued frames one after the other, from ``head`` on.
  private var octets: [UInt8] = []
  private var head = 0
  /// The octets of the first frame that have been sent.
  private var sentOfFirst = 0

  struct Frame: Sendable {
    var length: Int
    var tag: UInt32
  }

  init(handle: ConnectionHandle) { self.handle = handle }

  mutating func enqueue(cid: UInt16, payload: Span<UInt8>, tag: UInt32) {
    octets.append(littleEndian: UInt16(truncatingIfNeeded: payload.count))
    octets.append(littleEndian: cid)
    octets.append(copying: payload)
    frames.append(Frame(length: payload.count + 4, tag: tag))
  }

  /// Appends the next packet of the first frame, with at most `limit` octets of data.
  mutating func writeFragment(_ limit: Int, into out: inout PacketBuffer) {
    guard let frame = frames.first else { return }
    let length = min(limit, frame.length - sentOfFirst)
    let flag: PacketBoundaryFlag = sentOfFirst == 0 ? .firstNonFlushable : .continuing
    out.append {
      $0.append(aclHeader: handle, flag, length: length)
      $0.append(copying: octets.span.extracting(head..<head + length))
    }
    head += length
    sentOfFirst += length
    if sentOfFirst == frame.length {
      _ = frames.removeFirst()
      sentOfFirst = 0
      inFlight.append(frame.tag)
    } else {
      inFlight.append(0)
    }
    dropSentOctets()
  }

  /// Removes the sent octets from the memory, rarely enough that moving the others is cheap.
  private mutating func dropSentOctets() {
    if head == octets.count {
      octets.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 4096, head > octets.count / 2 {
      octets.removeSubrange(0..<head)
      head = 0
    }
  }
}

/// A queue in reused memory.
struct FIFO<Element: Sendable>: Sendable {
  private var elements: [Element] = []
  private var start = 0

  var count: Int { elements.count - start }
  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : elements[start] }

  mutating func append(_ element: Element) { elements.append(element) }

  func contains(where predicate: (Element) -> Bool) -> Bool { elements[start...].contains(where: predicate) }

  /// Removes the first element.
  ///
  /// - Returns: nil for an empty queue.
  mutating func removeFirst() -> Element? {
    guard let first else { return nil }
    start += 1
    if start == elements.count {
      elements.removeAll(keepingCapacity: true)
      start = 0
    } else if start >= 64, start > elements.count / 2 {
      elements.removeSubrange(0..<start)
      start = 0
    }
    return first
  }
}

extension Array where Element == UInt8 {
  /// Appends the packet indicator and the header of an ACL packet with `length` octets of data.
  package mutating func append(aclHeader handle: ConnectionHandle, _ flag: PacketBoundaryFlag, length: Int) {
    append(HCIPacketType.aclData.rawValue)
    append(littleEndian: handle.rawValue | flag.rawValue << 12)
    append(littleEndian: UInt16(truncatingIfNeeded: length))
  }
}
