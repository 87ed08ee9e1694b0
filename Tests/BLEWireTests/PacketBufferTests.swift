import BLEWire
import TestSupport
import Testing

@Suite("Packet buffer")
struct PacketBufferTests {
  @Test func keepsPacketsInOrder() {
    var buffer = PacketBuffer()
    buffer.append { $0 += [1, 2, 3] }
    buffer.append { _ in }
    buffer.append { $0 += [4] }
    #expect(buffer.count == 3)
    #expect(buffer[0] == [1, 2, 3])
    #expect(buffer[1].isEmpty)
    #expect(buffer[2] == [4])
    var lengths: [Int] = []
    buffer.forEach { lengths.append($0.count) }
    #expect(lengths == [3, 0, 1])
  }

  @Test func removesTheOctetsOfARejectedPacket() {
    var buffer = PacketBuffer()
    buffer.append { $0 += [1] }
    let kept = buffer.appendIf {
      $0 += [2, 2, 2]
      return false
    }
    #expect(!kept)
    #expect(buffer.octets == [1])
    #expect(buffer.count == 1)
  }

  @Test func keepsPacketsOfBothWaysToAppendInOrder() {
    var buffer = PacketBuffer()
    for round in 0..<40 {
      // Long enough for memory that grows, and for more than is left unused.
      let body = [UInt8](repeating: UInt8(round), count: 7 * round)
      buffer.append([1, 2].span, body.span)
      buffer.append { $0 += [3] }
      buffer.append(Span(), [4, UInt8(round)].span)
      #expect(
        !buffer.appendIf { octets in
          octets += [5]
          return false
        })
      #expect(buffer.count == 3)
      #expect(Array(buffer[0]) == [1, 2] + body)
      #expect(Array(buffer[1]) == [3] && Array(buffer[2]) == [4, UInt8(round)])
      #expect(Array(buffer.octets) == [1, 2] + body + [3, 4, UInt8(round)])
      #expect(buffer.withOctets { [UInt8](copying: $0) } == Array(buffer.octets))
      #expect(buffer.range(1) == 2 + body.count..<3 + body.count)
      var packets: [[UInt8]] = []
      buffer.forEach { packets.append([UInt8](copying: $0)) }
      #expect(packets == [[1, 2] + body, [3], [4, UInt8(round)]])
      buffer.removeAll()
      #expect(buffer.isEmpty && buffer.octets.isEmpty)
      if round % 3 == 0 {
        buffer.append { $0 += [6] }
        #expect(buffer[0] == [6] && buffer.octets == [6])
        buffer.removeAll()
      }
    }
  }

  @Test func aQueueReturnsOctetsInTheirOrder() {
    var (queue, expected): (OctetQueue, [UInt8]) = (OctetQueue(), [])
    for round in 0..<300 {
      let body = (0..<50).map { UInt8(truncatingIfNeeded: round &+ $0) }
      queue.append([UInt8(truncatingIfNeeded: round)].span, body.span)
      expected += [UInt8(truncatingIfNeeded: round)] + body
      let removed = round % 7 == 0 ? 120 : 40
      queue.removeFirst(removed)
      expected.removeFirst(min(removed, expected.count))
      #expect(Array(queue.memory[queue.start..<queue.end]) == expected && queue.count == expected.count)
    }
    queue.removeFirst(.max)
    #expect(queue.isEmpty)
  }

  @Test func removeAllRemovesAllPackets() {
    var buffer = PacketBuffer()
    buffer.append { $0 += [1] }
    buffer.removeAll()
    #expect(buffer.isEmpty)
    buffer.append { $0 += [9] }
    #expect(buffer[0] == [9])
  }
}

@Suite("Memory of queues")
struct QueueMemoryTests {
  @Test(arguments: [1, 2, 5, 24, 100]) func aQueueWithReservedMemoryDoesNotGrow(limit: Int) {
    var (queue, expected): (FIFO<Int>, [Int]) = (FIFO(), [])
    queue.reserveCapacity(limit)
    let capacity = queue.memory.capacity
    var random = SplitMix64(seed: UInt64(limit))
    for number in 0..<2000 {
      if expected.count < limit {
        queue.append(number)
        expected.append(number)
      }
      if Int.random(in: 0..<8, using: &random) == 0 {
        let count = Int.random(in: 0...limit, using: &random)
        queue.removeFirst(count)
        expected.removeFirst(min(count, expected.count))
      } else if expected.count == limit {
        queue.removeFirst(1)
        expected.removeFirst()
      }
      #expect(Array(queue.elements) == expected)
    }
    #expect(queue.memory.capacity == capacity)
  }

  @Test(arguments: [8, 100, 1500]) func octetsWithReservedMemoryDoNotGrow(limit: Int) {
    var (queue, expected): (OctetQueue, [UInt8]) = (OctetQueue(), [])
    queue.reserveCapacity(limit)
    let count = queue.memory.count
    var random = SplitMix64(seed: UInt64(limit))
    for number in 0..<2000 {
      let length = Int.random(in: 0...limit / 4, using: &random)
      let frame = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
      while expected.count + frame.count > limit {
        let removed = min(expected.count, Int.random(in: 1...limit / 4, using: &random))
        queue.removeFirst(removed)
        expected.removeFirst(removed)
      }
      queue.makeRoom(for: frame.count)
      queue.append(Span(), frame.span)
      expected += frame
      #expect(queue.memory[queue.start..<queue.end] == expected[...])
    }
    #expect(queue.memory.count == count)
  }
}

@Suite("Octets as text")
struct HexadecimalTests {
  @Test func readsHexadecimalDigits() {
    #expect([UInt8](hexadecimal: "0a 03 FF") == [0x0A, 0x03, 0xFF])
    #expect([UInt8](hexadecimal: "") == [])
  }
  @Test(arguments: ["0", "0g", "0a0", "0x0a"]) func rejectsOtherText(text: String) {
    #expect([UInt8](hexadecimal: text) == nil)
  }
  @Test func printsHexadecimalDigits() { #expect([UInt8]([0, 0x0F, 0xA0]).hexadecimal == "000fa0") }
  @Test func numberPastTheEndOfASpanIsNil() {
    let octets: [UInt8] = [0x34, 0x12, 0x56]
    #expect(octets.span.uint16(at: 0) == 0x1234)
    #expect(octets.span.uint16(at: 1) == 0x5612)
    #expect(octets.span.uint16(at: 2) == nil)
    #expect(octets.span.uint16(at: -1) == nil)
    #expect([UInt8](copying: octets.span) == octets)
  }
}
