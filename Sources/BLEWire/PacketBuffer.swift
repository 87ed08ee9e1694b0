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
  /// Where each packet ends; past ``used``, what earlier rounds left behind.
  @usableFromInline var ends: [Int] = []
  @usableFromInline var used = 0

  @inlinable public init() {}

  /// The octets of all packets, one behind the other.
  @inlinable public var octets: [UInt8] { storage }
  @inlinable public var count: Int { used }
  @inlinable public var isEmpty: Bool { used == 0 }

  /// Appends one packet: whatever `write` appends to the octets.
  @inlinable public mutating func append(_ write: (inout [UInt8]) -> Void) {
    write(&storage)
    end()
  }

  /// Appends one packet, or none where `write` returns false; what it wrote is taken back then.
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

  /// Where packet `index` lies in ``octets``.
  @inlinable public func range(_ index: Int) -> Range<Int> {
    precondition(index < used, "the caller counts the packets before it asks for one")
    return (index == 0 ? 0 : ends[index - 1])..<ends[index]
  }

  @inlinable public subscript(index: Int) -> Bytes { storage[range(index)] }

  /// Hands out every packet in order, without copying it.
  @inlinable public func forEach<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
    let span = storage.span
    for index in 0..<used { try body(span.extracting(range(index))) }
  }

  /// Forgets the packets and keeps the memory.
  @inlinable public mutating func removeAll() {
    guard used > 0 else { return }
    storage.removeAll(keepingCapacity: true)
    used = 0
  }
}
