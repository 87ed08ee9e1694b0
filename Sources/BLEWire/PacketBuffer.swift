/// Packets one behind the other in one reused block of memory: what a machine sends, without an allocation a packet.
///
/// ```swift
/// var out = PacketBuffer()
/// out.append { $0 += [0x0B, 0x64] }
/// out.forEach { packet in print(packet.count) }
/// out.removeAll()
/// ```
public struct PacketBuffer: Sendable {
  public private(set) var octets: [UInt8] = []
  @usableFromInline var ends: [Int] = []

  @inlinable public init() {}

  public var count: Int { ends.count }
  public var isEmpty: Bool { ends.isEmpty }

  /// Appends one packet: whatever `write` appends to the octets.
  public mutating func append(_ write: (inout [UInt8]) -> Void) {
    write(&octets)
    ends.append(octets.count)
  }

  /// Appends one packet, or none where `write` returns false; what it wrote is taken back then.
  @discardableResult
  public mutating func appendIf(_ write: (inout [UInt8]) -> Bool) -> Bool {
    let start = octets.count
    guard write(&octets) else {
      octets.removeSubrange(start...)
      return false
    }
    ends.append(octets.count)
    return true
  }

  /// Where packet `index` lies in ``octets``.
  public func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  public subscript(index: Int) -> Bytes { octets[range(index)] }

  /// Hands out every packet in order, without copying it.
  public func forEach<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
    let span = octets.span
    for index in ends.indices { try body(span.extracting(range(index))) }
  }

  /// Forgets the packets and keeps the memory.
  public mutating func removeAll() {
    octets.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }
}
