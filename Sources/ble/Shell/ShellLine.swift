import ToolCore

/// A line of `ble shell`: words that spaces separate, in quotation marks where they have spaces. Everything after a
/// word that begins with `#` is a comment.
enum ShellLine {
  /// The words; empty for an empty line and for a comment.
  ///
  /// - Throws: ``ToolError`` with status 64 (EX_USAGE) for a quotation mark without another one, and a line that is too
  ///   long.
  static func words(_ line: String) throws(ToolError) -> [String] {
    guard line.utf8.count <= StandardInput.lineLimit else {
      throw ToolError(description: "a line has at most \(StandardInput.lineLimit) octets", status: 64)
    }
    var words: [String] = []
    // Nil between two words: two quotation marks are an empty one.
    var word: String?
    var quotation: Character?
    for character in line {
      if let mark = quotation {
        if character == mark { quotation = nil } else { word?.append(character) }
      } else if character == "'" || character == "\"" {
        quotation = character
        word = word ?? ""
      } else if character == " " || character == "\t" {
        if let found = word { words.append(found) }
        word = nil
      } else if character == "#", word == nil {
        return words
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let quotation {
      throw ToolError(description: "a quotation mark \(quotation) has no second one", status: 64)
    }
    return words + (word.map { [$0] } ?? [])
  }
}
