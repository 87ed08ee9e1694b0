internal import BLEWire

/// Decides when the SDUs of a channel's socket are read, so that they keep their order.
///
/// The kernel (`l2cap_sock_recv_cb` of 6.12 and 7.3) puts SDUs for which the receive buffer is full in a second queue,
/// and moves them after a read has made room. An SDU that arrives between the read and the move overtakes those in the
/// second queue (Docs/Decisions/kernel.md#channels). For this reason nothing is read while the second queue may contain
/// SDUs and the peer has credits.
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
/// During settling, the peer uses up its credits. With the smallest buffer the kernel grants no more, and SDUs stay in
/// order because no read makes room. Emptying continues to read while more is left than the smallest buffer and the
/// largest SDU.
struct ReadingOrder: Sendable {
  /// The memory of a socket (SO_MEMINFO).
  struct Memory: Equatable, Sendable {
    /// The octets of received SDUs, with the kernel's overhead.
    var queued: UInt32 = 0
    /// The size of the receive buffer in octets.
    var buffer: UInt32 = 0
    /// The number of SDUs that found the buffer full since the socket was made. The count wraps.
    var rejections: UInt32 = 0
  }

  /// The next action on the socket.
  enum Step: Equatable, Sendable {
    case read
    /// Set the smallest buffer, and call ``next(_:now:)`` at ``deadline``.
    case stop
    /// Call ``next(_:now:)`` at ``deadline``.
    case wait
    /// Set the buffer to this number of octets, make the kernel move the second queue without a read, and call
    /// ``moved(from:to:)``.
    case move(buffer: UInt32)
  }

  private enum State { case reading, settling(Memory, since: Instant), emptying }

  /// The time without a new SDU after which the peer has either no credits left or nothing to send.
  static let settlingTime = Duration.milliseconds(20)

  /// The octets of kernel memory for each octet of an SDU: a fragment of 27 octets takes about 800.
  private static let memoryPerOctet: UInt32 = 32
  /// The largest buffer, in octets. SDUs of more than 16,384 octets in fragments of 27 may still get out of order.
  private static let bufferLimit: UInt32 = 4 << 20

  /// The octets of buffer that a socket needs: a quarter of it is more than the largest SDU.
  static func buffer(mtu: UInt16) -> UInt32 { min(bufferLimit, 8 * memoryPerOctet * UInt32(mtu)) }

  /// The size of the buffer in octets while SDUs are read; 0 if the system does not report it, and reading then never
  /// stops.
  let buffer: UInt32
  private var state = State.reading
  private var rejections: UInt32

  /// The order for a socket whose buffer has its usual size.
  init(_ memory: Memory?) { (buffer, rejections) = (memory?.buffer ?? 0, memory?.rejections ?? 0) }

  /// The time at which ``next(_:now:)`` is due.
  var deadline: Instant? {
    guard case .settling(_, let since) = state else { return nil }
    return since + Self.settlingTime
  }

  /// Decides on the next read.
  ///
  /// - Parameter memory: the current memory of the socket.
  mutating func next(_ memory: Memory, now: Instant) -> Step {
    guard buffer > 0 else { return .read }
    switch state {
    case .reading:
      if memory.queued <= buffer / 2, memory.rejections == rejections { return .read }
    case .emptying:
      if memory.queued > buffer / 4 { return .read }
    case .settling(let last, let since):
      // The size of the buffer is not compared: this process changes it, not the peer.
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
  ///   - memory: the current memory of the socket. A further rejection shows that the second queue is not empty.
  /// - Returns: whether the size must be set to ``buffer``; otherwise it must be set to the smallest buffer.
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
