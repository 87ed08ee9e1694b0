import CLinux
import Glibc

extension Unicode.Scalar {
  /// The C library's table is that of its locale, which is C until a program chooses another one.
  private static let knowsUnicode = unsafe setlocale(LC_CTYPE, "C.UTF-8") != nil

  /// The width on a terminal, in columns.
  var columns: Int {
    guard Self.knowsUnicode else { return 1 }
    // `wchar_t` is signed on amd64 and unsigned on arm64; each has room for a scalar.
    let columns = Int(wcwidth(wchar_t(value)))
    // A control character, or one that the C library does not know yet.
    return columns < 0 ? 1 : columns
  }
}
