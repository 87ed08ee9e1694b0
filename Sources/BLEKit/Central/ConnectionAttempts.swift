import BLEAdapter
import BLEWire

/// The attempts of one call to connect, which share its timeout.
///
/// A link is established when a packet of the device has been received; a device that misses the connection request, or
/// whose first packets are lost, is lost after six connection intervals (0x3E; Vol 6, Part B, 4.5.2). Near the limit of
/// the range that is usual, and the next attempt may succeed.
struct ConnectionAttempts {
  /// The time between a failed attempt and the next one.
  static let pause = Duration.milliseconds(100)
  /// The longest attempt for an address that the device may change: longer than the longest advertising interval, 10.24
  /// s (Vol 4, Part E, 7.8.5).
  static let longest = Duration.seconds(12)

  private let timeout: Duration?
  private let clock: WaitClock
  private let start: Duration
  private var failures = 0
  /// The error of the last attempt that did not take all its time.
  private var last: BLEError?
  /// What the last attempt was for.
  private var missing = ""

  /// - Parameter timeout: of any size; nil for no limit.
  init(within timeout: Duration?, clock: WaitClock = WaitClock()) {
    (self.timeout, self.clock, start) = (timeout, clock, clock.now())
  }

  /// The time that is left, of any size; nil without a limit.
  var remaining: Duration? {
    // The first attempt has all of it.
    failures == 0 ? timeout : timeout.map { max(.zero, $0.waitable - (clock.now() - start)) }
  }

  /// The time for an attempt to connect to a device that was found with this address; nil without a limit.
  ///
  /// A device whose address is private uses another one after some minutes, or after each connection (Vol 3, Part C,
  /// 10.7.1.2), and a static address may change with each start (Vol 6, Part B, 1.3.2.1): the search finds the new one.
  func limit(for address: DeviceAddress) -> Duration? {
    switch address.randomKind {
    case nil: remaining
    case .static: min(Self.longest, remaining ?? Self.longest)
    case .resolvablePrivate, .nonResolvablePrivate, .reserved:
      min(Self.longest, remaining.map { max($0.waitable / 2, .seconds(1)) } ?? Self.longest)
    }
  }

  /// An attempt has failed: returns when the next one is due.
  ///
  /// - Parameters:
  ///   - error: its error.
  ///   - missing: what is missing, for the error of the call.
  ///   - isAnotherPossible: whether another attempt can follow one that has taken all its time.
  /// - Throws: the error of the call, if no further attempt follows.
  mutating func failed(
    _ error: BLEError, _ missing: String, isAnotherPossible: Bool = false
  ) async throws(BLEError) {
    let isNotEstablished = error.disconnectReason == .connectionFailedToBeEstablished
    let hasTimedOut = error.kind == .timedOut && error.disconnectReason == nil
    guard isNotEstablished || hasTimedOut else { throw explained(error) }
    (failures, self.missing) = (failures + 1, missing)
    if isNotEstablished { last = error }
    let isOver = remaining.map { $0 == .zero } ?? false
    if isOver || hasTimedOut && !isAnotherPossible { throw timedOut }
    do { try await clock.sleep(min(Self.pause, remaining ?? Self.pause)) } catch { throw .cancelled }
  }

  /// The error of the call after the timeout.
  private var timedOut: BLEError {
    let time = timeout.map { " within \($0)" } ?? ""
    guard failures > 1 || last != nil else { return BLEError(.timedOut, "\(missing)\(time)") }
    let reason = last.map { ": \($0.description)" } ?? ""
    return BLEError(
      .timedOut, "\(missing)\(time) in \(failures) \(failures == 1 ? "attempt" : "attempts")\(reason)",
      disconnectReason: last?.disconnectReason)
  }

  /// An error that ends the call, with the number of the attempts that failed before. If the device was not found
  /// again, it is that of the attempts.
  func explained(_ error: BLEError) -> BLEError {
    guard failures > 0, error.kind != .cancelled else { return error }
    if error.kind == .notFound { return timedOut }
    return error.adding(" (after \(failures) failed \(failures == 1 ? "attempt" : "attempts") to connect)")
  }
}
