import BLEWire

extension String {
  /// JSON whose strings have no characters that a terminal interprets: the encoder escapes C0 controls only.
  public var printableJSON: String {
    // Of the printable characters of ASCII, which most lines have alone, the encoder has escaped what has to be.
    if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
    var safe = ""
    for scalar in unicodeScalars {
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
