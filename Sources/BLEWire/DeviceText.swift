/// The text in octets that a device has sent as text: a name in an advertisement (Core Specification Supplement, Part
/// A, 1.2), the Device Name (0x2A00), a string of Device Information, a Characteristic User Description (0x2901).
///
/// It is UTF-8 of the length of the value. Many devices fill a field of fixed length instead: with NULs, with spaces,
/// or with 0xFF, the content of erased flash memory. None of it is part of the text, as for BlueZ, Windows and programs
/// on Apple's systems: the text ends before the first NUL, whatever follows, and has no white space and no 0xFF at its
/// end. The octets stay available where they were received.
///
/// ```swift
/// let name = DeviceText([0x50, 0x61, 0x64, 0x00, 0x00])
/// print(name.valid ?? "-", name.repaired)  // Pad Pad
/// ```
public struct DeviceText: Hashable, Sendable {
  /// The octets of the text, without the padding.
  public let octets: Bytes

  /// The text in the octets of a field, such as they were received.
  public init(_ received: Bytes) {
    var text = Self.untilNUL(received)
    while let last = text.last, last == 0xFF || Self.isWhiteSpace(last) { text.removeLast() }
    octets = text
  }

  /// Whether there is no text: the field was empty, or held only padding.
  public var isEmpty: Bool { octets.isEmpty }

  /// The text; nil if the octets are not valid UTF-8.
  public var valid: String? { String(validating: octets, as: UTF8.self) }

  /// The text, with U+FFFD instead of octets that are not valid UTF-8.
  public var repaired: String { String(decoding: octets, as: UTF8.self) }

  /// The octets before the first NUL: a value that a program in C has sent with its terminator, or with the rest of its
  /// buffer.
  public static func untilNUL(_ octets: Bytes) -> Bytes { octets.prefix { $0 != 0 } }

  /// Space, and the controls from HT to CR.
  private static func isWhiteSpace(_ octet: UInt8) -> Bool { octet == 0x20 || (0x09...0x0D).contains(octet) }
}
