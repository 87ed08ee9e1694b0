public import BLEWire

/// One AD structure: a type and its data (Vol 3, Part C, 11).
public struct ADStructure: Equatable, Sendable {
  /// The type.
  public var type: ADType
  /// The data, at most ``maximumDataLength`` octets.
  public var data: Bytes

  /// The longest data in octets: the length octet, at most 255, also counts the type.
  public static let maximumDataLength = 254

  /// A structure of the given type.
  @inlinable public init(type: ADType, data: Bytes) {
    self.type = type
    self.data = data
  }

  /// Appends length, type and data. Data is cut after ``maximumDataLength`` octets.
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
/// Iteration does not allocate and does not fail. It stops at the end of the octets, at a length of zero, which starts
/// the padding, and at a length that runs past the end; ``unread`` is not empty in the last case.
///
/// ```swift
/// for structure in ADStructures([0x02, 0x01, 0x06, 0x03, 0x03, 0x0D, 0x18]) {
///   print(structure.type, structure.data.count)  // Flags (0x01) 1, then the list of 16-bit UUIDs with 2
/// }
/// ```
public struct ADStructures: Sequence, Sendable {
  /// The octets of all structures.
  public let octets: Bytes

  /// The structures in `octets`.
  @inlinable public init(_ octets: Bytes) { self.octets = octets }

  /// An iterator at the first structure.
  @inlinable public func makeIterator() -> Iterator { Iterator(octets) }

  /// The octets from the first structure whose length runs past the end; empty for well-formed octets.
  public var unread: Bytes {
    var iterator = makeIterator()
    while iterator.next() != nil {}
    return iterator.unread
  }

  /// Whether no length runs past the end.
  public var isWellFormed: Bool { unread.isEmpty }

  /// The structures, decoded by their types, in order.
  public var elements: [ADElement] { map(ADElement.init) }

  /// Iterates over the structures in order.
  public struct Iterator: IteratorProtocol, Sendable {
    @usableFromInline let octets: Bytes
    @usableFromInline var position: Int

    @inlinable init(_ octets: Bytes) {
      self.octets = octets
      position = octets.startIndex
    }

    /// The next structure; nil at the end.
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

    /// The octets from the first structure whose length runs past the end. It is valid after ``next()`` has returned
    /// nil.
    @inlinable public var unread: Bytes {
      guard position < octets.endIndex, octets[position] != 0 else { return [] }
      return octets[position...]
    }
  }
}
