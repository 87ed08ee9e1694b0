import Dispatch
import Glibc
import Synchronization

/// Standard output and standard error of the reference programs and tools, written at once, whatever they are.
///
/// When their reader has closed them (`reference-central | head -1`), the program shuts down without a message, with
/// the status that a shell shows for SIGPIPE. The signal itself would end it in the middle of things.
///
/// An example that is a package of its own does not use this target: who copies its folder copies all of it.
public enum Output {
  public static let closedStatus: Int32 = 128 + 13  // SIGPIPE
  private static let state = Mutex(State())

  private struct State {
    var isClosed = false
    var whenClosed: @Sendable () -> Void = {}
  }

  public static var isClosed: Bool { state.withLock { $0.isClosed } }

  /// To be called before the first line.
  ///
  /// - Parameter whenClosed: called once, on a queue of its own, when the reader has closed the output.
  public static func prepare(whenClosed: @escaping @Sendable () -> Void) {
    signal(SIGPIPE, SIG_IGN)
    state.withLock { $0.whenClosed = whenClosed }
  }

  /// - Parameter descriptor: standard output by default.
  public static func write(_ text: String, to descriptor: Int32 = 1) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EPIPE {
        return end()
      } else if errno != EINTR {
        return
      }
    }
  }

  private static func end() {
    let whenClosed = state.withLock { state -> (@Sendable () -> Void)? in
      defer { state.isClosed = true }
      return state.isClosed ? nil : state.whenClosed
    }
    // Not here: this may be the queue that the managers' last calls come on.
    if let whenClosed { DispatchQueue.global().async(execute: whenClosed) }
  }
}

/// A line of standard input; nil at its end. `readLine` would hold the lock of `stdin`, for which the end of a program
/// waits with the C library 2.43.
public func nextLine() -> String? {
  var line: [UInt8] = []
  var octet: UInt8 = 0
  while read(0, &octet, 1) == 1 {
    if octet == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
    line.append(octet)
  }
  return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
}
