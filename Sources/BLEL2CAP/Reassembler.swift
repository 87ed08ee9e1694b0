import BLEWire

/// Reassembles L2CAP frames from the ACL fragments of one link (Vol 3, Part A, 7.2.1; Vol 4, Part E, 5.4.2).
///
/// Most frames fit in one fragment. For such a frame the result is the place of its payload in the fragment, and
/// nothing is copied. The fragments of any other frame are collected in one buffer, which is reused.
///
/// ```swift
/// var reassembler = Reassembler()
/// let outcome = reassembler.receive(fragment, packetBoundary: 0b10)
/// switch outcome.frame {
/// case .inFragment(let channel, let payload): handle(fragment.extracting(payload), on: channel)
/// case .assembled(let channel):
///   let frame = reassembler.takeFrame()
///   handle(frame.span.extracting(BasicFrame.headerLength..<frame.count), on: channel)
///   reassembler.reuse(frame)
/// case nil: break  // more fragments follow; outcome.dropped is the reason why octets were dropped
/// }
/// ```
///
/// ```
///     start, whole frame: Frame.inFragment
///   ┌────┐
///   ▼    │  start, more to follow        last octet: Frame.assembled
///   idle ┴──────────────────► collecting ──────────────────────────► idle
///     ▲                        │      │
///     └──────── skipping ◄─────┘      └─ start: Drop.unfinished, the new frame begins
///   last octet      Drop.aboveLimit
/// ```
public struct Reassembler: Sendable {
  /// A whole frame.
  public enum Frame: Equatable, Sendable {
    /// The received fragment has the whole frame; `payload` is the place of the payload in it.
    case inFragment(ChannelID, payload: Range<Int>)
    /// The frame had several fragments; ``takeFrame()`` returns it.
    case assembled(ChannelID)
  }

  /// The reason why octets were dropped. L2CAP has no response to a malformed frame on a fixed channel.
  public enum Drop: Equatable, Sendable {
    /// A new frame started after `received` of `expected` octets; `expected` is nil if the header was incomplete.
    case unfinished(received: Int, expected: Int?)
    /// The fragments have more octets than the length in the header.
    case overlong(received: Int, expected: Int)
    /// The length in the header exceeds ``Reassembler/maximumPayload``; the rest of the frame is skipped.
    case aboveLimit(payload: Int)
    /// A continuing fragment was received without a start of a frame.
    case continuationWithoutStart(octets: Int)
    /// The packet boundary flag is 0b11, which LE does not use.
    case reservedBoundary
  }

  /// The result of one fragment. Both properties can be set: a fragment can end one frame early and be a whole other
  /// frame.
  public struct Outcome: Equatable, Sendable {
    /// The frame that is complete.
    public var frame: Frame?
    /// The reason why octets were dropped; the first of two reasons.
    public var dropped: Drop?

    /// A result.
    public init(frame: Frame? = nil, dropped: Drop? = nil) {
      self.frame = frame
      self.dropped = dropped
    }
  }

  /// The largest value of the 16-bit length field. Memory is allocated for received octets, not for the announced
  /// length.
  public static let defaultMaximumPayload = 65_535
  /// A buffer with a larger capacity is not reused, in octets.
  private static let keptCapacity = 4096

  /// The largest payload that is reassembled, in octets.
  public let maximumPayload: Int

  private enum State { case idle, collecting, skipping(octets: Int) }
  private var state = State.idle
  /// The octets of the frame so far, header included.
  private var collected: [UInt8] = []

  /// A reassembler at the start of a frame.
  public init(maximumPayload: Int = Self.defaultMaximumPayload) { self.maximumPayload = maximumPayload }

  /// The channel of a fragment that is a whole frame, if no frame is being collected; the payload follows the header.
  /// Nil for any other fragment, which is passed to ``receive(_:packetBoundary:)``.
  package func wholeFrame(in fragment: Span<UInt8>, packetBoundary: UInt8) -> ChannelID? {
    guard case .idle = state, packetBoundary & 0b01 == 0, let header = BasicHeader(fragment),
      Int(header.length) <= maximumPayload, fragment.count == BasicFrame.headerLength + Int(header.length)
    else { return nil }
    return header.channel
  }

  /// Receives the data of one ACL packet, without its header.
  ///
  /// - Parameters:
  ///   - fragment: the data.
  ///   - packetBoundary: the two bits of the Packet_Boundary_Flag: 0b00 and 0b10 start a frame, 0b01 continues it.
  public mutating func receive(_ fragment: Span<UInt8>, packetBoundary: UInt8) -> Outcome {
    switch packetBoundary {
    case 0b00, 0b10: startFrame(fragment)
    case 0b01: continueFrame(fragment)
    default: Outcome(dropped: .reservedBoundary)
    }
  }

  /// Returns the frame that was ``Frame/assembled(_:)``, header included. ``reuse(_:)`` takes its memory back.
  public mutating func takeFrame() -> [UInt8] {
    var frame: [UInt8] = []
    if case .idle = state { swap(&frame, &collected) }
    return frame
  }

  /// Reuses the memory of a frame for the next one.
  public mutating func reuse(_ frame: consuming [UInt8]) {
    guard case .idle = state, frame.capacity <= Self.keptCapacity else { return }
    frame.removeAll(keepingCapacity: true)
    collected = frame
  }

  private mutating func startFrame(_ fragment: Span<UInt8>) -> Outcome {
    var outcome = Outcome()
    if case .collecting = state {
      let expected = BasicHeader(collected.span).map { BasicFrame.headerLength + Int($0.length) }
      outcome.dropped = .unfinished(received: collected.count, expected: expected)
    }
    state = .idle
    if let header = BasicHeader(fragment) {
      let end = BasicFrame.headerLength + Int(header.length)
      if Int(header.length) <= maximumPayload, fragment.count == end {
        outcome.frame = .inFragment(header.channel, payload: BasicFrame.headerLength..<end)
        return outcome
      }
    }
    collected.removeAll(keepingCapacity: true)
    collect(fragment, &outcome)
    return outcome
  }

  private mutating func continueFrame(_ fragment: Span<UInt8>) -> Outcome {
    var outcome = Outcome()
    switch state {
    case .idle: outcome.dropped = .continuationWithoutStart(octets: fragment.count)
    case .collecting: collect(fragment, &outcome)
    case .skipping(let octets): state = octets > fragment.count ? .skipping(octets: octets - fragment.count) : .idle
    }
    return outcome
  }

  private mutating func collect(_ fragment: Span<UInt8>, _ outcome: inout Outcome) {
    collected.append(copying: fragment)
    guard let header = BasicHeader(collected.span) else {
      state = .collecting
      return
    }
    let received = collected.count
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
      state = .collecting
    }
  }

  private mutating func drop(_ reason: Drop, _ outcome: inout Outcome) {
    if outcome.dropped == nil { outcome.dropped = reason }
    collected.removeAll(keepingCapacity: true)
    state = .idle
  }
}
