import ToolCore

/// Lines for the person who runs the gateway, on standard error.
enum Log {
  static func line(_ text: String) { ServiceOutput.error("ble-gateway: \(text)") }

  /// For a program that waits until the gateway is connected to the broker.
  static func ready() { ServiceOutput.event("READY") }
}
