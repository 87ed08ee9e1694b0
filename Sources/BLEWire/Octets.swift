/// Octets in the order of transmission.
///
/// It is a slice of the buffer that it was decoded from, without a copy. It stays valid when that buffer is reused:
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

extension Span<UInt8> {
  /// The number in the two octets at `offset`, least significant octet first; nil where they run past the end.
  @inlinable public func uint16(at offset: Int) -> UInt16? {
    guard offset >= 0, offset <= count - 2 else { return nil }
    return UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
  }
}

extension Array {
  /// Removes all elements, the last one first, and keeps the memory. For a few elements it takes a fraction of the time of
  /// `removeAll(keepingCapacity:)`, which replaces a range.
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

  /// Appends the octets of `header`, then those of `body`. Short ones are put together on the stack: two appends cost more than a copy
  /// and one append.
  @inlinable package mutating func append(copying header: Span<UInt8>, _ body: Span<UInt8>) {
    let (first, count) = (header.count, header.count + body.count)
    guard count <= 512 else {
      append(copying: header)
      return append(copying: body)
    }
    unsafe withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { memory in
      header.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<first]).copyMemory(from: $0) }
      body.withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[first..<count]).copyMemory(from: $0)
      }
      unsafe append(contentsOf: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }
  }

  /// Overwrites the octets from `offset` with those of `span`. Octets that would lie past the end are dropped.
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

/// Packets one after the other in one reused block of memory: the output of a protocol machine, without an allocation
/// for each packet.
///
/// ```swift
/// var out = PacketBuffer()
/// out.append { $0 += [0x0B, 0x64] }
/// out.forEach { packet in print(packet.count) }
/// out.removeAll()
/// ```
public struct PacketBuffer: Sendable {
  /// The octets of all packets, behind those of ``start`` that were removed.
  @usableFromInline var storage: [UInt8] = []
  @usableFromInline var start = 0
  /// The end of each packet; entries from ``used`` on are of packets that were removed.
  @usableFromInline var ends: [Int] = []
  @usableFromInline var used = 0

  /// Removed octets that stay before the others. To empty an array costs more than to begin behind what it has.
  @usableFromInline static var removedLimit: Int { 1024 }

  /// A buffer without packets.
  @inlinable public init() {}

  /// The octets of all packets, one after the other.
  @inlinable public var octets: Bytes { storage[start...] }
  /// The number of packets.
  @inlinable public var count: Int { used }
  /// Whether there is no packet.
  @inlinable public var isEmpty: Bool { used == 0 }

  /// Appends one packet: the octets that `write` appends.
  @inlinable public mutating func append(_ write: (inout [UInt8]) -> Void) {
    write(&storage)
    end()
  }

  /// Appends one packet, unless `write` returns false: then the octets that it appended are removed.
  ///
  /// - Returns: the result of `write`.
  @discardableResult
  @inlinable public mutating func appendIf(_ write: (inout [UInt8]) -> Bool) -> Bool {
    let start = storage.count
    guard write(&storage) else {
      storage.removeSubrange(start...)
      return false
    }
    end()
    return true
  }

  @inlinable mutating func end() {
    if used < ends.count { ends[used] = storage.count } else { ends.append(storage.count) }
    used += 1
  }

  /// The place of packet `index` in ``octets``, counted from its first octet. `index` must be less than ``count``.
  @inlinable public func range(_ index: Int) -> Range<Int> {
    precondition(index < used, "the index of a packet must be less than the count")
    return (index == 0 ? 0 : ends[index - 1] - start)..<ends[index] - start
  }

  /// The octets of packet `index`, which must be less than ``count``.
  @inlinable public subscript(index: Int) -> Bytes {
    let range = range(index)
    return storage[start + range.lowerBound..<start + range.upperBound]
  }

  /// Calls `body` with each packet in order, without a copy.
  @inlinable public func forEach<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
    let span = storage.span.extracting(start...)
    for index in 0..<used { try body(span.extracting(range(index))) }
  }

  /// Removes all packets and keeps the memory.
  @inlinable public mutating func removeAll() {
    guard used > 0 else { return }
    used = 0
    start = storage.count
    guard start > Self.removedLimit else { return }
    storage.removeAll(keepingCapacity: true)
    start = 0
  }
}
