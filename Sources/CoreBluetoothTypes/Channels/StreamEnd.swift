import BLEAdapter
import Dispatch
import Foundation

/// One direction of a channel, with the state of a Foundation stream: status, delegate, pending events and waiting
/// callers.
///
/// ```
///   notOpen ──open──► open ──the channel has ended, and all is read──► atEnd, or error
///      └────close───────┴───────────────────close──────────────────────► closed
/// ```
///
/// Events, in this order: `openCompleted` once; `hasBytesAvailable` or `hasSpaceAvailable`, once until the program
/// reads or writes; `endEncountered` or `errorOccurred` once. An event without a delegate stays due.
///
/// The lock is `condition`, for everything here and in ``schedule``. The delegate is called without it.
final class StreamEnd: @unchecked Sendable {
  enum Direction { case input, output }

  let channel: ChannelStream
  let direction: Direction
  private let condition = NSCondition()
  private lazy var schedule = StreamSchedule { [weak self] in self?.deliver() }
  private weak var stream: Stream?
  private weak var heldDelegate: (any StreamDelegate)?
  private var phase = Phase.notOpen
  private var isOpenReported = false
  private var isReadyReported = false
  private var isEndReported = false
  private let closed: @Sendable () -> Void

  private enum Phase { case notOpen, open, closed }

  /// - Parameter closed: called once, when the program has closed the stream.
  init(_ channel: ChannelStream, _ direction: Direction, closed: @escaping @Sendable () -> Void) {
    (self.channel, self.direction, self.closed) = (channel, direction, closed)
  }

  func attach(_ stream: Stream) { self.stream = stream }

  private func locked<Value>(_ body: () -> Value) -> Value {
    condition.lock()
    defer { condition.unlock() }
    return body()
  }

  var delegate: (any StreamDelegate)? {
    get { locked { heldDelegate } }
    set {
      locked {
        heldDelegate = newValue
        signalIfDue()
      }
    }
  }

  func open() {
    locked {
      guard phase == .notOpen else { return }
      phase = .open
      signalIfDue()
    }
  }

  func close() {
    let isNew = locked {
      guard phase != .closed else { return false }
      phase = .closed
      schedule.removeAll()
      condition.broadcast()
      return true
    }
    if isNew { closed() }
  }

  var status: Stream.Status {
    locked {
      switch phase {
      case .notOpen: .notOpen
      case .closed: .closed
      case .open: end.map { $0.isOrderly ? .atEnd : .error } ?? .open
      }
    }
  }

  var error: (any Error)? { locked { phase == .notOpen ? nil : end.flatMap(CBError.init(channel:)) } }

  /// Whether the program can read or write without waiting.
  var isReady: Bool { locked { phase == .open && (direction == .input ? channel.unreadOctets > 0 : channel.room > 0) } }

  func add(_ loop: RunLoop, _ mode: RunLoop.Mode) {
    locked {
      guard phase != .closed else { return }
      schedule.add(loop, mode) { [weak self] in self?.confirmCurrent() }
      signalIfDue()
    }
  }

  private func confirmCurrent() {
    locked {
      schedule.confirmCurrent()
      signalIfDue()
    }
  }

  func remove(_ loop: RunLoop, _ mode: RunLoop.Mode) { locked { schedule.remove(loop, mode) } }

  var queue: DispatchQueue? {
    get { locked { schedule.queue } }
    set {
      locked {
        guard phase != .closed else { return }
        schedule.set(newValue)
        signalIfDue()
      }
    }
  }

  /// The channel has octets, room, or has ended.
  func changed() {
    locked {
      condition.broadcast()
      signalIfDue()
    }
  }

  /// Reads at least one octet; waits for it.
  ///
  /// - Returns: empty at the end of an orderly channel; nil after an error, and if the stream is not open.
  func read(atMost limit: Int) -> [UInt8]? {
    locked {
      while phase == .open {
        isReadyReported = false
        let octets = channel.read(atMost: limit)
        if !octets.isEmpty || limit <= 0 || end != nil {
          signalIfDue()
          guard octets.isEmpty, let end, !end.isOrderly else { return octets }
          return nil
        }
        condition.wait()
      }
      return nil
    }
  }

  /// Writes at least one octet; waits for room.
  ///
  /// - Parameter octets: returns at most the given number of octets.
  /// - Returns: the number of octets written; nil where the stream is not open or the channel has ended.
  func write(_ octets: (Int) -> [UInt8]) -> Int? {
    locked {
      while phase == .open, channel.end == nil {
        isReadyReported = false
        let next = octets(max(1, channel.room))
        let written = channel.write(next)
        if written > 0 || next.isEmpty {
          signalIfDue()
          return written
        }
        condition.wait()
      }
      return nil
    }
  }

  /// The end of the channel, as far as the program has reached it.
  private var end: ChannelEnd? { direction == .input && channel.unreadOctets > 0 ? nil : channel.end }

  /// The event that is due.
  private var due: Stream.Event? {
    guard phase == .open, heldDelegate != nil else { return nil }
    if !isOpenReported { return .openCompleted }
    if !isReadyReported {
      if direction == .input, channel.unreadOctets > 0 { return .hasBytesAvailable }
      if direction == .output, channel.isWritable { return .hasSpaceAvailable }
    }
    guard !isEndReported, let end else { return nil }
    return end.isOrderly ? .endEncountered : .errorOccurred
  }

  private func signalIfDue() { if due != nil { schedule.signal() } }

  /// Calls the delegate with one event that is due. Another one that is due follows in the next turn of the run loop.
  private func deliver() {
    let call: (delegate: any StreamDelegate, stream: Stream, event: Stream.Event)? = locked {
      guard let event = due, let delegate = heldDelegate, let stream else { return nil }
      switch event {
      case .openCompleted: isOpenReported = true
      case .hasBytesAvailable, .hasSpaceAvailable: isReadyReported = true
      default: isEndReported = true
      }
      return (delegate, stream, event)
    }
    guard let call else { return }
    call.delegate.stream(call.stream, handle: call.event)
    locked { signalIfDue() }
  }
}
