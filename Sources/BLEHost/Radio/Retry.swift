import BLEHCI
import BLEWire

/// A command that the controller has refused for now, and that is sent again: after 1, 2, 4 and 8 s, then every 8 s.
struct Retry: Sendable {
  /// The times that it was refused in a row.
  private(set) var count = 0
  /// When it is to be sent again; nil while it is not waiting.
  private(set) var due: Instant?

  /// The longest pause.
  static let longestPause = Duration.seconds(8)
  /// How many times in a row a command is refused that nothing explains, until it has failed for its owner.
  static let attempts = 4

  /// The controller has refused the command.
  mutating func refused(now: Instant) {
    due = now + min(.seconds(1 << min(count, 8)), Self.longestPause)
    count += 1
  }

  /// The command is sent, or no longer wanted.
  mutating func begin() { due = nil }

  /// The controller has accepted the command.
  mutating func accepted() { self = Self() }
}

extension HCIErrorCode {
  /// Whether a controller that rejects a command for this reason may accept it later: it is in another state then, or
  /// has room. Unspecified Error says nothing, so it may.
  var mayPass: Bool {
    switch self {
    case .commandDisallowed, .memoryCapacityExceeded, .rejectedLimitedResources, .controllerBusy,
      .limitReached, .unspecifiedError:
      true
    default: false
    }
  }
}
