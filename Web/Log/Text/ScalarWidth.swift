import CLibrary

extension Unicode.Scalar {
  /// The width on a terminal, in columns.
  var columns: Int {
    let columns = Int(wcwidth(Int32(bitPattern: value)))
    // A control character, or one that the C library does not know yet.
    return columns < 0 ? 1 : columns
  }
}
