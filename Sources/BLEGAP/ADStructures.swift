public import BLEWire

/// One AD structure: a type and its data (Vol 3, Part C, 11).
public struct ADStructure: Equatable, Sendable {
  public var type: ADType
  /// At most 254 octets; the length octet on the air counts the type as well.
  public var data: Bytes

  public static let maximumDataLength = 254

  @inlinable public init(type: ADType, data: Bytes) {
    self.type = type
    self.data = data
  }

  /// Appends length, type and data; data above 254 octets is cut there.
  public func encode(to buffer: inout [UInt8]) {
    let kept = data.prefix(Self.maximumDataLength)
    buffer.append(UInt8(kept.count + 1))
    buffer.append(type.rawValue)
    buffer.append(contentsOf: kept)
  }
}

/// The AD structures of advertising data, scan response data or an extended inquiry response, in order
/// (Vol 3, Part C, 11).
///
/// Reading allocates nothing and never fails: it ends where the octets end, where a length of zero begins the padding, or
/// where a length runs past the end; ``unread`` tells the last apart.
///
/// ```swift
/// for structure in ADStructures([0x02, 0x01, 0x06, 0x03, 0x03, 0x0D, 0x18]) {
///   print(structure.type, structure.data.count)  // Flags 1, then the list of 16-bit UUIDs with 2
/// }
/// ```
public struct ADStructures: Sequence, Sendable {
  public let octets: Bytes

  @inlinable public init(_ octets: Bytes) { self.octets = octets }

  @inlinable public func makeIterator() -> Iterator { Iterator(octets) }

  /// The octets from the structure on whose length runs past the end; empty when all is well formed.
  public var unread: Bytes {
    var iterator = makeIterator()
    while iterator.next() != nil {}
    return iterator.unread
  }

  /// Whether no length runs past the end.
  public var isWellFormed: Bool { unread.isEmpty }

  /// The structures as typed elements, in order.
  public var elements: [ADElement] { map(ADElement.init) }

  public struct Iterator: IteratorProtocol, Sendable {
    @usableFromInline let octets: Bytes
    @usableFromInline var position: Int

    @inlinable init(_ octets: Bytes) {
      self.octets = octets
      position = octets.startIndex
    }

    @inlinable public mutating func next() -> ADStructure? {
      let end = octets.endIndex
      guard position < end else { return nil }
      let length = Int(octets[position])
      guard length > 0, length < end - position else { return nil }
      let data = octets[(position + 2)..<(position + 1 + length)]
      let type = ADType(rawValue: octets[position + 1])
      position += 1 + length
      return ADStructure(type: type, data: data)
    }

    /// Once ``next()`` has returned nil: the octets whose length runs past the end.
    @inlinable public var unread: Bytes {
      guard position < octets.endIndex, octets[position] != 0 else { return [] }
      return octets[position...]
    }
  }
}
