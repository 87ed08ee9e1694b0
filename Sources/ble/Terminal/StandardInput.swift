import Dispatch
import Glibc
import Synchronization
import ToolCore

/// The lines of standard input, which a thread of its own reads: the call blocks. A line that nobody waits for is dropped.
enum StandardInput {
  private struct State {
    var isReading = false
    var hasEnded = false
    var waiting: CheckedContinuation<String?, Never>?
  }

  private static let state = Mutex(State())

  /// Waits for a line.
  ///
  /// - Returns: the line without its end; nil at the end of the input, and when the task is cancelled.
  static func nextLine() async -> String? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (isOver, starts) = state.withLock { state in
          guard !state.hasEnded, !Task.isCancelled else { return (true, false) }
          state.waiting = continuation
          defer { state.isReading = true }
          return (false, !state.isReading)
        }
        if isOver { continuation.resume(returning: nil) }
        if starts { DispatchQueue(label: "ble.input").async { read() } }
      }
    } onCancel: {
      take()?.resume(returning: nil)
    }
  }

  /// The octets until the end of the input, or as many as `limit`; the thread is blocked meanwhile.
  ///
  /// - Throws: ``ToolError`` where it cannot be read.
  static func octets(atMost limit: Int = .max) throws(ToolError) -> [UInt8] {
    var octets: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4_096)
    while octets.count < limit {
      let count = part.withUnsafeMutableBytes { room in
        unsafe Glibc.read(STDIN_FILENO, room.baseAddress, min(room.count, limit - octets.count))
      }
      if count == 0 { break }
      if count > 0 {
        octets += part[..<count]
      } else if errno != EINTR {
        throw .input("standard input cannot be read: \(Output.text(ofError: errno))")
      }
    }
    return octets
  }

  private static func take() -> CheckedContinuation<String?, Never>? {
    state.withLock { state in
      defer { state.waiting = nil }
      return state.waiting
    }
  }

  private static func read() {
    while let line = readLine() { take()?.resume(returning: line) }
    state.withLock { $0.hasEnded = true }
    take()?.resume(returning: nil)
  }
}
