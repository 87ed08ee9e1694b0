internal import BLEWire

/// The buffers of a controller for ACL packets from its host (Vol 4, Part E, 4.1). Their memory is reused.
struct ACLBuffers: Sendable {
  /// The maximum length of a packet, in octets without the header.
  let packetLength: Int
  private var buffers: [[UInt8]]
  private var free: [Int]

  /// - Parameters:
  ///   - packetLength: at least 27 octets are used.
  ///   - count: at least one buffer is used.
  init(packetLength: Int, count: Int) {
    self.packetLength = max(27, packetLength)
    buffers = Array(repeating: [], count: max(1, count))
    free = Array(buffers.indices.reversed())
  }

  var count: Int { buffers.count }
  var hasFree: Bool { !free.isEmpty }

  /// Stores a packet.
  ///
  /// - Returns: the number of its buffer; nil if none is free.
  mutating func store(_ packet: Span<UInt8>) -> Int? {
    guard let buffer = free.popLast() else { return nil }
    buffers[buffer].removeAll(keepingCapacity: true)
    buffers[buffer].append(copying: packet)
    return buffer
  }

  /// The length of the packet in a buffer, in octets.
  func length(of buffer: Int) -> Int { buffers[buffer].count }

  /// Moves a packet out of its buffer, to be read without a copy. ``putBack(_:into:)`` follows.
  mutating func take(_ buffer: Int) -> [UInt8] {
    var packet: [UInt8] = []
    swap(&packet, &buffers[buffer])
    return packet
  }

  /// Moves a packet back into the buffer that it was taken from.
  mutating func putBack(_ packet: consuming [UInt8], into buffer: Int) { buffers[buffer] = packet }

  mutating func release(_ buffer: Int) { free.append(buffer) }
}
