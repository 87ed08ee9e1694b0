import BLEWire

/// The time of a ``TestRadio``: it stands still while a program of the test does something, and passes at once when all
/// of them wait.
///
/// A program whose own waits are to take no time sleeps by this clock instead of `ContinuousClock`:
///
/// ```swift
/// import BLETesting
///
/// /// Calls `attempt` until it succeeds, with pauses of 10 s.
/// func retry(on clock: any Clock<Duration>, _ attempt: () async throws -> Void) async throws {
///   while (try? await attempt()) == nil { try await clock.sleep(for: .seconds(10)) }
/// }
/// ```
public struct TestClock: Clock {
  /// A point in the time of one radio.
  public struct Instant: InstantProtocol, CustomStringConvertible {
    /// The time since the radio began.
    public let sinceStart: Duration

    /// The instant `duration` later.
    public func advanced(by duration: Duration) -> Self { Self(sinceStart: sinceStart + duration) }

    /// The time from this instant to `other`; negative if `other` is earlier.
    public func duration(to other: Self) -> Duration { other.sinceStart - sinceStart }

    /// Whether `a` is earlier than `b`.
    public static func < (a: Self, b: Self) -> Bool { a.sinceStart < b.sinceStart }

    /// The time since the radio began, as text.
    public var description: String { "\(sinceStart)" }
  }

  let clock: ManualClock

  /// The time of the radio.
  public var now: Instant { Instant(sinceStart: clock.now - .start) }

  /// One nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Waits until the time of the radio is `deadline`.
  ///
  /// - Parameters:
  ///   - deadline: the time to wait for.
  ///   - tolerance: has no effect.
  /// - Throws: `CancellationError` if the task is cancelled before.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try await clock.sleep(for: now.duration(to: deadline).waitable)
  }
}
