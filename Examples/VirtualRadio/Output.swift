import Foundation
import Synchronization

/// Standard output and standard error, written at once, whatever they are.
///
/// When their reader has closed them (`virtual-radio 2>&1 | head -1`), the program shuts down without a message,
/// with the status that a shell shows for SIGPIPE. The signal itself would end it in the middle of things.
enum Output {
  static let closedStatus = 128 + SIGPIPE
  private static let state = Mutex(State())

  private struct State {
    var isClosed = false
    var whenClosed: @Sendable () -> Void = {}
  }

  static var isClosed: Bool { state.withLock { $0.isClosed } }

  /// To be called before the first line.
  static func prepare() { signal(SIGPIPE, SIG_IGN) }

  /// Calls `body`, on any thread, once the reader has closed the output.
  static func whenClosed(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenClosed = body } }

  static func write(_ text: String, to descriptor: Int32 = STDOUT_FILENO) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EPIPE {
        state.withLock { state in
          state.isClosed = true
          return state.whenClosed
        }()
        return
      } else if errno != EINTR {
        return
      }
    }
  }
}
