package import BLEWire
internal import CLinux
internal import Glibc

/// The monotonic clock of the system, as the timeline of the stack.
package struct MonotonicClock: Sendable {
  /// In nanoseconds.
  private let origin: Int64

  /// A timeline that begins now.
  package init() { origin = Self.nanoseconds(CLOCK_MONOTONIC) }

  package func now() -> Instant {
    Instant(nanoseconds: Self.nanoseconds(CLOCK_MONOTONIC) &- origin)
  }

  fileprivate static func nanoseconds(_ clock: Int32) -> Int64 {
    var time = timespec()
    _ = unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

extension timespec {
  init(nanoseconds: Int64) {
    self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}

/// The time of day. It is for traces only, because it can jump.
package enum WallClock {
  /// Microseconds since 1970-01-01 00:00 UTC.
  package static func microseconds() -> Int64 {
    MonotonicClock.nanoseconds(CLOCK_REALTIME) / 1000
  }
}

/// A deadline that a ``Poller`` can watch (timerfd).
package struct DeadlineTimer: ~Copyable, Sendable {
  /// A descriptor that is readable once the deadline has passed, until ``drain()``.
  package let descriptor: FileDescriptor
  private var deadline: Instant?

  package init(through system: SystemCalls = .kernel) throws(SystemError) {
    descriptor = FileDescriptor(
      adopting: try system(.timer) { timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK)) })
  }

  /// Sets the deadline; nil for none. A deadline in the past makes the descriptor readable at once.
  package mutating func set(_ new: Instant?, now: Instant) {
    guard new != deadline else { return }
    deadline = new
    var time = itimerspec()
    // Zero disarms the timer.
    time.it_value = timespec(nanoseconds: new.map { max(1, $0.nanoseconds &- now.nanoseconds) } ?? 0)
    _ = unsafe timerfd_settime(descriptor.rawValue, 0, &time, nil)
  }

  /// Sets the timer so that the descriptor is readable at the deadline, or before it; nil leaves it as it is.
  ///
  /// A deadline that is set anew with each packet, always later than the one before, thus costs neither a call of the
  /// system nor a conversion. The owner is woken once for the earliest of them, and sets the one that is left.
  package mutating func set(by new: Instant?, on clock: MonotonicClock) {
    guard let new else { return }
    if let deadline, deadline <= new { return }
    set(new, now: clock.now())
  }

  /// Makes the descriptor unreadable.
  ///
  /// - Returns: whether the deadline had passed. No deadline is set afterwards in that case.
  package mutating func drain() -> Bool {
    var expirations: UInt64 = 0
    guard unsafe read(descriptor.rawValue, &expirations, MemoryLayout<UInt64>.size) > 0 else { return false }
    deadline = nil
    return true
  }
}
