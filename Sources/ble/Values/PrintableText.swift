/// Text of another device, safe for a terminal: control characters, which can move the cursor or hide output, are escaped.
///
/// Line separators, characters that change the direction of the text and invisible ones are escaped, too.
func printable(_ text: String) -> String {
  var safe = ""
  for scalar in text.unicodeScalars {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
      safe += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    default: safe.unicodeScalars.append(scalar)
    }
  }
  return safe
}

/// The UTF-8 text in `octets` where all of it is text of at least one character, without the NULs at its end; else nil.
func text(in octets: some Collection<UInt8>) -> String? {
  var rest = Array(octets)
  while rest.last == 0 { rest.removeLast() }
  guard !rest.isEmpty, let text = String(validating: rest, as: UTF8.self) else { return nil }
  let isText = text.unicodeScalars.allSatisfy { scalar in
    switch scalar.properties.generalCategory {
    case .control, .unassigned, .privateUse, .surrogate: scalar == "\n" || scalar == "\t" || scalar == "\r"
    default: true
    }
  }
  return isText ? text : nil
}
