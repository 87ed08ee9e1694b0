/// One adapter of a ``Proxy``: its limits, its attempts to connect, and its scan.
struct ProxyAdapter: Sendable {
  /// The links that it may have at once: the configured number, or the one that its controller has shown.
  private(set) var limit: Int
  /// The links with which its controller has last taken no more.
  private var shownLimit: Int?
  /// Whether ``limit`` is the shown one.
  private var isLimited = false

  /// The attempts to connect.
  private var attempts = 0
  /// The attempts that wait for the end of another one, before they begin.
  private var waiting: [AsyncStream<Void>.Continuation] = []
  /// The refused attempts that wait for the end of another one: whether one was not refused.
  private var refused: [AsyncStream<Bool>.Continuation] = []

  var scan = Scan()

  /// The scan that the adapter performs.
  struct Scan: Sendable {
    enum State: Sendable { case starting, running, failed }
    /// The task that scans; nil where nothing is scanned for.
    var task: Task<Void, Never>?
    var state = State.starting
  }

  init(limit: Int) { self.limit = max(1, limit) }

  // MARK: Limits

  /// The controller has taken no more links than those that are connected.
  ///
  /// - Returns: whether that is another number than the last time, and whether the limit was the configured one.
  mutating func noteFull(connected: Int) -> (isNew: Bool, isFirst: Bool) {
    let shown = max(1, connected)
    let (isNew, isFirst) = (shownLimit != shown, !isLimited)
    (limit, shownLimit, isLimited) = (shown, shown, true)
    return (isNew, isFirst)
  }

  /// The limit is the configured one again.
  mutating func forgetLimit(configured: Int) { (limit, isLimited) = (max(1, configured), false) }

  // MARK: Attempts

  /// Begins an attempt to connect.
  ///
  /// - Parameter limit: the attempts that are possible at once.
  /// - Returns: nil if it has begun; otherwise a stream that ends with another attempt.
  mutating func beginAttempt(limit: Int) -> AsyncStream<Void>? {
    if attempts < max(1, limit) {
      attempts += 1
      return nil
    }
    let (stream, end) = AsyncStream.makeStream(of: Void.self)
    waiting.append(end)
    return stream
  }

  /// Ends an attempt.
  ///
  /// - Returns: the attempts that have waited for it.
  mutating func endAttempt(isRefused: Bool) -> EndedAttempt {
    attempts -= 1
    defer { waiting = [] }
    // Refused attempts do not wait for each other: they would be refused again and again.
    guard !isRefused || attempts == 0 else { return EndedAttempt(waiting: waiting, refused: [], isRefused: isRefused) }
    defer { refused = [] }
    return EndedAttempt(waiting: waiting, refused: refused, isRefused: isRefused)
  }

  /// Waits for the end of another attempt, after one was refused.
  ///
  /// - Returns: a stream of one value, whether another attempt was not refused; nil if there is none.
  mutating func waitForOtherAttempt() -> AsyncStream<Bool>? {
    guard attempts > 0 else { return nil }
    let (stream, end) = AsyncStream.makeStream(of: Bool.self)
    refused.append(end)
    return stream
  }

  /// The attempts that have waited for the end of one.
  struct EndedAttempt: Sendable {
    fileprivate let waiting: [AsyncStream<Void>.Continuation]
    fileprivate let refused: [AsyncStream<Bool>.Continuation]
    fileprivate let isRefused: Bool

    /// Continues them, without the lock of the proxy.
    func finish() {
      for attempt in waiting { attempt.finish() }
      for attempt in refused {
        attempt.yield(!isRefused)
        attempt.finish()
      }
    }
  }
}
