// The memory of values, for tables with a limit in octets. Memory that several values share counts for each of them.

/// The octets of an allocation with room for `count`: the allocator's own 8 are added, and blocks are multiples of 16
/// octets, as in glibc on 64-bit machines.
package func allocatedOctets(_ count: Int) -> Int { (count + 8 + 15) & ~15 }

extension Array {
  /// The octets of memory of the elements themselves, unused capacity included, without the memory that the elements
  /// refer to.
  package var allocatedOctets: Int {
    // The header of the buffer is that of an object, with the count and the capacity.
    capacity == 0 ? 0 : BLEWire.allocatedOctets(32 + capacity * MemoryLayout<Element>.stride)
  }
}

extension String {
  /// The octets of memory of the text beside the value itself, which contains a text of up to 15 octets.
  package var allocatedOctets: Int { utf8.count <= 15 ? 0 : BLEWire.allocatedOctets(33 + utf8.count) }
}
