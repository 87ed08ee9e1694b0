import Glibc

/// Lines for the person who runs the gateway, on standard error.
enum Log {
  static func line(_ text: String) {
    write("ble-gateway: \(text)\n", to: STDERR_FILENO)
  }

  /// For a program that waits until the gateway is connected to the broker.
  static func ready() { write("READY\n", to: STDOUT_FILENO) }

  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno != EINTR { return }
      rest = rest.dropFirst(max(0, count))
    }
  }
}
