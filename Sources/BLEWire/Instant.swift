/// A point in time, counted from an arbitrary start.
///
/// The protocol machines have no clock: the time is an argument of every call. A program derives it from a monotonic
/// clock; a test chooses it freely, so that a timeout of 30 seconds takes no time.
///
/// ```swift
/// var client = ATTClient()
/// var pdus = PacketBuffer()
/// try client.send(ReadRequest(handle: 0x0003), as: .init(rawValue: 1), now: .start, into: &pdus)
/// let failed = client.tick(now: .start + .seconds(30))  // the request has timed out
/// ```
public struct Instant: Comparable, Hashable, Sendable {
  @usableFromInline var sinceStart: Duration

  @inlinable package init(sinceStart: Duration) { self.sinceStart = sinceStart }

  /// The start of the time scale.
  @inlinable public static var start: Self { Self(sinceStart: .zero) }

  /// Whether `a` is earlier than `b`.
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.sinceStart < b.sinceStart }
  /// The instant `b` after `a`.
  @inlinable public static func + (a: Self, b: Duration) -> Self { Self(sinceStart: a.sinceStart + b) }
  /// The time from `b` to `a`; negative if `a` is earlier.
  @inlinable public static func - (a: Self, b: Self) -> Duration { a.sinceStart - b.sinceStart }
}

extension Duration {
  /// The nearest duration that a clock can wait for, of one that a caller chose: not negative, and a century at most.
  /// No sum with the time of a clock and no conversion to another unit overflows.
  package var waitable: Duration { max(.zero, min(self, .seconds(100 * 365 * 86_400))) }
}

extension Instant? {
  /// The earlier of two deadlines; nil means that there is no deadline.
  @inlinable public static func nearer(_ a: Instant?, _ b: Instant?) -> Instant? {
    guard let a else { return b }
    guard let b else { return a }
    return min(a, b)
  }
}
