package import BLECrypto

/// The pre-shared key of a server and its clients: 32 octets, which people copy as 44 characters of Base64. Its
/// descriptions do not show it.
package struct NoiseKey: Sendable {
  let octets: UInt256

  package init(_ octets: UInt256) { self.octets = octets }

  /// Reads a key as ESPHome's configuration and Home Assistant have it. White space around it is ignored.
  ///
  /// - Returns: nil for anything but 43 characters of Base64 (RFC 4648, 4) and a `=`.
  package init?(base64 text: some StringProtocol) {
    var characters = Array(text.utf8)[...]
    while let first = characters.first, Self.isWhiteSpace(first) { characters.removeFirst() }
    while let last = characters.last, Self.isWhiteSpace(last) { characters.removeLast() }
    guard characters.count == 44,
      characters.firstIndex(of: UInt8(ascii: "=")) == characters.index(before: characters.endIndex),
      let read = LibCrypto.decodedBase64(Array(characters)), read.last == 0,
      let octets = UInt256(bigEndian: read.dropLast())
    else { return nil }
    self.octets = octets
  }

  private static func isWhiteSpace(_ octet: UInt8) -> Bool { octet == 0x20 || (0x09...0x0D).contains(octet) }
}

extension NoiseKey: Equatable {
  /// Compares all bits of both keys, also after a difference.
  package static func == (a: Self, b: Self) -> Bool {
    let difference = (a.octets.high ^ b.octets.high) | (a.octets.low ^ b.octets.low)
    return UInt64(truncatingIfNeeded: difference >> 64) | UInt64(truncatingIfNeeded: difference) == 0
  }
}

extension NoiseKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// `(secret)`.
  package var description: String { "(secret)" }
  /// `(secret)`.
  package var debugDescription: String { description }
  /// A mirror without children.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
