/// A point on the stack's own time line. Only the event loop and the tests make one; every machine is handed `now`.
public struct Instant: Comparable, Hashable, Sendable {
  private var sinceStart: Duration

  /// Where the time line begins.
  public static let start = Self(sinceStart: .zero)

  public static func < (a: Self, b: Self) -> Bool { a.sinceStart < b.sinceStart }
  public static func + (a: Self, b: Duration) -> Self { Self(sinceStart: a.sinceStart + b) }
  public static func - (a: Self, b: Self) -> Duration { a.sinceStart - b.sinceStart }
}

extension Instant? {
  /// The nearer of two deadlines; nil stands for none.
  public static func nearer(_ a: Instant?, _ b: Instant?) -> Instant? {
    guard let a else { return b }
    guard let b else { return a }
    return min(a, b)
  }
}
