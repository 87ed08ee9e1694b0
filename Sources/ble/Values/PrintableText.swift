import BLEWire

/// The text in `octets` without padding, if all of it is text of at least one character and nothing but NULs follows;
/// otherwise nil. For values that may be text or anything else.
func text(in octets: Bytes) -> String? {
  let found = DeviceText(octets)
  let isPadding = octets.dropFirst(DeviceText.untilNUL(octets).count).allSatisfy { $0 == 0 }
  guard !found.isEmpty, isPadding, let text = found.valid else { return nil }
  let isText = text.unicodeScalars.allSatisfy { scalar in
    switch scalar.properties.generalCategory {
    case .control, .unassigned, .privateUse, .surrogate: scalar == "\n" || scalar == "\t" || scalar == "\r"
    default: true
    }
  }
  return isText ? text : nil
}
