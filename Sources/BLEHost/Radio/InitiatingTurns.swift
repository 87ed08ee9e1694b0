import BLEWire

/// Connecting by turns with scanning and advertising, for controllers that cannot do both at once.
///
/// Such a controller says so (``SupportedStates``), or refuses a command with Command Disallowed. A turn of connecting
/// comes first; then they change every ``length`` until one of them is not wanted any longer.
///
/// ```
///   together ── both wanted, and not possible at once ──► connecting ◄──── 5 s ────► the others
///      ▲                                                      │                          │
///      └────────────────── one of them is not wanted ─────────┴──────────────────────────┘
/// ```
struct InitiatingTurns: Sendable {
  /// How long a turn takes.
  static let length = Duration.seconds(5)

  enum Turn: Equatable, Sendable { case together, initiating, others }

  private(set) var turn = Turn.together
  /// When the turn ends.
  private(set) var deadline: Instant?
  /// The controller has refused one beside the other, for the devices that are wanted now.
  private var wasRefused = false
  /// Whether a turn of the others has begun.
  private var haveOthersWaited = false

  /// The controller has refused to connect while it scans or advertises, or the other way round.
  mutating func refused() { wasRefused = true }

  /// The controller lost its state.
  mutating func suspend() { self = Self() }

  /// Chooses the turn.
  ///
  /// - Parameters:
  ///   - isInitiatingWanted: whether there is a device to connect to.
  ///   - areOthersWanted: whether a scan or a connectable advertisement is declared.
  ///   - isPossible: whether the controller reports that it can do both.
  /// - Returns: whether the first turn of the others has begun. A connection that is made in the first turn needs no
  ///   line.
  mutating func update(isInitiatingWanted: Bool, areOthersWanted: Bool, isPossible: Bool, now: Instant) -> Bool {
    if !isInitiatingWanted { wasRefused = false }
    guard isInitiatingWanted, areOthersWanted, wasRefused || !isPossible else {
      (turn, deadline) = (.together, nil)
      return false
    }
    if let deadline, now < deadline { return false }
    turn = turn == .initiating ? .others : .initiating
    deadline = now + Self.length
    guard turn == .others, !haveOthersWaited else { return false }
    haveOthersWaited = true
    return true
  }
}
