import BLEWire
import Glibc
import Synchronization

/// The prompt of `ble shell` on a terminal. Values that arrive while the user types are printed above it.
///
/// The terminal edits the line. It has the text that is typed, so a value erases the text from the screen only:
/// Control-R shows it again.
final class ShellPrompt: Sendable {
  /// Whether a user types the commands; otherwise they are those of a script.
  static let isTerminal = isatty(STDIN_FILENO) == 1
  private static let isShown = isTerminal && Style.canDraw

  private let text: String
  private let isOpen = Mutex(false)

  init(_ name: String) { text = "\(String(printable: name))> " }

  /// Shows the prompt, before a line is read.
  func open() {
    guard Self.isShown else { return }
    isOpen.withLock { isOpen in
      Output.text(text)
      isOpen = true
    }
  }

  /// The line was read.
  ///
  /// - Parameter atEnd: whether the input has ended instead, and the cursor is after the prompt.
  func close(atEnd: Bool) {
    isOpen.withLock { isOpen in
      if isOpen, atEnd { Output.line("") }
      isOpen = false
    }
  }

  /// Ends the line on the screen, which has what was typed; the terminal has dropped it (Control-C). If the prompt was
  /// there, it follows.
  func clear() {
    guard Self.isShown else { return }
    isOpen.withLock { isOpen in Output.text("\n\(isOpen ? text : "")") }
  }

  /// Prints lines above the prompt.
  func above(_ print: () -> Void) {
    isOpen.withLock { isOpen in
      guard isOpen else { return print() }
      // To the first column, and erases the line (ECMA-48, 8.3.41).
      Output.text("\r\u{1B}[K")
      print()
      Output.text(text)
    }
  }
}
