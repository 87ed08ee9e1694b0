import CoreBluetooth

/// The services and PDUs of the bearer PB-GATT (Mesh Protocol 1.1, sections 5.4, 6.6 and 7.1).
enum Mesh {
  static let provisioningService = CBUUID(string: "1827")
  static let dataIn = CBUUID(string: "2ADB")
  static let dataOut = CBUUID(string: "2ADC")

  /// The types of provisioning PDUs, their first octet.
  static let invite: UInt8 = 0x00
  static let capabilities: UInt8 = 0x01
  static let start: UInt8 = 0x02
  static let publicKey: UInt8 = 0x03
  static let confirmation: UInt8 = 0x05
  static let random: UInt8 = 0x06
  static let data: UInt8 = 0x07
  static let complete: UInt8 = 0x08
  static let recordRequest: UInt8 = 0x0A
  static let recordResponse: UInt8 = 0x0B
}

/// Segments of Proxy PDUs: the first octet has the kind of the segment in two bits, and the type of the message in six.
enum ProxyPDU {
  private static let provisioningType: UInt8 = 0x03
  private enum Segment: UInt8 { case complete, first, continuation, last }

  static func segments(of message: Data, length: Int) -> [Data] {
    let room = length - 1
    let starts = Array(stride(from: 0, to: message.count, by: room))
    return starts.map { start in
      let kind: Segment
      switch (start == 0, start == starts.last) {
      case (true, true): kind = .complete
      case (true, false): kind = .first
      case (false, true): kind = .last
      case (false, false): kind = .continuation
      }
      return Data([kind.rawValue << 6 | provisioningType])
        + message.subdata(in: start..<min(start + room, message.count))
    }
  }

  /// Puts the segments of one direction together.
  struct Reassembler {
    private var message = Data()

    /// The message, with its last segment. A segment out of order drops what came before.
    mutating func receive(_ segment: Data) -> Data? {
      guard let first = segment.first, first & 0x3F == provisioningType, let kind = Segment(rawValue: first >> 6) else {
        return nil
      }
      let isFirst = kind == .complete || kind == .first
      guard isFirst == message.isEmpty else {
        print("segment \(kind) out of order")
        message = Data()
        return nil
      }
      message += segment.dropFirst()
      guard kind == .complete || kind == .last else { return nil }
      defer { message = Data() }
      return message
    }
  }
}

extension Data {
  var hex: String { map { String(format: "%02x", $0) }.joined() }

  /// The number of two octets at a place, the most significant one first, as mesh has them.
  func number(at index: Int) -> Int { Int(self[startIndex + index]) << 8 | Int(self[startIndex + index + 1]) }

  init(number: Int) { self.init([UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]) }
}
