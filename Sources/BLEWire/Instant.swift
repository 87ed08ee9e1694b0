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
  /// Since the start. 64 bits last for 292 years, and a comparison takes one instruction; that of two durations, which
  /// have 128, is a call of the standard library.
  @usableFromInline package var nanoseconds: Int64

  @inlinable package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The instant this number of microseconds after the start, or the last one of the time scale. On a processor of 32
  /// bits it takes fewer instructions than the sum with a duration, which has 128.
  ///
  /// ```swift
  /// let now = Instant(microseconds: 1_500_000)
  /// // now == .start + .milliseconds(1500)
  /// ```
  @inlinable public init(microseconds: Int64) {
    let (product, overflow) = microseconds.multipliedReportingOverflow(by: 1000)
    nanoseconds = overflow ? (microseconds < 0 ? .min : .max) : product
  }

  /// The number of microseconds since the start, without a fraction.
  @inlinable public var microseconds: Int64 { nanoseconds / 1000 }

  /// The start of the time scale.
  @inlinable public static var start: Self { Self(nanoseconds: 0) }

  /// Whether `a` is earlier than `b`.
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  /// The instant `b` after `a`, to the nanosecond; the last one of the time scale if `b` is longer than that.
  @inlinable public static func + (a: Self, b: Duration) -> Self {
    let (sum, overflow) = a.nanoseconds.addingReportingOverflow(b.wholeNanoseconds)
    return Self(nanoseconds: overflow ? (b < .zero ? .min : .max) : sum)
  }
  /// The time from `b` to `a`; negative if `a` is earlier.
  @inlinable public static func - (a: Self, b: Self) -> Duration {
    .nanoseconds(a.nanoseconds) - .nanoseconds(b.nanoseconds)
  }
}

extension Duration {
  /// In nanoseconds, without a fraction, and as many as fit.
  @inlinable var wholeNanoseconds: Int64 {
    // The division of 128 bits by 32 at a time: that of the standard library takes 1,000 instructions on a processor of
    // 32 bits.
    let (attoseconds, divisor) = (attoseconds, 1_000_000_000 as UInt64)
    let (magnitude, isNegative) = (attoseconds.magnitude, attoseconds < 0)
    let (high, low) = (UInt64(truncatingIfNeeded: magnitude >> 64), UInt64(truncatingIfNeeded: magnitude))
    // The quotient has more than 64 bits.
    guard high < divisor else { return isNegative ? .min : .max }
    let upper = high << 32 | low >> 32
    let lower = (upper % divisor) << 32 | low & 0xFFFF_FFFF
    let (most, least) = (upper / divisor, lower / divisor)
    guard most >> 31 == 0 else { return isNegative ? .min : .max }
    let nanoseconds = Int64(truncatingIfNeeded: most << 32 | least)
    return isNegative ? -nanoseconds : nanoseconds
  }

  /// In microseconds, without a fraction, and as many as fit.
  package var wholeMicroseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000) }

  /// The nearest duration that a clock can wait for, of one that a caller chose: not negative, and a century at most.
  /// No sum with the time of a clock and no conversion to another unit overflows.
  package var waitable: Duration { max(.zero, min(self, .seconds(3_153_600_000 as Int64))) }
}

extension Instant? {
  /// The earlier of two deadlines; nil means that there is no deadline.
  @inlinable public static func nearer(_ a: Instant?, _ b: Instant?) -> Instant? {
    guard let a else { return b }
    guard let b else { return a }
    return min(a, b)
  }
}
