import BluetoothLE
import Synchronization

/// Standard output and standard error, written at once, whatever they are.
///
/// When their reader has closed them (`heart-rate | head -1`), the program shuts down without a message, with the
/// status that a shell shows for SIGPIPE. The signal itself would end it in the middle of things.
enum Output {
  static let closedStatus = 128 + SIGPIPE
  private static let hasReader = Mutex(true)

  static var isClosed: Bool { hasReader.withLock { !$0 } }

  /// To be called before the first line.
  static func prepare() { signal(SIGPIPE, SIG_IGN) }

  static func write(_ text: String, to descriptor: Int32 = STDOUT_FILENO) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EPIPE {
        return endProgram()
      } else if errno != EINTR {
        return
      }
    }
  }

  private static func endProgram() {
    let isFirst = hasReader.withLock { hasReader in
      defer { hasReader = false }
      return hasReader
    }
    guard isFirst else { return }
    // Not here: this may be the queue that the managers' last calls come on.
    DispatchQueue.global().async {
      Manager.shutDownAll()
      exit(closedStatus)
    }
  }
}
