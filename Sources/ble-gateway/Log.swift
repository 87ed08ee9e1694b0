import Foundation

/// Lines for the person who runs the gateway, on standard error.
enum Log {
  static func line(_ text: String) {
    FileHandle.standardError.write(Data("ble-gateway: \(text)\n".utf8))
  }

  /// For a program that waits until the gateway is connected to the broker.
  static func ready() { FileHandle.standardOutput.write(Data("READY\n".utf8)) }
}
