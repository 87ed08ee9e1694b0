import BluetoothLE

/// A line of standard input; nil at its end. `readLine` would hold the lock of `stdin`, for which the end of a program
/// waits with the C library 2.43.
func nextLine() -> String? {
  var line: [UInt8] = []
  var octet: UInt8 = 0
  while read(0, &octet, 1) == 1 {
    if octet == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
    line.append(octet)
  }
  return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
}
