internal import BLEWire

/// The times at which the SDUs of a channel's socket are read, so that they keep their order.
///
/// The kernel (`l2cap_sock_recv_cb` of 6.12 and 7.3) keeps SDUs that find the receive buffer full in a second queue, and moves them when a
/// read has made room. An SDU that arrives between the read and the move passes those in the second queue (Docs/Decisions/0079).
/// Nothing is therefore read while SDUs can be in the second queue and the peer has credits.
///
/// ```
///   reading ──── the buffer is half full, or was full ────► settling ◄──────────────────┐
///      ▲           (the smallest buffer: no credits)           │                        │
///      │                                                       │ no SDU for 20 ms       │
///      │                                                       ▼                        │
///      └─────────── at most half is waiting ◄─────────── move (twice the buffer)        │
///                                                              │ more is waiting        │ a quarter is left
///                                                              ▼                        │
///                                                          emptying (the smallest) ─────┘
/// ```
///
/// While it is settling, the peer uses the credits that it has. With the smallest buffer the kernel gives no others, and keeps the
/// order because no read makes room. Emptying reads as long as more is left than the smallest buffer and the largest SDU.
struct ReadingOrder: Sendable {
  /// The memory of a socket (SO_MEMINFO).
  struct Memory: Equatable, Sendable {
    /// Octets of received SDUs, with the kernel's overhead.
    var queued: UInt32 = 0
    /// Octets of the receive buffer.
    var buffer: UInt32 = 0
    /// SDUs that found the buffer full since the socket exists; the count wraps.
    var rejections: UInt32 = 0
  }

  /// The next thing to do with the socket.
  enum Step: Equatable, Sendable {
    case read
    /// Set the smallest buffer, and call ``next(_:now:)`` at ``deadline``.
    case stop
    /// Call ``next(_:now:)`` at ``deadline``.
    case wait
    /// Set the buffer to the octets, let the kernel move the second queue without a read, and call ``moved(from:to:)``.
    case move(buffer: UInt32)
  }

  private enum State { case reading, settling(Memory, since: Instant), emptying }

  /// The time without a new SDU after which the peer has no credits left, or nothing to send.
  static let settlingTime = Duration.milliseconds(20)

  /// Octets of the kernel's memory for each octet of an SDU: a fragment of 27 octets takes about 800.
  private static let memoryPerOctet: UInt32 = 32
  /// The largest buffer. With SDUs of more than 16,384 octets in fragments of 27 the order is not certain.
  private static let bufferLimit: UInt32 = 4 << 20

  /// Octets of the buffer that a socket needs: a quarter is more than the largest SDU.
  static func buffer(mtu: UInt16) -> UInt32 { min(bufferLimit, 8 * memoryPerOctet * UInt32(mtu)) }

  /// Octets of the buffer while SDUs are read; 0 where the system does not report it: nothing is stopped then.
  let buffer: UInt32
  private var state = State.reading
  private var rejections: UInt32

  /// The order of a socket whose buffer has its usual size.
  init(_ memory: Memory?) { (buffer, rejections) = (memory?.buffer ?? 0, memory?.rejections ?? 0) }

  /// The time at which ``next(_:now:)`` is due.
  var deadline: Instant? {
    guard case .settling(_, let since) = state else { return nil }
    return since + Self.settlingTime
  }

  /// Decides about the next read.
  ///
  /// - Parameter memory: the memory of the socket now.
  mutating func next(_ memory: Memory, now: Instant) -> Step {
    guard buffer > 0 else { return .read }
    switch state {
    case .reading:
      if memory.queued <= buffer / 2, memory.rejections == rejections { return .read }
    case .emptying:
      if memory.queued > buffer / 4 { return .read }
    case .settling(let last, let since):
      // The buffer's size changes by what is done here, not by the peer.
      guard memory.queued == last.queued, memory.rejections == last.rejections else {
        state = .settling(memory, since: now)
        return .wait
      }
      guard now >= since + Self.settlingTime else { return .wait }
      return .move(buffer: buffer.multipliedReportingOverflow(by: 2).partialValue)
    }
    state = .settling(memory, since: now)
    return .stop
  }

  /// Continues after a move.
  ///
  /// - Parameters:
  ///   - before: the memory of the socket before the move.
  ///   - memory: the memory of the socket now. A further rejection shows that the second queue is not empty.
  /// - Returns: whether ``buffer`` is to be set; otherwise the smallest buffer.
  mutating func moved(from before: Memory, to memory: Memory) -> Bool {
    rejections = memory.rejections
    if memory.rejections == before.rejections, memory.queued <= buffer / 2 {
      state = .reading
      return true
    }
    state = .emptying
    return false
  }
}
