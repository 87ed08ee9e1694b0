/// Packets one behind the other in one reused block of memory: what a machine sends, without an allocation a packet.
///
/// ```swift
/// var out = PacketBuffer()
/// out.append { $0 += [0x0B, 0x64] }
/// out.forEach { packet in print(packet.count) }
/// out.removeAll()
/// ```
public struct PacketBuffer: Sendable {
  @usableFromInline var storage: [UInt8] = []
  @usableFromInline var ends: [Int] = []

  @inlinable public init() {}

  /// The octets of all packets, one behind the other.
  @inlinable public var octets: [UInt8] { storage }
  @inlinable public var count: Int { ends.count }
  @inlinable public var isEmpty: Bool { ends.isEmpty }

  /// Appends one packet: whatever `write` appends to the octets.
  @inlinable public mutating func append(_ write: (inout [UInt8]) -> Void) {
    write(&storage)
    ends.append(storage.count)
  }

  /// Appends one packet, or none where `write` returns false; what it wrote is taken back then.
  @discardableResult
  @inlinable public mutating func appendIf(_ write: (inout [UInt8]) -> Bool) -> Bool {
    let start = storage.count
    guard write(&storage) else {
      storage.removeSubrange(start...)
      return false
    }
    ends.append(storage.count)
    return true
  }

  /// Where packet `index` lies in ``octets``.
  @inlinable public func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  @inlinable public subscript(index: Int) -> Bytes { storage[range(index)] }

  /// Hands out every packet in order, without copying it.
  @inlinable public func forEach<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
    let span = storage.span
    for index in ends.indices { try body(span.extracting(range(index))) }
  }

  /// Forgets the packets and keeps the memory.
  @inlinable public mutating func removeAll() {
    storage.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }
}
