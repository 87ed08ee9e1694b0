package import BLEWire
internal import CBluetoothLinux

/// The monotonic clock of the system, as the stack's time line.
package struct MonotonicClock: Sendable {
  private let origin: Duration

  /// A time line that begins now.
  package init() { origin = Self.read(CLOCK_MONOTONIC) }

  package func now() -> Instant { .start + (Self.read(CLOCK_MONOTONIC) - origin) }

  fileprivate static func read(_ clock: Int32) -> Duration {
    var time = timespec()
    _ = unsafe clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

/// The time of day, for traces alone: it may jump.
package enum WallClock {
  /// Microseconds since 1970-01-01 00:00 UTC.
  package static func microseconds() -> Int64 {
    let (seconds, attoseconds) = MonotonicClock.read(CLOCK_REALTIME).components
    return seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000
  }
}
