import Dispatch
import Synchronization

/// The octets of one credit-based L2CAP channel, in both directions, for any thread.
///
/// ```
///   write(_:) ──► unsent ──► SDUs that fill the peer's frames ──► host ──► peer      the host reports what has left its queue
///   read(_:)  ◄── unread ◄────────── SDUs ◄────────────────── host ◄── peer        didRead gives the credit of an SDU back
///
///   open ──close()──► closing ──all sent, or ``Limits/linger``──► ended
///     └────────── the peer, a violation or the link ────────────► ended            what was received can still be read
/// ```
///
/// No octet is lost or reordered while the channel is open. Both directions are bounded: the host holds at most
/// ``Limits/outstandingOctets`` and ``Limits/outstandingSDUs`` of this channel, and ``write(_:)`` accepts no more; the
/// credits limit what the peer can have unread here. Calls do not wait. The lock is `state`; commands are posted under
/// it, so that they are sent in the order of the calls, and the handler is called without it.
package final class ChannelStream: Sendable {
  /// The limits of one channel.
  package struct Limits: Sendable {
    /// Octets that were accepted and have not left the queue of the host. The queue of a channel in the host has the
    /// same limit.
    package var outstandingOctets = 65_536
    /// SDUs that the host has. Octets of small writes wait here for another, and share an SDU.
    package var outstandingSDUs = 32
    /// The time that ``ChannelStream/close()`` gives accepted octets to leave.
    package var linger = Duration.seconds(10)

    package init() {}
  }

  /// A command of the stream to the host.
  package enum Command: Equatable, Sendable {
    case send([UInt8])
    /// One SDU was read.
    case didRead
    case close
  }

  /// A change that the user of the stream waits for.
  package enum Event: Equatable, Sendable {
    /// There are octets to read, where there were none.
    case readable
    /// There is room again.
    case writable
    /// The channel has ended, or was closed here. Octets that were received from the peer can still be read after its
    /// end.
    case ended(ChannelEnd)
    /// After ``ended(_:)``: accepted octets have left the host, or are lost.
    case finished
  }

  package typealias Handler = @Sendable (Event) -> Void
  /// Calls its second argument when the time has passed.
  package typealias Timer = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

  /// The peer's MTU: the largest SDU that is sent, in octets. It may grow.
  package var maximumLength: Int { remoteMTU.load(ordering: .relaxed) }
  private let remoteMTU: Atomic<Int>
  /// The peer's MPS: the longest frame, in octets.
  private let frameLength: Int
  /// The greatest length of an SDU whose frames are all full, in octets; ``maximumLength`` if one frame has them all.
  package var fillingLength: Int {
    let (longest, sduLengthSize) = (maximumLength, 2)
    guard frameLength > sduLengthSize, frameLength < longest + sduLengthSize else { return longest }
    return (longest + sduLengthSize) / frameLength * frameLength - sduLengthSize
  }
  private let limits: Limits
  private let post: @Sendable (Command) -> Void
  private let later: Timer
  private let state = Mutex(State())

  fileprivate struct State: Sendable {
    var phase = Phase.open
    /// SDUs that are not read as a whole.
    var unread: [[UInt8]] = []
    /// The octets of the first of them that are read.
    var readOctets = 0
    var unreadOctets = 0
    /// Octets that are accepted and not in an SDU.
    var unsent: [UInt8] = []
    /// The lengths of the SDUs that the host has, without the octets that have left.
    var outstanding: [Int] = []
    var outstandingOctets = 0
    /// ``Event/writable`` follows when there is room.
    var owesWritable = false
    /// SDUs of the peer are discarded.
    var isDiscarding = false
    var handler: Handler?
  }

  fileprivate enum Phase: Equatable, Sendable {
    case open
    case closing
    case ended(ChannelEnd)
  }

  /// - Parameters:
  ///   - maximumLength: the peer's MTU, in octets.
  ///   - frameLength: the peer's MPS, in octets.
  ///   - later: calls its second argument when the time has passed.
  ///   - post: performs a command; it must not call the stream back.
  package init(
    maximumLength: Int, frameLength: Int = .max, limits: Limits = Limits(),
    later: @escaping Timer = ChannelStream.wait,
    post: @escaping @Sendable (Command) -> Void
  ) {
    remoteMTU = Atomic(max(1, maximumLength))
    self.frameLength = frameLength
    (self.limits, self.later, self.post) = (limits, later, post)
  }

  /// Sets the handler, which is called at once with the present state, and with each change from then on. It replaces
  /// an earlier one.
  ///
  /// It is called on the thread that causes the change, and may call the stream.
  package func observe(_ handler: Handler?) {
    let events = state.withLock { state in
      state.handler = handler
      var events: [Event] = state.unreadOctets > 0 || !state.unread.isEmpty ? [.readable] : []
      switch state.phase {
      case .open: break
      case .closing: events.append(.ended(.closed))
      case .ended(let end): events += [.ended(end), .finished]
      }
      return events
    }
    if let handler { for event in events { handler(event) } }
  }

  /// Why the channel has ended; nil while it is open.
  package var end: ChannelEnd? {
    state.withLock { state in
      switch state.phase {
      case .open: nil
      case .closing: .closed
      case .ended(let end): end
      }
    }
  }

  /// Ends the channel when the octets that were accepted have left, or after ``Limits/linger``. Unread octets are
  /// discarded.
  package func close() {
    let (isDone, handler): (Bool, Handler?) = change { state in
      guard state.phase == .open else { return (true, nil) }
      (state.unread, state.readOctets, state.unreadOctets) = ([], 0, 0)
      state.phase = .closing
      return (finishClosing(&state), state.handler)
    }
    handler?(.ended(.closed))
    if isDone { handler?(.finished) } else { later(limits.linger) { [self] in abort() } }
  }

  /// Discards unread octets, and those that are received from now on. The peer still gets credits.
  package func stopReading() {
    change { state in
      state.isDiscarding = true
      for _ in state.unread { didRead(&state) }
      (state.unread, state.readOctets, state.unreadOctets) = ([], 0, 0)
    }
  }

  /// Ends the channel at once. Octets that have not left the host are lost.
  package func abort() {
    let (wasOpen, handler): (Bool, Handler?) = change { state in
      if case .ended = state.phase { return (false, nil) }
      let wasOpen = state.phase == .open
      state.phase = .ended(.closed)
      state.discardUnsent()
      post(.close)
      return (wasOpen, state.handler)
    }
    if wasOpen { handler?(.ended(.closed)) }
    handler?(.finished)
  }

  private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

  /// Posts the end of a channel that was closed here, once nothing waits to leave.
  ///
  /// - Returns: whether it was posted.
  private func finishClosing(_ state: inout State) -> Bool {
    guard state.phase == .closing, state.unsent.isEmpty, state.outstanding.isEmpty else { return false }
    state.phase = .ended(.closed)
    post(.close)
    return true
  }

  /// Calls `body` when the time has passed, on a thread of the system.
  package static let wait: Timer = { time, body in
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: body)
  }
}

/// Reading.
extension ChannelStream {
  /// The octets that can be read now.
  package var unreadOctets: Int { change { $0.unreadOctets } }

  /// Takes received octets, at most `limit` of them; none if there are none. The boundaries of SDUs are not visible.
  package func read(atMost limit: Int) -> [UInt8] {
    change { state in
      var octets: [UInt8] = []
      while let first = state.unread.first, octets.count < limit || state.readOctets == first.count {
        let part = first[state.readOctets..<min(first.count, state.readOctets + limit - octets.count)]
        octets += part
        state.readOctets += part.count
        guard state.readOctets == first.count else { break }
        state.unread.removeFirst()
        state.readOctets = 0
        didRead(&state)
      }
      state.unreadOctets -= octets.count
      return octets
    }
  }

  /// Takes the next SDU, or the rest of one that was read in part; nil if there is none.
  package func readSDU() -> [UInt8]? {
    change { state in
      guard let first = state.unread.first else { return nil }
      let rest = state.readOctets == 0 ? first : Array(first[state.readOctets...])
      state.unread.removeFirst()
      state.readOctets = 0
      state.unreadOctets -= rest.count
      didRead(&state)
      return rest
    }
  }

  private func didRead(_ state: inout State) {
    guard state.phase == .open else { return }
    post(.didRead)
  }
}

/// Writing.
extension ChannelStream {
  /// The octets that ``write(_:)`` accepts now.
  package var room: Int { change { room($0) } }
  /// Whether there is enough room for a waiting writer to continue: half of the limit.
  package var isWritable: Bool { change { isWritable($0) } }

  /// Accepts octets as far as there is room. If not all were accepted, or the next would not be, ``Event/writable``
  /// follows when ``isWritable``.
  ///
  /// They are sent in SDUs of at most ``fillingLength`` octets, whose boundaries mean nothing: octets that are written
  /// while the host has ``Limits/outstandingSDUs`` are sent together.
  ///
  /// - Returns: the number of octets accepted, from the first on; 0 if the channel is not open.
  package func write(_ octets: [UInt8]) -> Int {
    change { state in
      guard state.phase == .open else { return 0 }
      let accepted = min(octets.count, room(state))
      state.unsent += octets.prefix(accepted)
      cut(&state)
      if accepted < octets.count || !isWritable(state) { state.owesWritable = true }
      return accepted
    }
  }

  /// Sends one SDU, if there is room; ``Event/writable`` follows if there was none.
  ///
  /// - Parameter sdu: 1 to ``maximumLength`` octets.
  /// - Returns: whether it is sent; also false if the channel is not open.
  package func send(_ sdu: [UInt8]) -> Bool {
    change { state in
      guard state.phase == .open, !sdu.isEmpty, sdu.count <= maximumLength else { return false }
      guard sdu.count <= room(state), state.unsent.isEmpty, state.outstanding.count < limits.outstandingSDUs else {
        state.owesWritable = true
        return false
      }
      send(sdu, &state)
      return true
    }
  }

  private func room(_ state: borrowing State) -> Int {
    guard state.phase == .open else { return 0 }
    return max(0, limits.outstandingOctets - state.outstandingOctets - state.unsent.count)
  }

  private func isWritable(_ state: borrowing State) -> Bool {
    room(state) >= max(1, limits.outstandingOctets / 2)
      && state.outstanding.count <= limits.outstandingSDUs / 2
  }

  /// Sends accepted octets, while the host may have more SDUs.
  private func cut(_ state: inout State) {
    var begin = 0
    let length = fillingLength
    while begin < state.unsent.count, state.outstanding.count < limits.outstandingSDUs {
      let end = min(begin + length, state.unsent.count)
      send(Array(state.unsent[begin..<end]), &state)
      begin = end
    }
    state.unsent.removeFirst(begin)
  }

  private func send(_ sdu: [UInt8], _ state: inout State) {
    state.outstanding.append(sdu.count)
    state.outstandingOctets += sdu.count
    post(.send(sdu))
  }
}

/// Reports of the host.
extension ChannelStream {
  /// An SDU of the peer. An empty one counts as read.
  package func received(_ sdu: [UInt8]) {
    let handler: Handler? = change { state in
      guard state.phase == .open else { return nil }
      guard !state.isDiscarding, !sdu.isEmpty else {
        didRead(&state)
        return nil
      }
      let wasEmpty = state.unread.isEmpty
      state.unread.append(sdu)
      state.unreadOctets += sdu.count
      return wasEmpty ? state.handler : nil
    }
    handler?(.readable)
  }

  /// The peer accepts larger SDUs.
  package func resized(_ maximumLength: Int) { remoteMTU.store(max(1, maximumLength), ordering: .relaxed) }

  /// Octets of SDUs have left the queue of the host, in the order in which they were sent.
  package func sent(_ octets: Int) {
    let (event, handler): (Event, Handler?) = change { state in
      var rest = octets
      while let first = state.outstanding.first, rest >= first {
        rest -= first
        state.outstandingOctets -= first
        state.outstanding.removeFirst()
      }
      if let first = state.outstanding.first, rest > 0 {
        state.outstanding[0] = first - rest
        state.outstandingOctets -= rest
      }
      cut(&state)
      if finishClosing(&state) { return (.finished, state.handler) }
      guard state.owesWritable, isWritable(state) else { return (.writable, nil) }
      state.owesWritable = false
      return (.writable, state.handler)
    }
    handler?(event)
  }

  /// The channel has ended. A later report changes nothing.
  package func ended(_ end: ChannelEnd) {
    let (wasOpen, handler): (Bool, Handler?) = change { state in
      let wasOpen = state.phase == .open
      if case .ended = state.phase { return (false, nil) }
      state.phase = .ended(wasOpen ? end : .closed)
      state.discardUnsent()
      return (wasOpen, state.handler)
    }
    if wasOpen { handler?(.ended(end)) }
    handler?(.finished)
  }
}

extension ChannelStream.State {
  fileprivate mutating func discardUnsent() { (unsent, outstanding, outstandingOctets) = ([], [], 0) }
}
