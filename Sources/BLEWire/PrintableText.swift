extension String {
  /// Text of another device in a form that is safe to print.
  ///
  /// Control characters (C0, DEL, C1), which can move the cursor of a terminal, hide output or set its title, become
  /// escapes such as `\\u{1B}`; so do line separators, characters that change the direction of the text, invisible
  /// ones, and those without an assigned meaning. A backslash stays a backslash: the result is for people and is not
  /// parsed again.
  ///
  /// ```swift
  /// print(String(printable: "\u{1B}[2JLamp"))  // \u{1B}[2JLamp, as text
  /// ```
  public init(printable text: some StringProtocol) {
    self.init()
    for scalar in text.unicodeScalars {
      if Self.isPrintable(scalar) {
        unicodeScalars.append(scalar)
      } else {
        self += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      }
    }
  }

  /// Whether ``init(printable:)`` leaves a character as it is.
  public static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    default: true
    }
  }
}
