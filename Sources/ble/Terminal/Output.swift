import BLEJSON
import BLEWire
import Dispatch
import Glibc
import Synchronization

/// Standard output and standard error, written at once.
///
/// When the reader has closed standard output (`ble scan | head -1`), the tool ends without a message, with the status
/// that a shell shows for SIGPIPE. When it cannot be written for another reason, the tool ends with that reason and the
/// status 74 (EX_IOERR).
enum Output {
  static let closedStatus = 128 + SIGPIPE

  /// Why nothing more can be written to standard output.
  enum End: Equatable {
    /// The reader has closed it.
    case closed
    /// An error number: the disk is full, for example.
    case failed(Int32)
  }

  private static let state = Mutex<(end: End?, action: @Sendable () -> Void)>((nil, {}))

  static var end: End? { state.withLock { $0.end } }

  /// Whether nothing more can be written to standard output.
  static var isClosed: Bool { end != nil }

  /// Calls `action` when nothing more can be written to standard output, even while the tool writes nothing
  /// (`ble scan | head -1`).
  static func watch(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.action = action }
    // It blocks until the reader has closed it, otherwise until the process ends.
    DispatchQueue(label: "ble.output").async {
      var descriptor = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
      while true {
        let count = unsafe poll(&descriptor, 1, -1)
        if count < 0, errno == EINTR { continue }
        // POLLERR: a pipe or a socket without a reader. A terminal that was hung up reports POLLHUP.
        let isGone = count > 0 && descriptor.revents & Int16(POLLERR | POLLHUP) != 0
        return isGone ? ended(.closed) : ()
      }
    }
  }

  private static func ended(_ end: End) {
    let action = state.withLock { state in
      defer { state.end = state.end ?? end }
      return state.end == nil ? state.action : {}
    }
    action()
  }

  /// The text of an error number of the system.
  static func text(ofError number: Int32) -> String { unsafe String(cString: strerror(number)) }

  /// To be called before the first line.
  static func prepare() { signal(SIGPIPE, SIG_IGN) }

  static func line(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }

  static func text(_ text: String) { write(text, to: STDOUT_FILENO) }

  static func error(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

  /// Progress of long work: one line on standard error that is written again and again, only on a terminal.
  static func progress(_ text: String) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    write("\r\u{1B}[K\(text)", to: STDERR_FILENO)
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        if descriptor == STDOUT_FILENO { ended(errno == EPIPE ? .closed : .failed(errno)) }
        return
      }
    }
  }

  /// Prints one line of JSON with the keys in alphabetical order.
  static func json(_ value: some Encodable) {
    // The values are strings, finite numbers and arrays of them: encoding does not fail.
    guard let json = try? JSON(encoding: value) else { return }
    line(escaped(json.line))
  }

  /// JSON whose strings have no characters that a terminal interprets: the encoder escapes C0 controls only.
  static func escaped(_ json: String) -> String {
    // Of the printable characters of ASCII, which most lines have alone, the encoder has escaped what has to be.
    if json.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return json }
    var safe = ""
    for scalar in json.unicodeScalars {
      if String.isPrintable(scalar) {
        safe.unicodeScalars.append(scalar)
      } else {
        for unit in Character(scalar).utf16 {
          let digits = String(unit, radix: 16)
          safe += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      }
    }
    return safe
  }
}
