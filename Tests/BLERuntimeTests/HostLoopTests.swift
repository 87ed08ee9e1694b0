import BLEGATT
import BLEHost
import BLELinux
import BLEWire
import Foundation
import Synchronization
import Testing

@testable import BLERuntime

@Suite struct HostLoopTests {
  typealias Loop = HostLoop<ToyMachine, StreamTransport>
  typealias Mailbox = HostMailbox<ToyMachine.Command, ToyMachine.Event>

  /// A loop with a toy machine, and the controller's end of its pipe.
  func withLoop(
    _ machine: ToyMachine = ToyMachine(), _ options: LoopOptions = LoopOptions(),
    _ body: (Mailbox, borrowing ByteStream) throws -> Void
  ) throws {
    let far = Mutex<ByteStream?>(nil)
    let near = try ByteStream.joined { (end) in
      let end = OneShot(end)
      far.withLock { $0 = end.take() }
    }
    let mailbox = try Loop.start(machine, on: StreamTransport(near), options: options)
    guard let far = far.withLock({ (slot: inout ByteStream?) -> ByteStream? in slot.take() }) else { throw Missing() }
    #expect(try far.readAll(4) == ToyMachine.hello)
    try body(mailbox, far)
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
  }

  @Test func performsCommandsInOrder() throws {
    try withLoop { (mailbox, far) throws in
      let log = EventLog<ToyMachine.Event>()
      _ = mailbox.attach(log.sink)
      for number in 0..<1_000 {
        #expect(mailbox.post(.send(number, [0x01, UInt8(number & 0xFF), UInt8(number >> 8), 0x00])))
      }
      log.wait(for: .performed(999))
      let performed = log.events.compactMap { if case .performed(let number) = $0 { number } else { nil } }
      #expect(performed == Array(0..<1_000))
      let sent = try far.readAll(4_000)
      let expected = (0..<1_000).flatMap { number -> [UInt8] in [0x01, UInt8(number & 0xFF), UInt8(number >> 8), 0x00] }
      #expect(sent == expected)
    }
  }

  /// The packets of the start and of the end are among them.
  @Test func countsPackets() throws {
    let counted = Mutex<Mailbox?>(nil)
    try withLoop { (mailbox, far) throws in
      counted.withLock { $0 = mailbox }
      let log = EventLog<ToyMachine.Event>()
      _ = mailbox.attach(log.sink)
      for number in 1...3 { #expect(mailbox.post(.send(number, [0x01, 0x00, 0x00, 0x00]))) }
      let packet: [UInt8] = [0x04, 0x01, 0x01, 0x01]
      for _ in 1...2 { #expect(try far.write(packet.span) == 4) }
      log.wait { $0.count { $0 == .received(packet) } == 2 && $0.contains(.performed(3)) }
    }
    let counters = counted.withLock { $0?.counters }
    #expect(counters?.receivedPackets == 2 && counters?.sentPackets == 1 + 3 + 1)
    #expect(counters?.refusedCommands == 0 && counters?.readingPauses == 0)
  }

  @Test func performsValuesOfAttributesInOrderWithCommands() throws {
    try withLoop { (mailbox, far) throws in
      let log = EventLog<ToyMachine.Event>()
      let owner = mailbox.attach(log.sink)
      let (first, second) = (AttributeID(rawValue: 1), AttributeID(rawValue: 2))
      for (attribute, value) in [(first, [1, 2]), (first, []), (second, [3])] as [(AttributeID, [UInt8])] {
        _ = mailbox.enqueueUpdate(of: attribute, octets: value.span, to: [], from: owner)
      }
      _ = mailbox.enqueue(.mark(1))
      _ = mailbox.enqueueUpdate(of: second, octets: ([4, 5] as [UInt8]).span, to: [LinkID(rawValue: 1)], from: owner)
      mailbox.wake()
      log.wait(for: .updated(second, [4, 5]))
      #expect(
        log.events.filter { $0 != .started && $0 != .state(1) }
          == [
            .updated(first, [1, 2]), .updated(first, []), .updated(second, [3]), .performed(1),
            .updated(second, [4, 5]),
          ])
      mailbox.detach(owner)
      let admission = mailbox.enqueueUpdate(
        of: second, octets: ([6] as [UInt8]).span, to: [LinkID(rawValue: 1)], from: owner)
      #expect(!admission.wakesHost && !admission.isTaken)
    }
  }

  @Test func refusesValuesAboveTwiceTheLimitOfCommands() throws {
    let mailbox = try Mailbox(commandLimit: 3, eventBacklogLimit: 1)
    let owner = mailbox.attach { _ in }
    func enqueue(_ attribute: UInt32) {
      _ = mailbox.enqueueUpdate(
        of: AttributeID(rawValue: attribute), octets: ([1, 2] as [UInt8]).span, to: [LinkID(rawValue: 1)], from: owner)
    }
    for attribute in [1, 1, 2, 2, 2, 2, 2, 3] as [UInt32] { enqueue(attribute) }
    var items = Mailbox.Items()
    #expect(mailbox.take(into: &items) == [owner])
    let runs = items.items.compactMap { if case .updates(let run) = $0 { run } else { nil } }
    #expect(
      runs == [
        UpdateRun(of: AttributeID(rawValue: 1), from: owner, to: [LinkID(rawValue: 1)], count: 2, octets: 4),
        UpdateRun(of: AttributeID(rawValue: 2), from: owner, to: [LinkID(rawValue: 1)], count: 4, octets: 8),
      ])
    enqueue(1)
    #expect(mailbox.take(into: &items) == [] && items.lengths == [2] && items.items.count == 1)
  }

  @Test func performsEnqueuedCommandsInOrderWhenItIsWoken() throws {
    try withLoop { (mailbox, far) throws in
      let log = EventLog<ToyMachine.Event>()
      _ = mailbox.attach(log.sink)
      #expect(mailbox.post(.mark(0)))
      log.wait(for: .performed(0))
      for round in 0..<100 {
        // False only where the loop is awake, and takes the command by itself.
        var wakes = false
        for number in 1...10 where mailbox.enqueue(.mark(round * 10 + number)).wakesHost { wakes = true }
        if wakes { mailbox.wake() }
        log.wait(for: .performed(round * 10 + 10))
      }
      let performed = log.events.compactMap { if case .performed(let number) = $0 { number } else { nil } }
      #expect(performed == Array(0...1_000))
    }
  }

  /// Two packets, cut at each place there is.
  @Test func assemblesPacketsFromAnyReads() throws {
    let first: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
    let second: [UInt8] = [0x02, 0x40, 0x20, 0x03, 0x00, 0xAA, 0xBB, 0xCC]
    let both = first + second
    try withLoop { (mailbox, far) throws in
      let log = EventLog<ToyMachine.Event>()
      _ = mailbox.attach(log.sink)
      for cut in 0...both.count {
        #expect(try far.write(both.span.extracting(..<cut)) == cut)
        // The loop has seen the first part when it has performed what was posted after it.
        #expect(mailbox.post(.mark(cut)))
        log.wait(for: .performed(cut))
        #expect(try far.write(both.span.extracting(cut...)) == both.count - cut)
        log.wait { $0.count { $0 == .received(second) } == cut + 1 }
      }
      let received = log.events.compactMap { if case .received(let octets) = $0 { octets } else { nil } }
      #expect(received == Array(repeating: [first, second], count: both.count + 1).flatMap { $0 })
    }
  }

  @Test func sendsOneWriteAndOneBatchARound() throws {
    try withLoop(ToyMachine(answers: true)) { (mailbox, far) throws in
      let log = EventLog<ToyMachine.Event>()
      _ = mailbox.attach(log.sink)
      #expect(mailbox.post(.mark(1)))
      log.wait(for: .performed(1))
      let packet: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
      let ten = Array(repeating: packet, count: 10).flatMap { $0 }
      #expect(try far.write(ten.span) == ten.count)
      log.wait { $0.count { $0 == .received(packet) } == 10 }
      #expect(log.batches.last == 10)
      #expect(try far.readAll(ten.count) == ten)
    }
  }

  @Test func ticksAtADeadline() throws {
    try withLoop { (mailbox, _) throws in
      let log = EventLog<ToyMachine.Event>()
      _ = mailbox.attach(log.sink)
      #expect(mailbox.post(.setDeadline(.microseconds(500))))
      log.wait(for: .ticked)
    }
  }

  @Test func givesALaterSinkTheNewestStateFirst() throws {
    try withLoop { (mailbox, _) throws in
      let (early, late) = (EventLog<ToyMachine.Event>(), EventLog<ToyMachine.Event>())
      let first = mailbox.attach(early.sink)
      #expect(mailbox.post(.mark(1)))
      early.wait(for: .performed(1))
      _ = mailbox.attach(late.sink)
      mailbox.detach(first)
      #expect(mailbox.post(.mark(2)))
      late.wait(for: .performed(2))
      #expect(late.events == [.state(1), .detached(first), .performed(2)])
      #expect(!early.events.contains(.performed(2)), "detached before")
    }
  }

  @Test func aSinkReceivesOnlyWhatIsAddressedToItsOwner() throws {
    try withLoop { (mailbox, _) throws in
      let (mine, others) = (EventLog<ToyMachine.Event>(), EventLog<ToyMachine.Event>())
      let owner = mailbox.attach(mine.sink)
      _ = mailbox.attach(others.sink)
      others.wait(for: .state(1))
      let batches = others.batches
      #expect(mailbox.post(.markForOwner(1), from: owner))
      mine.wait(for: .performed(1))
      #expect(others.batches == batches, "a batch with nothing for a sink does not wake it")
      #expect(mailbox.post(.mark(2), from: owner))
      others.wait(for: .performed(2))
      mine.wait(for: .performed(2))
      #expect(!others.events.contains(.performed(1)))
    }
  }

  @Test func anOwnerThatHasDetachedPostsNothing() throws {
    try withLoop { (mailbox, _) throws in
      let log = EventLog<ToyMachine.Event>()
      let (first, second) = (mailbox.attach { _ in }, mailbox.attach(log.sink))
      #expect(first != second)
      mailbox.detach(first)
      #expect(!mailbox.post(.mark(1), from: first))
      #expect(mailbox.post(.mark(2), from: second))
      log.wait(for: .performed(2))
      #expect(!log.events.contains(.performed(1)))
    }
  }

  @Test func sinksCanPostCommands() throws {
    try withLoop { (mailbox, _) throws in
      let log = EventLog<ToyMachine.Event>()
      let sink = log.sink
      _ = mailbox.attach { [weak mailbox] events in
        if events.contains(.performed(1)) { _ = mailbox?.post(.mark(2)) }
        sink(events)
      }
      #expect(mailbox.post(.mark(1)))
      log.wait(for: .performed(2))
    }
  }
}

/// What is bounded, at the limit and one past it.
extension HostLoopTests {
  /// Answers, ends and settings are not lost because a program posts too many other commands.
  @Test func acceptsCommandsWithoutAnAnswerUpToTwiceTheLimit() throws {
    let mailbox = try Mailbox(commandLimit: 3, eventBacklogLimit: 8, isRefusable: ToyMachine.isRefusable)
    for number in 1...3 { #expect(mailbox.post(.mark(number))) }
    #expect(!mailbox.post(.mark(4)))
    for _ in 1...3 { #expect(mailbox.post(.setDeadline(.zero))) }
    #expect(!mailbox.post(.setDeadline(.zero)) && !mailbox.post(.mark(5)))
    var items = Mailbox.Items()
    #expect(mailbox.take(into: &items) == [.process] && items.items.count == 6)
    #expect(mailbox.post(.mark(6)))
  }

  @Test func rejectsCommandsPastTheLimit() throws {
    let mailbox = try Mailbox(commandLimit: 3, eventBacklogLimit: 8)
    let log = EventLog<ToyMachine.Event>()
    _ = mailbox.attach(log.sink)
    for number in 1...3 { #expect(mailbox.post(.mark(number))) }
    #expect(!mailbox.post(.mark(4)) && !mailbox.post(.mark(4)))
    #expect(mailbox.counters.refusedCommands == 2)
    let near = try ByteStream.joined { (far) in _ = consume far }
    var options = LoopOptions()
    options.reconnectionInterval = nil
    let timer = try DeadlineTimer()
    let poller = try Loop.makePoller(for: mailbox, timer)
    let loop = OneShot(
      Loop(
        ToyMachine(), on: StreamTransport(near), tracedBy: nil, mailbox: mailbox, poller: poller, timer: timer,
        options: options
      ))
    try LoopThread.start {
      loop.take()?.run()
      mailbox.close()
    }
    log.wait(for: .loop(.commandsRefused(limit: 3)))
    #expect(
      log.events.filter { if case .performed = $0 { true } else { false } } == [1, 2, 3].map { .performed($0) })
    #expect(mailbox.post(.mark(5)), "there is room again")
    log.wait(for: .performed(5))
    mailbox.shutDown()
    #expect(mailbox.waitUntilEnded(atMost: patience))
  }

  /// Above the limit the controller waits; commands go on; below half of the limit it is heard again, and nothing is
  /// lost.
  @Test func holdsTheControllerBackWhileEventsWait() throws {
    var options = LoopOptions()
    options.eventBacklogLimit = 10
    try withLoop(ToyMachine(), options) { (mailbox, far) throws in
      let log = EventLog<ToyMachine.Event>()
      let sink = mailbox.attach(log.sink)
      #expect(mailbox.post(.burst(9)))
      log.wait { $0.count { $0 == .item } == 9 }
      // With the state, ten events are before the sink: at the limit the loop still reads.
      let first: [UInt8] = [0x04, 0x01, 0x01, 0x01]
      #expect(try far.write(first.span) == 4)
      log.wait(for: .received(first))
      // Eleven: one past it.
      let second: [UInt8] = [0x04, 0x01, 0x01, 0x02]
      #expect(try far.write(second.span) == 4)
      for number in 1...5 {
        #expect(mailbox.post(.mark(number)))
        log.wait(for: .performed(number))
      }
      #expect(!log.events.contains(.received(second)))
      // Sixteen are out. Five before the sink is half of the limit: not below it yet.
      mailbox.consumed(11, by: sink)
      #expect(mailbox.post(.mark(6)))
      log.wait(for: .performed(6))
      #expect(!log.events.contains(.received(second)))
      mailbox.consumed(2, by: sink)
      log.wait(for: .received(second))
      #expect(mailbox.counters.readingPauses == 1)
    }
  }

  @Test func detachedSinksDoNotHoldTheControllerBack() throws {
    var options = LoopOptions()
    options.eventBacklogLimit = 2
    try withLoop(ToyMachine(), options) { (mailbox, far) throws in
      let (idle, busy) = (EventLog<ToyMachine.Event>(), EventLog<ToyMachine.Event>())
      let sink = mailbox.attach(idle.sink)
      #expect(mailbox.post(.burst(5)))
      idle.wait { $0.count { $0 == .item } == 5 }
      mailbox.detach(sink)
      let other = mailbox.attach(busy.sink)
      #expect(mailbox.post(.mark(1)))
      busy.wait(for: .performed(1))
      mailbox.consumed(2, by: other)
      #expect(try far.write([0x04, 0x01, 0x01, 0x01].span) == 4)
      busy.wait(for: .received([0x04, 0x01, 0x01, 0x01]))
    }
  }

  /// 1 MiB waits for a controller that does not read; all of it arrives, in order, when it does.
  @Test func keepsPacketsThatTheStreamDoesNotTake() throws {
    try withLoop { (mailbox, far) throws in
      let log = EventLog<ToyMachine.Event>()
      _ = mailbox.attach(log.sink)
      let count = H4Stream.backlogLimit / 4_096
      for number in 0..<count {
        #expect(mailbox.post(.send(number, [UInt8](repeating: UInt8(number & 0xFF), count: 4_096))))
      }
      log.wait(for: .performed(count - 1))
      let all = try far.readAll(count * 4_096)
      #expect(all == (0..<count).flatMap { [UInt8](repeating: UInt8($0 & 0xFF), count: 4_096) })
    }
  }

  @Test func closesTheConnectionToAControllerThatDoesNotRead() throws {
    var options = LoopOptions()
    options.reconnectionInterval = nil
    try withLoop(ToyMachine(), options) { (mailbox, far) throws in
      let log = EventLog<ToyMachine.Event>()
      _ = mailbox.attach(log.sink)
      let packet = [UInt8](repeating: 0, count: 65_536)
      for number in 0..<64 { #expect(mailbox.post(.send(number, packet))) }
      log.wait(for: .state(0))
      let failure = log.events.compactMap { if case .failed(let error) = $0 { error } else { nil } }.first
      #expect(failure?.kind == .inputOutput)
      #expect(failure?.what.contains("does not read") == true)
    }
  }
}
