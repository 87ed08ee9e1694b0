/// Octets in the order of transmission.
///
/// A decoded value is a slice of the received buffer, without a copy. It stays valid when that buffer is reused:
/// copy-on-write keeps its octets.
public typealias Bytes = ArraySlice<UInt8>

extension Array where Element == UInt8 {
  /// A copy of the octets of `span`.
  @inlinable public init(copying span: Span<UInt8>) {
    self = span.withUnsafeBufferPointer { unsafe Array($0) }
  }

  /// Reads octets that are written as pairs of hexadecimal digits; spaces are ignored.
  ///
  /// - Returns: nil for any other character, and for an odd number of digits.
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

extension UInt8 {
  /// The value of a hexadecimal digit in ASCII, in either case.
  ///
  /// - Returns: nil for any other octet.
  init?(hexadecimalDigit octet: UInt8) {
    switch octet {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self = octet - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self = octet - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self = octet - UInt8(ascii: "a") + 10
    default: return nil
    }
  }
}

extension Collection where Element == UInt8 {
  /// The octets as pairs of lower-case hexadecimal digits, in the order of transmission.
  public var hexadecimal: String {
    var text = ""
    for octet in self {
      if octet < 0x10 { text.append("0") }
      text += String(octet, radix: 16)
    }
    return text
  }
}

extension Collection {
  /// The octets of the leading elements that fit in `limit` octets, where `width` is the octets of an element.
  package func octets(upTo limit: Int, _ width: (Element) -> Int) -> Int {
    var octets = 0
    for element in self {
      let width = width(element)
      guard width <= limit - octets else { break }
      octets += width
    }
    return octets
  }
}

extension Span<UInt8> {
  /// The number in the two octets at `offset`, least significant octet first; nil if they run past the end.
  @inlinable public func uint16(at offset: Int) -> UInt16? {
    guard offset >= 0, offset <= count - 2 else { return nil }
    return UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
  }
}

extension Array {
  /// Removes all elements, the last one first, and keeps the memory. For a few elements it takes a fraction of the time
  /// of `removeAll(keepingCapacity:)`, which replaces a range.
  @inlinable package mutating func removeFew() {
    while !isEmpty { removeLast() }
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

  /// Overwrites the octets from `offset` with those of `span`. Octets past the end are dropped.
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
