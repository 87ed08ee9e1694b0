package import BLEWire

/// The listener of a server that waits for many descriptors.
///
/// It pauses after a connection that could not be accepted, and when it has accepted too many that the server had no
/// place for, so that they cost a limited share of the processor.
package struct PausingListener: ~Copyable {
  private let listener: Listener
  private let token: UInt64
  private var pauseEnd: Instant?
  /// Failures before this time have been reported.
  private var isReportedUntil: Instant?
  private var refusals = (count: 0, until: Instant.start)

  /// The pause after a failure.
  private static let failurePause = Duration.seconds(1)
  /// Failures that follow each other in this time are reported once.
  private static let reportInterval = Duration.seconds(60)
  /// Connections without a place in ``refusalPeriod``; then the listener pauses until its end.
  package static let refusalLimit = 200
  private static let refusalPeriod = Duration.milliseconds(100)

  /// - Parameter token: for ``Poller/watch(_:token:for:)``.
  package init(_ listener: consuming Listener, token: UInt64) {
    self.listener = listener
    self.token = token
  }

  /// When ``resume(now:on:)`` has work.
  package var deadline: Instant? { pauseEnd }

  /// Begins to watch for connections.
  package func watch(on poller: borrowing Poller) throws(SystemError) {
    try poller.watch(listener.descriptor, token: token, for: .reading)
  }

  /// Ends the pause if it is over.
  package mutating func resume(now: Instant, on poller: borrowing Poller) {
    guard let end = pauseEnd, end <= now else { return }
    pauseEnd = nil
    // A later attempt may succeed.
    do throws(SystemError) { try watch(on: poller) } catch { pauseEnd = now + Self.failurePause }
  }

  /// Accepts no more connections.
  package mutating func stop(on poller: borrowing Poller) {
    poller.unwatch(listener.descriptor)
    pauseEnd = nil
  }

  /// Accepts the next connection.
  ///
  /// - Parameter report: receives a failure, unless it follows one that was reported.
  /// - Returns: nil if none waits, or none can be accepted.
  package mutating func accept(
    now: Instant, on poller: borrowing Poller, through system: SystemCalls = .kernel, report: (SystemError) -> Void
  ) -> ByteStream? {
    guard pauseEnd == nil else { return nil }
    do throws(SystemError) { return try listener.accept(through: system) } catch {
      // Most likely the process has too many open descriptors: the connection waits.
      if isReportedUntil.map({ $0 <= now }) ?? true { report(error) }
      isReportedUntil = now + Self.reportInterval
      pause(until: now + Self.failurePause, on: poller)
      return nil
    }
  }

  /// The server had no place for the last connection.
  package mutating func refused(now: Instant, on poller: borrowing Poller) {
    if refusals.until <= now { refusals = (0, now + Self.refusalPeriod) }
    refusals.count += 1
    if refusals.count >= Self.refusalLimit { pause(until: refusals.until, on: poller) }
  }

  private mutating func pause(until end: Instant, on poller: borrowing Poller) {
    poller.unwatch(listener.descriptor)
    pauseEnd = end
  }
}
