import BluetoothLE
import Synchronization

/// Standard output and standard error, written at once, whatever they are.
///
/// When their reader has closed them (`reference-peripheral | head -1`), the program shuts down without a message, with
/// the status that a shell shows for SIGPIPE. The signal itself would end it in the middle of things.
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

/// A line of standard input; nil at its end. `readLine` would hold the lock of `stdin`, for which the end of a program
/// waits with the C library 2.43.
func nextLine() -> String? {
  var line: [UInt8] = []
  var octet: UInt8 = 0
  while read(0, &octet, 1) == 1 {
    if octet == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
    line.append(octet)
  }
  return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
}
