import BLEJSON
import BLELinux
import BLEWire
import CLinux
import Dispatch
import Glibc
import Synchronization
import ToolCore

/// Standard output and standard error, written at once.
///
/// Standard output is the product of a command: a write waits until it is taken, also by a reader that has made the
/// output non-blocking. No part of the tool waits for a reader of standard error, nor of the events of a service
/// (``event(_:)``): ``LineOutput`` writes them. Lines for both keep their order, unless standard error is not read.
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

  /// Not a tuple: a mutex of one with a closure wraps the closure once more at each access, and never frees it.
  private struct State {
    var end: End?
    var action: @Sendable () -> Void = {}
  }

  private static let state = Mutex(State())

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

  /// To be called before the first line.
  static func prepare() { signal(SIGPIPE, SIG_IGN) }

  static func line(_ text: String) { write(text + "\n") }

  /// A line in the width of the terminal: what does not fit is on lines after it, indented.
  static func line(_ text: String, indent: Int) {
    line(
      text.wrapped(to: Style.textWidth, indent: indent).joined(separator: "\n" + String(repeating: " ", count: indent)))
  }

  static func text(_ text: String) { write(text) }

  /// A line about what a service does, on standard output. A reader that is slow or stuck does not stop the service; it
  /// gets the number of the lines that it has missed.
  static func event(_ text: String) {
    LineOutput.standardError.flush()
    events.write(text + "\n")
  }

  private static let events = LineOutput(STDOUT_FILENO) { number in
    ended(number == EPIPE ? .closed : .failed(number))
  }

  /// Waits for the events that are not written, unless nobody reads them. To be called before the process ends.
  static func settle() { events.flush() }

  static func error(_ text: String) { LineOutput.standardError.write(text + "\n") }

  /// Progress of long work: one line on standard error that is written again and again, only on a terminal.
  static func progress(_ text: String) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    LineOutput.standardError.write("\r\u{1B}[K\(text)")
  }

  private static func write(_ text: String) {
    LineOutput.standardError.flush()
    switch LineOutput.write(Array(text.utf8), to: STDOUT_FILENO) {
    case nil: break
    case EPIPE: ended(.closed)
    case let number?: ended(.failed(number))
    }
  }

  /// Prints one line of JSON with the keys in alphabetical order.
  static func json(_ value: some Encodable) {
    // The values are strings, finite numbers and arrays of them: encoding does not fail.
    guard let json = try? JSON(encoding: value) else { return }
    line(json.line.printableJSON)
  }
}
