/// A view of octets in the order they travel.
///
/// Holding on to it is safe: copy-on-write keeps it intact when the buffer it came from is reused.
public typealias Bytes = ArraySlice<UInt8>

extension Array where Element == UInt8 {
  /// The octets of `span`, copied.
  @inlinable public init(copying span: Span<UInt8>) {
    self.init(capacity: span.count) { output in
      for index in span.indices { output.append(span[index]) }
    }
  }

  /// Octets written as hexadecimal digits, two an octet; spaces are passed over.
  ///
  /// - Returns: nil when a character is no hexadecimal digit or a digit has no partner.
  ///
  /// ```swift
  /// let pdu = [UInt8](hexadecimal: "0a 03 00")  // [0x0A, 0x03, 0x00]
  /// ```
  public init?(hexadecimal text: String) {
    self = []
    var high: UInt8?
    for character in text where character != " " {
      guard let digit = character.hexDigitValue.map(UInt8.init) else { return nil }
      if let first = high {
        append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    guard high == nil else { return nil }
  }
}

extension Collection where Element == UInt8 {
  /// The octets as lower-case hexadecimal digits, two an octet, in the order they travel.
  public var hexadecimal: String {
    var text = ""
    for octet in self {
      if octet < 0x10 { text.append("0") }
      text += String(octet, radix: 16)
    }
    return text
  }
}

extension Span<UInt8> {
  /// The little-endian number in the two octets at `offset`, or nil where they run past the end.
  @inlinable public func uint16(at offset: Int) -> UInt16? {
    guard offset >= 0, offset <= count - 2 else { return nil }
    return UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
  }
}

extension Array where Element == UInt8 {
  /// Appends `value`, least significant octet first.
  @inlinable public mutating func append<T: FixedWidthInteger>(littleEndian value: T) {
    for shift in stride(from: 0, to: T.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: value &>> T(truncatingIfNeeded: shift)))
    }
  }

  /// Appends the octets of `span`.
  @inlinable public mutating func append(copying span: Span<UInt8>) {
    span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }

  /// Writes the octets of `span` over those from `offset` on; what would lie past the end is left out.
  @inlinable public mutating func overwrite(at offset: Int, copying span: Span<UInt8>) {
    guard offset >= 0, offset <= count else { return }
    let source = span.extracting(0..<Swift.min(span.count, count - offset))
    withUnsafeMutableBytes { target in
      source.withUnsafeBytes { octets in
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: octets)
      }
    }
  }
}
