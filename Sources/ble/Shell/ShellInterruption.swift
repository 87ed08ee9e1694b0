import BLEKit
import Synchronization

/// Control-C in `ble shell` on a terminal: it rejects the open question of a pairing, otherwise it ends the command
/// that runs, otherwise it clears the line. The link stays up.
///
/// A command that does not end then is ended with the shell by one more Control-C.
final class ShellInterruption: Sendable {
  private struct State {
    var command: Task<Void, any Error>?
    var isInterrupted = false
  }

  private let state = Mutex(State())
  private let rejectQuestions: @Sendable () -> Bool
  private let clear: @Sendable () -> Void

  /// - Parameters:
  ///   - rejectQuestions: rejects the open questions; returns whether there were any.
  ///   - clear: ends the line on the screen, with a new prompt if no command runs.
  init(rejectQuestions: @escaping @Sendable () -> Bool, clear: @escaping @Sendable () -> Void) {
    (self.rejectQuestions, self.clear) = (rejectQuestions, clear)
  }

  /// Control-C.
  ///
  /// - Returns: false if the shell has to end.
  func interrupt() -> Bool {
    if rejectQuestions() {
      clear()
      return true
    }
    let (isTaken, command) = state.withLock { state -> (Bool, Task<Void, any Error>?) in
      guard let command = state.command else { return (true, nil) }
      defer { state.isInterrupted = true }
      return (!state.isInterrupted, command)
    }
    guard isTaken else { return false }
    clear()
    command?.cancel()
    return true
  }

  /// Runs a command until it ends, or until Control-C cancels it: that is no error.
  func run(_ command: @escaping @Sendable () async throws -> Void) async throws {
    let task = Task { try await command() }
    state.withLock { ($0.command, $0.isInterrupted) = (task, false) }
    let result = await withTaskCancellationHandler {
      await task.result
    } onCancel: {
      task.cancel()
    }
    let isInterrupted = state.withLock { state in
      defer { (state.command, state.isInterrupted) = (nil, false) }
      return state.isInterrupted
    }
    do { try result.get() } catch  where isInterrupted && Self.isCancellation(error) {}
  }

  private static func isCancellation(_ error: any Error) -> Bool {
    error is CancellationError || (error as? BLEError)?.kind == .cancelled
  }
}
