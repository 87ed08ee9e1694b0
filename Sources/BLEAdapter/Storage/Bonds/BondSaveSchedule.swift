import BLEWire

/// The times at which changed bonds are saved; a machine without a clock.
///
/// ```
/// saved ──change──▶ due ──begin──▶ saving ──success──▶ saved
///                    ▲                └─────failure──▶ due after a pause, twice as long each time
/// ```
///
/// A change of trust is due at once. A change that a peer can cause at any rate (its configuration, its sign counter)
/// is due one ``interval`` after the last attempt for such a change, so that a peer cannot make the host write without
/// pause; the first one after a pairing does not wait.
struct BondSaveSchedule: Sendable {
  enum Urgency: Sendable { case atOnce, soon }

  /// The shortest time between two attempts for changes that can wait, and the pause after the first failure.
  static let interval = Duration.seconds(1)
  /// The longest pause between two attempts that fail.
  static let longestPause = Duration.seconds(60)

  /// When the next attempt is due; nil if everything is saved or being saved.
  private(set) var deadline: Instant?
  /// Attempts that failed since the last that succeeded.
  private(set) var failures = 0
  /// Whether a change that can wait is not saved yet, and when the last one was.
  private var hasPatientChange = false
  private var lastPatientAttempt: Instant?

  /// Something has changed.
  mutating func change(_ urgency: Urgency, now: Instant) {
    if urgency == .soon { hasPatientChange = true }
    // The pause after a failure applies to all changes.
    if failures > 0, deadline != nil { return }
    let due =
      switch urgency {
      case .atOnce: now
      case .soon: lastPatientAttempt.map { max(now, $0 + Self.interval) } ?? now
      }
    deadline = .nearer(deadline, due)
  }

  /// An attempt begins, with everything that has changed until now.
  mutating func begin(now: Instant) {
    deadline = nil
    if hasPatientChange { lastPatientAttempt = now }
    hasPatientChange = false
  }

  /// The attempt succeeded.
  ///
  /// - Returns: how many failed before it.
  mutating func succeed() -> Int {
    defer { failures = 0 }
    return failures
  }

  /// The attempt failed; another one is due after a pause.
  ///
  /// - Returns: whether it is the first that failed.
  mutating func fail(now: Instant) -> Bool {
    var pause = Self.interval
    for _ in 0..<failures where pause < Self.longestPause { pause *= 2 }
    deadline = now + min(pause, Self.longestPause)
    if failures < .max { failures += 1 }
    return failures == 1
  }
}
