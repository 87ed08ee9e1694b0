import Synchronization

/// The second screen of a terminal, for output that is drawn again and again: the lines of the first one are restored
/// when it ends.
///
/// A terminal breaks the lines of its first screen again when its window becomes narrower, each in its own way, so a
/// program cannot know how many lines above the cursor an earlier output began.
enum Screen {
  private static let isShown = Mutex(false)

  /// Draws lines over those before. None is wider than the window, and there are no more than it has.
  static func show(_ lines: [String]) {
    let isFirst = isShown.withLock { isShown in
      defer { isShown = true }
      return !isShown
    }
    // The second screen (xterm's private mode 1049) without line wrapping (7) and cursor (25); then from its first line
    // (ECMA-48, 8.3.21). Each line (8.3.41), with the last one the rest of the screen (8.3.39), is erased before its
    // text: after a text that fills the line, the last column would be erased with the rest.
    let head = isFirst ? "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?25l" : ""
    let texts = lines.dropLast().map { "\u{1B}[K" + $0 } + ["\u{1B}[J" + (lines.last ?? "")]
    Output.text(head + "\u{1B}[H" + texts.joined(separator: "\r\n"))
  }

  /// Returns to the first screen, if the second one is shown. Call it before the process ends.
  static func leave() {
    let isShown = isShown.withLock { isShown in
      defer { isShown = false }
      return isShown
    }
    if isShown { Output.text("\u{1B}[?25h\u{1B}[?7h\u{1B}[?1049l") }
  }
}
