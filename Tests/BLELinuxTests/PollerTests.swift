import BLELinux
import BLEWire
import Foundation
import Testing

@Suite struct PollerTests {
  let clock = MonotonicClock()

  /// Token, can read, can write, has ended.
  func ready(_ poller: inout Poller) -> [AnyHashable] {
    [Int(poller[0].token), poller[0].canRead, poller[0].canWrite, poller[0].hasEnded]
  }

  @Test func returnsAtOnceAfterADeadline() throws {
    var poller = try Poller()
    #expect(try poller.wait(until: .start, on: clock) == 0)
  }

  @Test(arguments: [true, false]) func doesNotReportADeadlineEarly(_ waitsInNanoseconds: Bool) throws {
    var poller = try Poller(waitsInNanoseconds: waitsInNanoseconds)
    let deadline = clock.now() + .microseconds(300)
    #expect(try poller.wait(until: deadline, on: clock) == 0)
    #expect(clock.now() >= deadline)
  }

  @Test func wakesFromAnotherThreadOnce() throws {
    var poller = try Poller()
    let waker = try Waker()
    try poller.watch(waker.descriptor, token: 7, for: .reading)
    try LoopThread.start {
      waker.wake()
      waker.wake()
    }
    #expect(try poller.wait(until: nil, on: clock) == 1)
    #expect(ready(&poller) == [7, true, false, false] as [AnyHashable])
  }

  @Test func drainedWakersWaitAgain() throws {
    var poller = try Poller()
    let waker = try Waker()
    try poller.watch(waker.descriptor, token: 7, for: .reading)
    waker.wake()
    waker.wake()
    #expect(try poller.wait(until: nil, on: clock) == 1)
    waker.drain()
    #expect(try poller.wait(until: .start, on: clock) == 0)
  }

  @Test func changesWhatIsWatched() throws {
    var poller = try Poller()
    var far: ByteStream?
    let near = try ByteStream.joined { (end) in far = consume end }
    try poller.watch(near.descriptor, token: 1, for: .reading)
    #expect(try poller.wait(until: .start, on: clock) == 0)
    try poller.watch(near.descriptor, token: 2, for: [.reading, .writing])
    #expect(try poller.wait(until: .start, on: clock) == 1)
    #expect(ready(&poller) == [2, false, true, false] as [AnyHashable])
    poller.unwatch(near.descriptor)
    #expect(try poller.wait(until: .start, on: clock) == 0)
    try poller.watch(near.descriptor, token: 3, for: .reading)
    let wasThere = far.take() != nil
    #expect(wasThere)
    #expect(try poller.wait(until: nil, on: clock) == 1)
    #expect(poller[0].canRead && poller[0].hasEnded)
  }

  @Test func reportsTheRestAtTheNextWait() throws {
    var poller = try Poller(capacity: 2)
    let wakers = [try Waker(), try Waker(), try Waker()]
    for (index, waker) in wakers.enumerated() {
      try poller.watch(waker.descriptor, token: UInt64(index), for: .reading)
      waker.wake()
    }
    var seen: Set<UInt64> = []
    for _ in 0..<2 {
      for index in 0..<(try poller.wait(until: .start, on: clock)) {
        seen.insert(poller[index].token)
        wakers[Int(poller[index].token)].drain()
      }
    }
    #expect(seen == [0, 1, 2])
  }

  @Test func latchesStayOpen() throws {
    let latch = try Latch()
    #expect(!latch.wait(atMost: .zero))
    try LoopThread.start { latch.open() }
    #expect(latch.wait(atMost: patience))
    #expect(latch.wait(atMost: .zero))
  }
}
