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
  /// The octets of all packets.
  @usableFromInline var queue = OctetQueue()
  /// The end of each packet but the last one in the memory of ``queue``; the entries behind these belong to removed
  /// packets.
  @usableFromInline var ends: [Int] = []
  @usableFromInline var used = 0

  /// A buffer without packets.
  @inlinable public init() {}

  /// The octets of all packets, one after the other.
  @inlinable public var octets: Bytes { queue.memory[queue.start..<queue.end] }
  /// The number of packets.
  @inlinable public var count: Int { used }
  /// Whether there is no packet.
  @inlinable public var isEmpty: Bool { used == 0 }

  /// Appends one packet: the octets that `write` appends.
  @inlinable public mutating func append(_ write: (inout [UInt8]) -> Void) {
    queue.prepareMemory()
    let start = queue.end
    write(&queue.memory)
    queue.end = queue.memory.count
    endPacket(from: start)
  }

  /// Appends one packet, unless `write` returns false: then the octets that it appended are removed.
  ///
  /// - Returns: the result of `write`.
  @discardableResult
  @inlinable public mutating func appendIf(_ write: (inout [UInt8]) -> Bool) -> Bool {
    queue.prepareMemory()
    let start = queue.end
    guard write(&queue.memory) else {
      queue.memory.removeSubrange(start...)
      return false
    }
    queue.end = queue.memory.count
    endPacket(from: start)
    return true
  }

  /// Appends one packet: the octets of `header`, then those of `body`. It takes fewer instructions than appending them
  /// to an array.
  @inline(__always)
  @inlinable package mutating func append(_ header: Span<UInt8>, _ body: Span<UInt8>) {
    let start = queue.end
    queue.append(header, body)
    endPacket(from: start)
  }

  @inline(__always)
  @inlinable mutating func endPacket(from start: Int) {
    if used > 0 { noteEnd(start) }
    used += 1
  }

  /// Notes the end of the last packet, which is the start of another one.
  @inlinable mutating func noteEnd(_ end: Int) {
    if used <= ends.count { ends[used - 1] = end } else { ends.append(end) }
  }

  /// The place of packet `index` in the memory of the queue.
  @inlinable func place(_ index: Int) -> Range<Int> {
    precondition(index < used, "the index of a packet must be less than the count")
    return (index == 0 ? queue.start : ends[index - 1])..<(index == used - 1 ? queue.end : ends[index])
  }

  /// The place of packet `index` in ``octets``, counted from its first octet. `index` must be less than ``count``.
  @inlinable public func range(_ index: Int) -> Range<Int> {
    let place = place(index)
    return place.lowerBound - queue.start..<place.upperBound - queue.start
  }

  /// The octets of packet `index`, which must be less than ``count``.
  @inlinable public subscript(index: Int) -> Bytes { queue.memory[place(index)] }

  /// Calls `body` with each packet in order, without a copy.
  @inlinable public func forEach<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
    let span = queue.memory.span
    for index in 0..<used { try body(span.extracting(place(index))) }
  }

  /// Calls `body` with the octets of all packets, without a copy.
  @inlinable package func withOctets<Result, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> Result
  ) throws(E) -> Result {
    try body(queue.memory.span.extracting(queue.start..<queue.end))
  }

  /// Removes all packets and keeps the memory.
  @inlinable public mutating func removeAll() {
    queue.removeAll()
    used = 0
  }
}
