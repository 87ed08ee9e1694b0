import CoreBluetooth

/// A file that is sent as notifications, from an offset that the receiver writes.
enum TransferService {
  static let service = CBUUID(string: "F11E0001-4B1D-4E0C-9C35-6B2D7A1F0C11")
  /// The length of the file, four octets, the least significant first.
  static let length = CBUUID(string: "F11E0002-4B1D-4E0C-9C35-6B2D7A1F0C11")
  /// The offset to send from, in the same form.
  static let offset = CBUUID(string: "F11E0003-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let content = CBUUID(string: "F11E0004-4B1D-4E0C-9C35-6B2D7A1F0C11")

  static func data(_ number: Int) -> Data { Data([0, 8, 16, 24].map { UInt8(number >> $0 & 0xFF) }) }
  static func number(_ data: Data) -> Int { data.reversed().reduce(0) { $0 << 8 | Int($1) } }
}
