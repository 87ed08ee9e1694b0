import BluetoothLE

/// Sends the lines of the stack to the program's own log.
func joinLog(to write: @escaping @Sendable (_ line: String) -> Void) {
  BluetoothLog.setHandler { line in write("bluetooth \(line.level.rawValue): \(line.text)") }
}
