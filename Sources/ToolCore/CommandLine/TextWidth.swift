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
  fileprivate var columns: Int { isASCII ? 1 : unicodeScalars.reduce(0) { $0 + $1.columns } }
}
