import BLEWire
import ESPHomeAPI

/// A client without encryption: octets of messages, and messages of octets.
struct PlainClient {
  private var octets: [UInt8] = []

  static func frame(_ message: some APIMessage) -> [UInt8] {
    let payload = message.encoded
    return [0] + number(payload.count) + number(Int(type(of: message).type)) + payload
  }

  private static func number(_ value: Int) -> [UInt8] {
    value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F | 0x80)] + number(value >> 7)
  }

  static var hello: [UInt8] {
    var hello = HelloRequest()
    (hello.clientInfo, hello.apiVersionMajor, hello.apiVersionMinor) = ("test", 1, 12)
    return frame(hello)
  }

  /// The messages that are complete.
  mutating func receive(_ received: some Sequence<UInt8>) -> [(type: UInt16, octets: [UInt8])] {
    octets += received
    var messages: [(UInt16, [UInt8])] = []
    while true {
      var rest = octets[...]
      guard rest.popFirst() == 0, let length = Self.number(&rest), let type = Self.number(&rest), rest.count >= length
      else { return messages }
      messages.append((UInt16(type), Array(rest.prefix(length))))
      octets = Array(rest.dropFirst(length))
    }
  }

  private static func number(_ octets: inout ArraySlice<UInt8>) -> Int? {
    var (value, shift) = (0, 0)
    while let octet = octets.popFirst() {
      value |= Int(octet & 0x7F) << shift
      if octet < 0x80 { return value }
      shift += 7
    }
    return nil
  }
}
