/// The UTF-8 text in `octets`, without the NULs at its end, if all of it is text of at least one character; otherwise
/// nil.
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
