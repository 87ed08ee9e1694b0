import CLinux
import Glibc

/// The width of text on a terminal, in columns: two for a wide character, none for a combining one (wcwidth(3)).
extension String {
  package var columns: Int { reduce(0) { $0 + $1.columns } }

  /// The text with spaces after it, at least `width` columns.
  package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - columns)) }

  /// The text with spaces before it, at least `width` columns.
  package func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - columns)) + self }

  /// The text in at most `width` columns; the last character of a shortened text is an ellipsis.
  package func shortened(to width: Int) -> String {
    guard columns > width else { return self }
    guard width > 0 else { return "" }
    return prefix(columns: width - 1) + "…"
  }

  /// The parts of the text that fit into `width` columns; all but the first are `indent` columns narrower.
  ///
  /// The text is divided at a space in the second half of a line, otherwise in the middle of a word. The space is left
  /// out.
  ///
  /// - Parameter width: more than `indent`.
  package func wrapped(to width: Int, indent: Int = 0) -> [String] {
    var lines: [String] = []
    var rest = self[...]
    while !rest.isEmpty {
      let room = lines.isEmpty ? width : width - indent
      // A character that is wider than the line goes into a line of its own.
      let end = Swift.max(rest.prefix(columns: room).endIndex, rest.index(after: rest.startIndex))
      guard end < rest.endIndex else {
        lines.append(String(rest))
        break
      }
      let space = rest[..<end].lastIndex(of: " ").flatMap { String(rest[..<$0]).columns > room / 2 ? $0 : nil }
      lines.append(String(rest[..<(space ?? end)]))
      rest = rest[(space.map { rest.index(after: $0) } ?? end)...]
    }
    return lines
  }
}

extension StringProtocol {
  /// The longest beginning that takes at most `width` columns.
  fileprivate func prefix(columns width: Int) -> SubSequence {
    var (end, used) = (startIndex, 0)
    while end < endIndex {
      used += self[end].columns
      if used > width { break }
      end = index(after: end)
    }
    return self[..<end]
  }
}

extension Character {
  /// A base character and those that combine with it.
  fileprivate var columns: Int { isASCII ? 1 : unicodeScalars.reduce(0) { $0 + Self.columns(of: $1) } }

  /// The C library's table is that of its locale, which is C until a program chooses another one.
  private static let knowsUnicode = unsafe setlocale(LC_CTYPE, "C.UTF-8") != nil

  private static func columns(of scalar: Unicode.Scalar) -> Int {
    guard knowsUnicode else { return 1 }
    // `wchar_t` is signed on amd64 and unsigned on arm64; each has room for a scalar.
    let columns = Int(wcwidth(wchar_t(scalar.value)))
    // A control character, or one that the C library does not know yet.
    return columns < 0 ? 1 : columns
  }
}
