import BLEWire

/// Makes whole L2CAP frames of the ACL fragments of one link (Vol 3, Part A, 7.2.1; Vol 4, Part E, 5.4.2).
///
/// A frame that lies in one fragment, as nearly all do, is answered with the place of its payload in that fragment:
/// nothing is copied. Of the others the octets are gathered in one buffer that is used again.
///
/// ```
///     start, all of it here: Frame.inFragment
///   ┌────┐
///   ▼    │  start, more to come          last octet: Frame.assembled
///   idle ┴──────────────────► gathering ───────────────────────────► idle
///     ▲                        │      │
///     └──────── skipping ◄─────┘      └─ start: Drop.unfinished, the new frame begins
///   last octet      Drop.aboveLimit
/// ```
package struct Reassembler: Sendable {
  /// A whole frame.
  package enum Frame: Equatable, Sendable {
    /// The fragment just received holds all of it; its payload lies there.
    case inFragment(ChannelID, payload: Range<Int>)
    /// It came in several fragments: ``takeFrame()`` hands it out.
    case assembled(ChannelID)
  }

  /// Octets thrown away, and why. Nothing else comes of it: L2CAP has no answer to a broken frame on a fixed channel.
  package enum Drop: Equatable, Sendable {
    /// The next frame began when only `received` of `expected` octets were there; nil: not even the length was.
    case unfinished(received: Int, expected: Int?)
    /// The fragments hold more octets than the header announces.
    case overlong(received: Int, expected: Int)
    /// The header announces a payload above ``Reassembler/maximumPayload``; the rest of the frame is skipped.
    case aboveLimit(payload: Int)
    /// A continuation arrived when no frame had begun.
    case continuationWithoutStart(octets: Int)
    /// A packet boundary flag that LE does not have.
    case reservedBoundary
  }

  /// What one fragment brought. Both can be there: a fragment may break off one frame and be another.
  package struct Outcome: Equatable, Sendable {
    package var frame: Frame?
    /// Where one fragment gives two reasons, the first.
    package var dropped: Drop?

    package init(frame: Frame? = nil, dropped: Drop? = nil) {
      self.frame = frame
      self.dropped = dropped
    }
  }

  /// All that a 16-bit length field can announce. Memory is taken for octets that arrived, never for announced ones.
  package static let defaultMaximumPayload = 65_535
  /// A buffer that grew beyond this for one large frame is let go afterwards.
  private static let keptCapacity = 4096

  /// The largest payload that is put together, in octets.
  package let maximumPayload: Int

  private enum State { case idle, gathering, skipping(octets: Int) }
  private var state = State.idle
  /// The frame so far, its header included.
  private var gathered: [UInt8] = []

  package init(maximumPayload: Int = Self.defaultMaximumPayload) { self.maximumPayload = maximumPayload }

  /// Takes the data of one ACL packet, without its four octets of header.
  ///
  /// - Parameter packetBoundary: the two bits of the Packet_Boundary_Flag; 0b00 and 0b10 begin a frame, 0b01 continues.
  package mutating func receive(_ fragment: Span<UInt8>, packetBoundary: UInt8) -> Outcome {
    switch packetBoundary {
    case 0b00, 0b10: start(fragment)
    case 0b01: proceed(fragment)
    default: Outcome(dropped: .reservedBoundary)
    }
  }

  /// The frame that was ``Frame/assembled(_:)``, header included. Give it to ``reuse(_:)`` when it is done with.
  package mutating func takeFrame() -> [UInt8] {
    var frame: [UInt8] = []
    if case .idle = state { swap(&frame, &gathered) }
    return frame
  }

  /// Takes the memory of a frame back.
  package mutating func reuse(_ frame: consuming [UInt8]) {
    guard case .idle = state, frame.capacity <= Self.keptCapacity else { return }
    frame.removeAll(keepingCapacity: true)
    gathered = frame
  }

  private mutating func start(_ fragment: Span<UInt8>) -> Outcome {
    var outcome = Outcome()
    if case .gathering = state {
      let expected = BasicHeader(gathered.span).map { BasicFrame.headerLength + Int($0.length) }
      outcome.dropped = .unfinished(received: gathered.count, expected: expected)
    }
    state = .idle
    if let header = BasicHeader(fragment) {
      let end = BasicFrame.headerLength + Int(header.length)
      if Int(header.length) <= maximumPayload, fragment.count == end {
        outcome.frame = .inFragment(header.channel, payload: BasicFrame.headerLength..<end)
        return outcome
      }
    }
    gathered.removeAll(keepingCapacity: true)
    gather(fragment, &outcome)
    return outcome
  }

  private mutating func proceed(_ fragment: Span<UInt8>) -> Outcome {
    var outcome = Outcome()
    switch state {
    case .idle: outcome.dropped = .continuationWithoutStart(octets: fragment.count)
    case .gathering: gather(fragment, &outcome)
    case .skipping(let octets): state = octets > fragment.count ? .skipping(octets: octets - fragment.count) : .idle
    }
    return outcome
  }

  private mutating func gather(_ fragment: Span<UInt8>, _ outcome: inout Outcome) {
    gathered.append(copying: fragment)
    guard let header = BasicHeader(gathered.span) else {
      state = .gathering
      return
    }
    let received = gathered.count
    let expected = BasicFrame.headerLength + Int(header.length)
    if received > expected {
      drop(.overlong(received: received, expected: expected), &outcome)
    } else if Int(header.length) > maximumPayload {
      drop(.aboveLimit(payload: Int(header.length)), &outcome)
      if received < expected { state = .skipping(octets: expected - received) }
    } else if received == expected {
      outcome.frame = .assembled(header.channel)
      state = .idle
    } else {
      state = .gathering
    }
  }

  private mutating func drop(_ reason: Drop, _ outcome: inout Outcome) {
    if outcome.dropped == nil { outcome.dropped = reason }
    gathered.removeAll(keepingCapacity: true)
    state = .idle
  }
}
