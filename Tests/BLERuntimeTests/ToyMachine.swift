import BLEGATT
import BLEHost
import BLELinux
import BLERuntime
import BLEWire
import Foundation
import Synchronization
import Testing

/// A machine to drive the loop with: it echoes, counts, and tells everything it was asked.
struct ToyMachine: HostMachine {
  enum Command: Sendable {
    /// Sends the packet and tells that it was performed.
    case send(Int, [UInt8])
    case mark(Int)
    case setDeadline(Duration)
    /// Tells so many events at once.
    case burst(Int)
    /// Tells that it was performed, its owner alone.
    case markForOwner(Int)
  }

  enum Event: Equatable, Sendable {
    case started
    case received([UInt8])
    case reported(KernelReport)
    case performed(Int)
    case ticked
    case failed(TransportError)
    case state(Int)
    case shutDown
    case detached(OwnerID)
    case loop(LoopReport)
    case item
    case updated(AttributeID, [UInt8])
  }

  /// Sent when the pipe opens and when the machine is shut down.
  static let hello: [UInt8] = [0x01, 0x03, 0x0C, 0x00]
  static let farewell: [UInt8] = [0x01, 0x0A, 0x20, 0x01, 0x00]

  var deadline: Instant?
  var isShutDown = false
  let hasFailed = false
  /// Whether a packet that comes is sent back as a command.
  var answers = false
  /// Whether the shutdown waits for one more packet.
  var shutdownNeedsAnswer = false
  private var isEnding = false
  private var starts = 0
  private var state: Int?

  init(answers: Bool = false, shutdownNeedsAnswer: Bool = false) {
    self.answers = answers
    self.shutdownNeedsAnswer = shutdownNeedsAnswer
  }

  mutating func start(now: Instant, into output: inout Output) {
    starts += 1
    state = starts
    output.append(.started)
    output.append(.state(starts))
    output.packets.append { $0 += Self.hello }
  }

  mutating func receive(_ report: KernelReport, now: Instant, into output: inout Output) {
    output.append(.reported(report))
  }

  mutating func receive(_ packet: Span<UInt8>, now: Instant, into output: inout Output) {
    output.append(.received([UInt8](copying: packet)))
    if answers { output.packets.append { $0.append(copying: packet) } }
    if isEnding { isShutDown = true }
  }

  /// A deadline is set without an answer.
  static func isRefusable(_ command: Command) -> Bool { if case .setDeadline = command { false } else { true } }

  mutating func attach(_ owner: OwnerID, now: Instant, into output: inout Output) {
    if let state { output.append(.state(state), to: .owner(owner)) }
  }

  mutating func detach(_ owner: OwnerID, now: Instant, into output: inout Output) { output.append(.detached(owner)) }

  mutating func perform(
    _ command: Command, _ octets: Span<UInt8>, from owner: OwnerID, now: Instant, into output: inout Output
  ) {
    switch command {
    case .send(let number, let packet):
      output.packets.append { $0 += packet }
      output.append(.performed(number))
    case .mark(let number): output.append(.performed(number))
    case .setDeadline(let delay): deadline = now + delay
    case .burst(let count): for _ in 0..<count { output.append(.item) }
    case .markForOwner(let number): output.append(.performed(number), to: .owner(owner))
    }
  }

  mutating func update(
    _ run: UpdateRun, _ lengths: Span<Int>, _ octets: Span<UInt8>, now: Instant, into output: inout Output
  ) {
    var start = 0
    for place in lengths.indices {
      let value = octets.extracting(start..<start + lengths[place])
      output.append(.updated(run.attribute, [UInt8](copying: value)), to: .owner(run.owner))
      start += lengths[place]
    }
  }

  mutating func tick(now: Instant, into output: inout Output) {
    deadline = nil
    output.append(.ticked)
  }

  mutating func transportFailed(_ error: TransportError, now: Instant, into output: inout Output) {
    state = 0
    output.append(.failed(error))
    output.append(.state(0))
  }

  mutating func shutdown(now: Instant, into output: inout Output) {
    output.append(.shutDown)
    output.packets.append { $0 += Self.farewell }
    if shutdownNeedsAnswer { isEnding = true } else { isShutDown = true }
  }

  static func event(_ report: LoopReport) -> Event { .loop(report) }
}

/// What a test heard, on which it can wait.
final class EventLog<Event: Equatable & Sendable>: Sendable {
  private struct State {
    var events: [Event] = []
    var batches: [Int] = []
  }

  private let state = Mutex(State())
  private let changed = NSCondition()

  var sink: @Sendable ([Event]) -> Void {
    { events in
      self.changed.lock()
      self.state.withLock {
        $0.events += events
        $0.batches.append(events.count)
      }
      self.changed.broadcast()
      self.changed.unlock()
    }
  }

  var events: [Event] { state.withLock { $0.events } }
  var batches: [Int] { state.withLock { $0.batches } }

  /// Waits until `condition` holds of all events. The watchdog of the run ends and names a test that waits for ever.
  func wait(_ condition: ([Event]) -> Bool) {
    changed.lock()
    defer { changed.unlock() }
    while !condition(events) { changed.wait() }
  }

  func wait(for event: Event) { wait { $0.contains(event) } }
}

/// A stream or a thread that is not there.
struct Missing: Error {}

/// Longer than any run: only the watchdog of the run limits a wait.
let patience = Duration.seconds(1_000_000)

extension ByteStream {
  /// Reads exactly `count` octets, or fewer where the stream ends before.
  borrowing func readAll(_ count: Int) throws -> [UInt8] {
    var poller = try Poller()
    try poller.watch(descriptor, token: 0, for: .reading)
    var all: [UInt8] = []
    while all.count < count {
      var buffer = [UInt8](repeating: 0, count: count - all.count)
      switch try read(into: &buffer) {
      case .octets(let more): all += buffer[..<more]
      case .end: return all
      case .nothing: try poller.wait(until: nil, on: MonotonicClock())
      }
    }
    return all
  }

  borrowing func isEnded() throws -> Bool { try readAll(1).isEmpty }
}

extension StreamPort {
  mutating func waitForStream() throws -> ByteStream {
    let clock = MonotonicClock()
    while true {
      if let stream = try accept() { return stream }
      var poller = try Poller()
      let again = try watch(on: poller, token: 0).map { clock.now() + $0 }
      try poller.wait(until: again, on: clock)
    }
  }
}
