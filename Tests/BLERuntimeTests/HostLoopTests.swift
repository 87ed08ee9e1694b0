import BLELinux
import BLEWire
import Foundation
import Synchronization
import Testing

@testable import BLERuntime

@Suite struct HostLoopTests {
  typealias Loop = HostLoop<ToyCore>
  typealias Desk = HostDesk<ToyCore.Command, ToyCore.Event>

  /// A loop with a toy core, and the controller's end of its pipe.
  func withLoop(
    _ core: ToyCore = ToyCore(), _ options: LoopOptions = LoopOptions(),
    _ body: (Desk, borrowing ByteStream) throws -> Void
  ) throws {
    let far = Mutex<ByteStream?>(nil)
    let near = try ByteStream.joined { (end) in
      let end = Handover(end)
      far.withLock { $0 = end.take() }
    }
    let desk = try Loop.start(core, Pipe(near, named: "toy"), nil, options, at: "toy")
    guard let far = far.withLock({ (slot: inout ByteStream?) -> ByteStream? in slot.take() }) else { throw Late() }
    #expect(try far.readAll(4) == ToyCore.hello)
    try body(desk, far)
    desk.shutDown()
    #expect(desk.waitUntilEnded(atMost: patience))
  }

  @Test func commandsArePerformedAndPacketsSentInTheOrderTheyWerePosted() throws {
    try withLoop { (desk, far) throws in
      let hearing = Hearing<ToyCore.Event>()
      _ = desk.attach(hearing.sink)
      for number in 0..<1_000 {
        #expect(desk.post(.send(number, [0x01, UInt8(number & 0xFF), UInt8(number >> 8), 0x00])))
      }
      #expect(hearing.wait(for: .performed(999)))
      let performed = hearing.events.compactMap { if case .performed(let number) = $0 { number } else { nil } }
      #expect(performed == Array(0..<1_000))
      let sent = try far.readAll(4_000)
      let expected = (0..<1_000).flatMap { number -> [UInt8] in [0x01, UInt8(number & 0xFF), UInt8(number >> 8), 0x00] }
      #expect(sent == expected)
    }
  }

  /// Two packets, cut at each place there is.
  @Test func packetsAreWholeHoweverTheyArrive() throws {
    let first: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
    let second: [UInt8] = [0x02, 0x40, 0x20, 0x03, 0x00, 0xAA, 0xBB, 0xCC]
    let both = first + second
    try withLoop { (desk, far) throws in
      let hearing = Hearing<ToyCore.Event>()
      _ = desk.attach(hearing.sink)
      for cut in 0...both.count {
        #expect(try far.write(both.span.extracting(..<cut)) == cut)
        // The loop has seen the first part when it has performed what was posted after it.
        #expect(desk.post(.mark(cut)))
        #expect(hearing.wait(for: .performed(cut)))
        #expect(try far.write(both.span.extracting(cut...)) == both.count - cut)
        #expect(hearing.wait { $0.count { $0 == .received(second) } == cut + 1 })
      }
      let received = hearing.events.compactMap { if case .received(let octets) = $0 { octets } else { nil } }
      #expect(received == Array(repeating: [first, second], count: both.count + 1).flatMap { $0 })
    }
  }

  @Test func oneRoundsPacketsGoInOneWriteAndItsEventsInOneBatch() throws {
    try withLoop(ToyCore(answers: true)) { (desk, far) throws in
      let hearing = Hearing<ToyCore.Event>()
      _ = desk.attach(hearing.sink)
      #expect(desk.post(.mark(1)))
      #expect(hearing.wait(for: .performed(1)))
      let packet: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
      let ten = Array(repeating: packet, count: 10).flatMap { $0 }
      #expect(try far.write(ten.span) == ten.count)
      #expect(hearing.wait { $0.count { $0 == .received(packet) } == 10 })
      #expect(hearing.batches.last == 10)
      #expect(try far.readAll(ten.count) == ten)
    }
  }

  @Test func aDeadlineTicks() throws {
    try withLoop { (desk, _) throws in
      let hearing = Hearing<ToyCore.Event>()
      _ = desk.attach(hearing.sink)
      #expect(desk.post(.setDeadline(.microseconds(500))))
      #expect(hearing.wait(for: .ticked))
    }
  }

  @Test func whoComesLateHearsTheNewestStateFirst() throws {
    try withLoop { (desk, _) throws in
      let (early, late) = (Hearing<ToyCore.Event>(), Hearing<ToyCore.Event>())
      let first = desk.attach(early.sink)
      #expect(desk.post(.mark(1)))
      #expect(early.wait(for: .performed(1)))
      _ = desk.attach(late.sink)
      desk.detach(first)
      #expect(desk.post(.mark(2)))
      #expect(late.wait(for: .performed(2)))
      #expect(late.events == [.state(1), .performed(2)])
      #expect(!early.events.contains(.performed(2)), "detached before")
    }
  }

  @Test func aSinkMayPost() throws {
    try withLoop { (desk, _) throws in
      let hearing = Hearing<ToyCore.Event>()
      let sink = hearing.sink
      _ = desk.attach { [weak desk] events in
        if events.contains(.performed(1)) { _ = desk?.post(.mark(2)) }
        sink(events)
      }
      #expect(desk.post(.mark(1)))
      #expect(hearing.wait(for: .performed(2)))
    }
  }
}

/// What is bounded, at the limit and one past it.
extension HostLoopTests {
  @Test func commandsPastTheLimitAreRefusedAndSaidSo() throws {
    let desk = try Desk(commandLimit: 3, eventBacklogLimit: 8)
    let hearing = Hearing<ToyCore.Event>()
    _ = desk.attach(hearing.sink)
    for number in 1...3 { #expect(desk.post(.mark(number))) }
    #expect(!desk.post(.mark(4)))
    let near = try ByteStream.joined { (far) in _ = consume far }
    var options = LoopOptions()
    options.reconnectionInterval = nil
    let loop = Handover(try Loop(ToyCore(), desk: desk, pipe: Pipe(near, named: "toy"), trace: nil, options: options))
    try LoopThread.start {
      loop.take()?.run()
      desk.close()
    }
    #expect(hearing.wait(for: .refused(limit: 3)))
    #expect(
      hearing.events.filter { if case .performed = $0 { true } else { false } } == [1, 2, 3].map { .performed($0) })
    #expect(desk.post(.mark(5)), "there is room again")
    #expect(hearing.wait(for: .performed(5)))
    desk.shutDown()
    #expect(desk.waitUntilEnded(atMost: patience))
  }

  /// Above the limit the controller waits; commands go on; below half of the limit it is heard again, and nothing is lost.
  @Test func theControllerIsHeldBackWhileTheApplicationIsBehind() throws {
    var options = LoopOptions()
    options.eventBacklogLimit = 10
    try withLoop(ToyCore(), options) { (desk, far) throws in
      let hearing = Hearing<ToyCore.Event>()
      let sink = desk.attach(hearing.sink)
      #expect(desk.post(.burst(9)))
      #expect(hearing.wait { $0.count { $0 == .item } == 9 })
      // With the state, ten events are before the sink: at the limit the loop still reads.
      let first: [UInt8] = [0x04, 0x01, 0x01, 0x01]
      #expect(try far.write(first.span) == 4)
      #expect(hearing.wait(for: .received(first)))
      // Eleven: one past it.
      let second: [UInt8] = [0x04, 0x01, 0x01, 0x02]
      #expect(try far.write(second.span) == 4)
      for number in 1...5 {
        #expect(desk.post(.mark(number)))
        #expect(hearing.wait(for: .performed(number)))
      }
      #expect(!hearing.events.contains(.received(second)))
      // Sixteen are out. Five before the sink is half of the limit: not below it yet.
      desk.consumed(11, by: sink)
      #expect(desk.post(.mark(6)))
      #expect(hearing.wait(for: .performed(6)))
      #expect(!hearing.events.contains(.received(second)))
      desk.consumed(2, by: sink)
      #expect(hearing.wait(for: .received(second)))
    }
  }

  @Test func aSinkThatIsLetGoHoldsNobodyBack() throws {
    var options = LoopOptions()
    options.eventBacklogLimit = 2
    try withLoop(ToyCore(), options) { (desk, far) throws in
      let (idle, busy) = (Hearing<ToyCore.Event>(), Hearing<ToyCore.Event>())
      let sink = desk.attach(idle.sink)
      #expect(desk.post(.burst(5)))
      #expect(idle.wait { $0.count { $0 == .item } == 5 })
      desk.detach(sink)
      _ = desk.attach(busy.sink)
      #expect(desk.post(.mark(1)))
      #expect(busy.wait(for: .performed(1)))
      desk.consumed(2)
      #expect(try far.write([0x04, 0x01, 0x01, 0x01].span) == 4)
      #expect(busy.wait(for: .received([0x04, 0x01, 0x01, 0x01])))
    }
  }

  @Test func countingForAllReleasesToo() throws {
    var options = LoopOptions()
    options.eventBacklogLimit = 2
    try withLoop(ToyCore(), options) { (desk, far) throws in
      let hearing = Hearing<ToyCore.Event>()
      _ = desk.attach(hearing.sink)
      #expect(desk.post(.burst(5)))
      #expect(hearing.wait { $0.count { $0 == .item } == 5 })
      #expect(try far.write([0x04, 0x01, 0x01, 0x01].span) == 4)
      #expect(desk.post(.mark(1)))
      #expect(hearing.wait(for: .performed(1)))
      #expect(!hearing.events.contains(.received([0x04, 0x01, 0x01, 0x01])))
      desk.consumed(hearing.events.count)
      #expect(hearing.wait(for: .received([0x04, 0x01, 0x01, 0x01])))
    }
  }

  /// 1 MiB waits for a controller that does not read; all of it arrives, in order, when it does.
  @Test func whatThePipeDoesNotTakeWaits() throws {
    try withLoop { (desk, far) throws in
      let hearing = Hearing<ToyCore.Event>()
      _ = desk.attach(hearing.sink)
      let count = H4Stream.backlogLimit / 4_096
      for number in 0..<count {
        #expect(desk.post(.send(number, [UInt8](repeating: UInt8(number & 0xFF), count: 4_096))))
      }
      #expect(hearing.wait(for: .performed(count - 1)))
      let all = try far.readAll(count * 4_096)
      #expect(all == (0..<count).flatMap { [UInt8](repeating: UInt8($0 & 0xFF), count: 4_096) })
    }
  }

  @Test func aControllerThatNeverReadsCountsAsLost() throws {
    var options = LoopOptions()
    options.reconnectionInterval = nil
    try withLoop(ToyCore(), options) { (desk, far) throws in
      let hearing = Hearing<ToyCore.Event>()
      _ = desk.attach(hearing.sink)
      let packet = [UInt8](repeating: 0, count: 65_536)
      for number in 0..<64 { #expect(desk.post(.send(number, packet))) }
      #expect(hearing.wait(for: .state(0)))
      let failure = hearing.events.compactMap { if case .failed(let error) = $0 { error } else { nil } }.first
      #expect(failure?.kind == .inputOutput)
      #expect(failure?.what.contains("takes no octets") == true)
    }
  }
}
