import BLEWire
import Testing

@testable import BLEKernel

/// The order of SDUs that a kernel with a second queue delivers.
@Suite struct ReadingOrderTests {
  /// The receive queues of a channel as `l2cap_sock_recv_cb` and `l2cap_sock_recvmsg` of Linux 6.12 have them, and a
  /// peer that sends while it has credits.
  struct Kernel {
    static let sduMemory: UInt32 = 6_000
    static let smallestBuffer: UInt32 = 2_304
    var memory: ReadingOrder.Memory
    var first: [Int] = []
    var second: [Int] = []
    var sent = 0
    var credits = 3
    let count: Int

    mutating func arrive() {
      guard credits > 0, sent < count else { return }
      credits -= 1
      if memory.queued >= memory.buffer {
        memory.rejections += 1
        second.append(sent)
      } else {
        memory.queued += Self.sduMemory
        first.append(sent)
      }
      sent += 1
      giveCredits()
    }

    private mutating func giveCredits() { if memory.queued < memory.buffer { credits = 3 } }

    mutating func moveSecond() {
      giveCredits()
      while !second.isEmpty {
        guard memory.queued < memory.buffer else {
          memory.rejections += 1
          return
        }
        first.append(second.removeFirst())
        memory.queued += Self.sduMemory
      }
    }

    /// A read; `between` happens before the kernel moves the second queue.
    mutating func read(_ between: (inout Self) -> Void) -> Int? {
      guard !first.isEmpty else { return nil }
      let sdu = first.removeFirst()
      memory.queued -= Self.sduMemory
      between(&self)
      moveSecond()
      return sdu
    }

    mutating func set(buffer: UInt32) { memory.buffer = max(buffer, Self.smallestBuffer) }
  }

  /// Reads everything, while an SDU arrives within every read; returns what was read, and the largest memory.
  static func read(_ count: Int, guarded: Bool) -> (sdus: [Int], memory: UInt32) {
    var kernel = Kernel(memory: .init(buffer: 212_992), count: count)
    var order = ReadingOrder(guarded ? kernel.memory : nil)
    var (now, sdus, largest) = (Instant.start, [Int](), UInt32(0))
    while sdus.count < count {
      now = now + .milliseconds(1)
      kernel.arrive()
      largest = max(largest, kernel.memory.queued + UInt32(kernel.second.count) * Kernel.sduMemory)
      switch order.next(kernel.memory, now: now) {
      case .read:
        if let sdu = kernel.read({ $0.arrive() }) { sdus.append(sdu) }
      case .stop: kernel.set(buffer: 0)
      case .wait: break
      case .move(let buffer):
        kernel.set(buffer: buffer)
        let before = kernel.memory
        kernel.moveSecond()
        let isReading = order.moved(from: before, to: kernel.memory)
        kernel.set(buffer: isReading ? order.buffer : 0)
      }
    }
    return (sdus, largest)
  }

  @Test func theKernelAloneReordersSDUsWhenItsBufferIsFull() {
    #expect(Self.read(500, guarded: false).sdus != Array(0..<500))
  }

  @Test func keepsTheOrderOfAPeerThatSendsFasterThanItIsRead() {
    let (sdus, memory) = Self.read(5_000, guarded: true)
    #expect(sdus == Array(0..<5_000))
    #expect(memory < 212_992, "octets that the kernel keeps")
  }

  @Test func readsWithoutPauseBelowHalfOfTheBuffer() {
    var order = ReadingOrder(.init(buffer: 1_000))
    #expect(order.next(.init(queued: 500, buffer: 1_000), now: .start) == .read)
    #expect(order.deadline == nil)
    #expect(order.next(.init(queued: 501, buffer: 1_000), now: .start) == .stop)
    #expect(order.deadline == .start + ReadingOrder.settlingTime)
  }

  @Test func stopsAfterARejectedSDU() {
    var order = ReadingOrder(.init(buffer: 1_000, rejections: 7))
    #expect(order.next(.init(queued: 1, buffer: 1_000, rejections: 7), now: .start) == .read)
    #expect(order.next(.init(queued: 1, buffer: 1_000, rejections: 8), now: .start) == .stop)
  }

  @Test func waitsAsLongAsSDUsArrive() {
    var order = ReadingOrder(.init(buffer: 1_000))
    var memory = ReadingOrder.Memory(queued: 600, buffer: 1_000)
    #expect(order.next(memory, now: .start) == .stop)
    let due = Instant.start + ReadingOrder.settlingTime
    memory.rejections = 1
    #expect(order.next(memory, now: due) == .wait)
    #expect(order.next(memory, now: due) == .wait)
    #expect(order.next(memory, now: due + ReadingOrder.settlingTime) == .move(buffer: 2_000))
  }

  @Test func readsAtOnceWhereTheKernelReportsNoMemory() {
    var order = ReadingOrder(nil)
    #expect(order.next(.init(queued: 5_000, buffer: 1), now: .start) == .read)
  }

  @Test func theBufferIsBoundedForEachMTU() {
    #expect(ReadingOrder.buffer(mtu: 2_048) == 524_288)
    // 16,384 octets have exactly the largest buffer.
    #expect(ReadingOrder.buffer(mtu: 16_383) == 4 << 20 - 256)
    for mtu in [16_384, 16_385] as [UInt16] { #expect(ReadingOrder.buffer(mtu: mtu) == 4 << 20) }
    #expect(ReadingOrder.buffer(mtu: 0xFFFF) == 4 << 20)
  }
}
