public import BLEWire

/// The packets that the controllers of a radio send to their hosts: complete H4 packets (type octet first), each with
/// its destination.
///
/// Pass the same value to every call, and empty it in between. Its memory is kept, so that a warm radio allocates
/// nothing.
public struct VirtualRadioOutput: Sendable {
  private var packets = PacketBuffer()
  private var destinations: [ControllerID] = []

  /// An output without packets.
  public init() {}

  /// The number of packets.
  public var count: Int { destinations.count }
  /// Whether there are no packets.
  public var isEmpty: Bool { destinations.isEmpty }

  /// The controller whose host receives packet `index`.
  public func destination(_ index: Int) -> ControllerID { destinations[index] }

  /// The octets of packet `index`.
  public subscript(index: Int) -> Bytes { packets[index] }

  /// The packets for the host of one controller, in order.
  public func packets(for destination: ControllerID) -> [Bytes] {
    destinations.indices.filter { destinations[$0] == destination }.map { packets[$0] }
  }

  /// Calls `body` with every packet in order, without copying it.
  public func forEach<E: Error>(_ body: (ControllerID, Span<UInt8>) throws(E) -> Void) throws(E) {
    var index = 0
    try packets.forEach { (packet: Span<UInt8>) throws(E) in
      try body(destinations[index], packet)
      index += 1
    }
  }

  /// Removes the packets and keeps the memory.
  public mutating func removeAll() {
    packets.removeAll()
    destinations.removeAll(keepingCapacity: true)
  }

  mutating func append(to destination: ControllerID, _ write: (inout [UInt8]) -> Void) {
    packets.append(write)
    destinations.append(destination)
  }
}
