import BLEWire
import Foundation
import Synchronization

/// Standard output and standard error, written at once.
///
/// When the reader has closed standard output (`ble scan | head -1`), the tool ends without a message, with the status that a shell
/// shows for SIGPIPE.
enum Output {
  static let closedStatus = 128 + SIGPIPE
  private static let closed = Mutex(false)

  /// Whether the reader of standard output has closed it.
  static var isClosed: Bool { closed.withLock { $0 } }

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
      let count = rest.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EPIPE {
        return closed.withLock { $0 = true }
      } else if errno != EINTR {
        return
      }
    }
  }

  /// Prints one line of JSON with the keys in alphabetical order.
  static func json(_ value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // The values are strings, numbers and arrays of them: encoding does not fail.
    guard let data = try? encoder.encode(value) else { return }
    line(escaped(String(decoding: data, as: UTF8.self)))
  }

  /// JSON whose strings have no characters that a terminal obeys: the encoder escapes C0 controls only.
  static func escaped(_ json: String) -> String {
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
