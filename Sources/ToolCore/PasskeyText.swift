/// A passkey as people write it.
package enum PasskeyText {
  /// Six digits, which spaces may divide; nil for another text. The first one may be 0.
  package static func number(_ text: String) -> UInt32? {
    let digits = text.filter { $0 != " " }
    return digits.utf8.count == 6 && digits.allSatisfy { $0.isASCII && $0.isNumber } ? UInt32(digits) : nil
  }
}
