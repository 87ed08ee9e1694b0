import CoreBluetooth

/// The UART service of Nordic Semiconductor, which serial bridges have.
enum NordicUART {
  static let service = CBUUID(string: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E")
  /// To the bridge.
  static let receive = CBUUID(string: "6E400002-B5A3-F393-E0A9-E50E24DCCA9E")
  /// From the bridge.
  static let transmit = CBUUID(string: "6E400003-B5A3-F393-E0A9-E50E24DCCA9E")

  static let hello = Data("hello\r\n".utf8)
  static let ready = Data("ready\r\n".utf8)
  /// What the bridge sends to each terminal first.
  static let banner = Data((0..<200).map { "boot \($0)\r\n" }.joined().utf8)
}
