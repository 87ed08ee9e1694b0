import BLEKit
import BLELinux
import Synchronization
import ToolCore

/// The lines of the log about pairings that failed: an operation of the tool that fails with its pairing has an error
/// that says so, and needs no line besides.
///
/// While an operation is under way, the lines are kept until it ends. If no error has their content, they are written
/// then.
final class PairingFailures: Sendable {
  /// Those of the tool. It ends at a signal, and what its end does to a pairing is not reported.
  static let ofTool = PairingFailures(write: BluetoothLog.write, isEnding: { BLETool.signals.received != nil })

  private struct State {
    /// The operations that are under way.
    var operations = 0
    /// Whether lines are kept for their errors.
    var keeps = true
    var kept: [BluetoothLog.Line] = []
  }

  /// More lines are written at once.
  static let limit = 16

  private let state = Mutex(State())
  private let write: @Sendable (BluetoothLog.Line) -> Void
  private let isEnding: @Sendable () -> Bool

  init(write: @escaping @Sendable (BluetoothLog.Line) -> Void, isEnding: @escaping @Sendable () -> Bool) {
    (self.write, self.isEnding) = (write, isEnding)
  }

  /// Whether a line is written now.
  func admits(_ line: BluetoothLog.Line) -> Bool {
    guard line.category == .peer, line.text.contains("the pairing failed, ") else { return true }
    if isEnding() { return false }
    return state.withLock { state in
      guard state.operations > 0, state.keeps, state.kept.count < Self.limit else { return true }
      state.kept.append(line)
      return false
    }
  }

  /// Runs an operation whose error the tool prints.
  func during(
    isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Void
  ) async throws {
    state.withLock { state in
      if state.operations == 0 { state.keeps = true }
      state.operations += 1
    }
    do {
      try await operation()
      end()
    } catch {
      if (error as? BLEError)?.pairingFailure != nil { state.withLock { $0.kept = [] } }
      end()
      throw error
    }
  }

  private func end() {
    let lines = state.withLock { state in
      state.operations -= 1
      guard state.operations == 0 else { return [] as [BluetoothLog.Line] }
      defer { state.kept = [] }
      return state.kept
    }
    for line in lines { write(line) }
  }

  /// Writes what is kept, and keeps no more: from now on the operation waits, and what fails is news.
  func operationWaits() {
    let lines = state.withLock { state in
      state.keeps = false
      defer { state.kept = [] }
      return state.kept
    }
    for line in lines { write(line) }
  }
}
