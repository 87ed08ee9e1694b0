package import BLECrypto

/// The pre-shared key of a server and its clients: 32 octets, which people copy as 44 characters of Base64.
package struct NoiseKey: Hashable, Sendable {
  let octets: UInt256

  package init(_ octets: UInt256) { self.octets = octets }

  /// Reads a key as ESPHome's configuration and Home Assistant have it. White space around it is ignored.
  ///
  /// - Returns: nil for anything but 43 characters of Base64 (RFC 4648, 4) and a `=`.
  package init?(base64 text: some StringProtocol) {
    var characters = Array(text.utf8)[...]
    while let first = characters.first, Self.isWhiteSpace(first) { characters.removeFirst() }
    while let last = characters.last, Self.isWhiteSpace(last) { characters.removeLast() }
    guard characters.count == 44, characters.popLast() == UInt8(ascii: "=") else { return nil }
    var read: [UInt8] = []
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for character in characters {
      guard let digit = Self.digit(character) else { return nil }
      bits = bits << 6 & 0xFFFF | UInt32(digit)
      count += 6
      if count >= 8 {
        count -= 8
        read.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    // 43 characters have 258 bits, of which the last two are zero.
    guard bits & 0b11 == 0, let octets = UInt256(bigEndian: read) else { return nil }
    self.octets = octets
  }

  /// A random key.
  package static func random(from source: inout RandomSource) -> Self {
    Self(UInt256(high: source.uint128(), low: source.uint128()))
  }

  /// The 44 characters that ``init(base64:)`` reads.
  package var base64: String {
    var text = ""
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for octet in octets.bigEndianOctets + [0] {
      bits = bits << 8 & 0xFFFF | UInt32(octet)
      count += 8
      while count >= 6, text.utf8.count < 43 {
        count -= 6
        text.unicodeScalars.append(Self.character(UInt8(truncatingIfNeeded: bits >> count & 0x3F)))
      }
    }
    return text + "="
  }

  private static func isWhiteSpace(_ octet: UInt8) -> Bool { octet == 0x20 || (0x09...0x0D).contains(octet) }

  private static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }

  private static func character(_ digit: UInt8) -> Unicode.Scalar {
    switch digit {
    case 0..<26: Unicode.Scalar(UInt8(ascii: "A") + digit)
    case 26..<52: Unicode.Scalar(UInt8(ascii: "a") + digit - 26)
    case 52..<62: Unicode.Scalar(UInt8(ascii: "0") + digit - 52)
    case 62: "+"
    default: "/"
    }
  }
}

extension NoiseKey: CustomStringConvertible {
  /// The name of the type, without the octets: descriptions are written to logs.
  package var description: String { "NoiseKey" }
}
