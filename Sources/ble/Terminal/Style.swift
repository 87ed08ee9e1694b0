import BLELinux
import CLinux
import Glibc

/// Colours of the terminal (ECMA-48, 8.3.117); none if standard output is not a terminal, or if NO_COLOR is set.
enum Style: String {
  case bold = "1"
  case faint = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
  case cyan = "36"

  /// Whether standard output is a terminal.
  static let isTerminal = isatty(STDOUT_FILENO) == 1

  /// Whether standard output is a terminal whose cursor can be moved.
  static let canDraw = isTerminal && Environment.value("TERM") != "dumb"

  static let isEnabled = canDraw && Environment.value("NO_COLOR") == nil

  /// `text` in this colour.
  func callAsFunction(_ text: String) -> String { Self.isEnabled ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text }

  /// The width of the terminal in columns; 80 if standard output is not a terminal.
  static var columns: Int { size.map { Int($0.ws_col) } ?? 80 }

  /// The width in which text is wrapped: that of the terminal. Text that is not for a terminal is not wrapped.
  static var textWidth: Int { isTerminal ? max(20, columns) : .max }

  /// The height of the terminal in lines; 24 if standard output is not a terminal.
  static var rows: Int { size.map { Int($0.ws_row) } ?? 24 }

  private static var size: winsize? {
    var size = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return size
  }
}
