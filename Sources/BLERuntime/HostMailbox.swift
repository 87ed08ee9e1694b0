package import BLEGATT
package import BLEHost
package import BLELinux
internal import BLEWire
internal import Synchronization

/// The mailbox of an event loop: commands from any thread, events from the thread of the loop, both in order.
package final class HostMailbox<Command: Sendable, Event: Sendable>: Sendable {
  /// A function that takes a batch of events. It may exchange the array for another one, whose memory the loop uses
  /// next.
  ///
  /// It returns the number of events that it has handled. The others are reported to ``consumed(_:by:)`` later.
  package typealias Sink = @Sendable (inout [Event]) -> Int

  /// An item for the loop.
  enum Item: Sendable {
    /// A command, and the number of ``Items/octets`` that are its value.
    case command(Command, OwnerID, octets: Int)
    /// Values of one attribute. Their lengths are in ``Items/lengths``, and their octets are next in ``Items/octets``.
    case updates(UpdateRun)
    case attach(OwnerID, Sink)
    case detach(OwnerID)
    case shutdown
  }

  /// The items that wait for the loop, in order, with the values of the commands one after the other.
  struct Items: Sendable {
    private(set) var items: [Item] = []
    private(set) var octets = OctetQueue()
    /// The lengths of the values of all runs.
    private(set) var lengths: [Int] = []
    /// The last item, while it is a run that the next value of its attribute can extend. If it has no values, there is
    /// no such item.
    private var openRun = UpdateRun(of: AttributeID(rawValue: 0), from: .process, to: [], count: 0, octets: 0)

    var isEmpty: Bool { items.isEmpty && openRun.count == 0 }

    mutating func append(_ item: Item, octets: Span<UInt8> = Span()) {
      closeRun()
      items.append(item)
      if !octets.isEmpty { self.octets.append(Span(), octets) }
    }

    /// Whether a value of this attribute for these links would extend the last item.
    @inline(__always)
    func extendsRun(of attribute: AttributeID, to peers: [LinkID], from owner: OwnerID) -> Bool {
      openRun.count > 0 && openRun.attribute.rawValue == attribute.rawValue && openRun.owner == owner
        && openRun.peers == peers
    }

    /// Appends a value to the run that it extends, or to a new one.
    @inline(__always)
    mutating func append(
      _ value: Span<UInt8>, of attribute: AttributeID, to peers: [LinkID], from owner: OwnerID, extendsRun: Bool
    ) {
      if !extendsRun {
        closeRun()
        openRun = UpdateRun(of: attribute, from: owner, to: peers, count: 0, octets: 0)
      }
      openRun.count += 1
      openRun.octets += value.count
      lengths.append(value.count)
      octets.append(Span(), value)
    }

    /// Turns the open run into an item.
    mutating func closeRun() {
      guard openRun.count > 0 else { return }
      items.append(.updates(openRun))
      openRun.count = 0
    }

    mutating func removeAll() {
      items.removeFew()
      if !lengths.isEmpty { lengths.removeAll(keepingCapacity: true) }
      octets.removeAll()
    }
  }

  private struct State {
    var waiting = Items()
    var commandCount = 0
    /// Whether the loop takes the items before it waits again, so that it need not be woken.
    var isLoopAwake = false
    /// The owners whose commands were refused since the loop last took the items.
    var refused: Set<OwnerID> = []
    var isEnding = false
    var lastOwner = OwnerID.process
    /// The events that the sinks have received and not consumed.
    var backlogs = EventBacklogs()
    var isHeldBack = false
    var counters = HostCounters()

    mutating func makeOwner() -> OwnerID {
      repeat { lastOwner.rawValue &+= 1 } while lastOwner == .process || backlogs.contains(lastOwner)
      return lastOwner
    }

    /// - Returns: whether the loop must be woken for a change. It is false if the loop has already been woken for an
    ///   earlier change.
    mutating func wakesLoop() -> Bool {
      defer { isLoopAwake = true }
      return !isLoopAwake
    }
  }

  /// The number of commands that can wait for the loop, and half of those that can wait with the commands that are not
  /// refusable.
  package let commandLimit: Int
  private let isRefusable: @Sendable (Command) -> Bool
  /// The number of events that a sink can have without consuming them. With more, the transport is not read.
  package let eventBacklogLimit: Int
  let waker: Waker
  private let ended: Latch
  private let state = Mutex(State())

  /// - Parameter isRefusable: whether a command is rejected at ``commandLimit`` already.
  package init(
    commandLimit: Int, eventBacklogLimit: Int, isRefusable: @escaping @Sendable (Command) -> Bool = { _ in true }
  ) throws(SystemError) {
    self.commandLimit = max(1, commandLimit)
    self.isRefusable = isRefusable
    self.eventBacklogLimit = max(1, eventBacklogLimit)
    waker = try Waker()
    ended = try Latch()
  }

  /// Appends a command to the queue.
  ///
  /// - Parameter octets: the value of the command, if it is not in the command itself; copied without an allocation.
  /// - Returns: false if it was rejected: the queue is full, which an event reports to the owner, the owner has
  ///   detached, or the stack has ended.
  package func post(_ command: Command, octets: Span<UInt8> = Span(), from owner: OwnerID = .process) -> Bool {
    let admission = state.withLock { append(command, octets, from: owner, wakesLoop: true, &$0) }
    if admission.wakesHost { waker.wake() }
    return admission.isTaken
  }

  /// Appends a command, as ``post(_:octets:from:)`` does, without waking the loop. If the admission says so, call
  /// ``wake()``.
  package func enqueue(
    _ command: Command, octets: Span<UInt8> = Span(), from owner: OwnerID = .process
  ) -> CommandAdmission {
    state.withLock { append(command, octets, from: owner, wakesLoop: false, &$0) }
  }

  /// Appends a value of an attribute for some links, without waking the loop. Consecutive values for the same links are
  /// one item.
  package func enqueueUpdate(
    of attribute: AttributeID, octets: Span<UInt8>, to peers: [LinkID], from owner: OwnerID
  ) -> CommandAdmission {
    state.withLock { state in
      // The owner of an open run has not detached since the run was opened.
      let extendsRun = state.waiting.extendsRun(of: attribute, to: peers, from: owner)
      guard extendsRun || accepts(owner, state) else { return CommandAdmission(isTaken: false, wakesHost: false) }
      // The windows of the links limit the number of values.
      guard state.commandCount < 2 * commandLimit else {
        state.counters.refusedCommands &+= 1
        let isFirst = state.refused.insert(owner).inserted
        return CommandAdmission(isTaken: false, wakesHost: isFirst && !state.isLoopAwake)
      }
      state.commandCount += 1
      state.waiting.append(octets, of: attribute, to: peers, from: owner, extendsRun: extendsRun)
      return CommandAdmission(isTaken: true, wakesHost: !state.isLoopAwake)
    }
  }

  /// Wakes the loop for commands that were enqueued.
  package func wake() {
    let wakes = state.withLock { state in
      guard !state.waiting.isEmpty || !state.refused.isEmpty else { return false }
      return state.wakesLoop()
    }
    if wakes { waker.wake() }
  }

  /// - Parameter wakesLoop: whether the caller wakes the loop, if the admission says so, before another caller
  ///   enqueues.
  private func append(
    _ command: Command, _ octets: Span<UInt8>, from owner: OwnerID, wakesLoop: Bool, _ state: inout State
  ) -> CommandAdmission {
    guard accepts(owner, state) else { return CommandAdmission(isTaken: false, wakesHost: false) }
    let isTaken =
      state.commandCount < commandLimit || (state.commandCount < 2 * commandLimit && !isRefusable(command))
    if isTaken {
      state.commandCount += 1
      state.waiting.append(.command(command, owner, octets: octets.count), octets: octets)
      return CommandAdmission(isTaken: true, wakesHost: wakesLoop ? state.wakesLoop() : !state.isLoopAwake)
    }
    state.counters.refusedCommands &+= 1
    guard state.refused.insert(owner).inserted else { return CommandAdmission(isTaken: false, wakesHost: false) }
    return CommandAdmission(isTaken: false, wakesHost: wakesLoop ? state.wakesLoop() : !state.isLoopAwake)
  }

  /// Whether commands of an owner are accepted.
  private func accepts(_ owner: OwnerID, _ state: borrowing State) -> Bool {
    !state.isEnding && (owner == .process || state.backlogs.contains(owner))
  }

  /// Attaches an owner. `sink` receives every later event for it, on the stack's thread, in batches and in order.
  package func attach(_ sink: @escaping @Sendable ([Event]) -> Void) -> OwnerID {
    attachExchanging { events in
      sink(events)
      return 0
    }
  }

  /// Attaches an owner, as ``attach(_:)`` does, for a sink that takes the array itself.
  package func attachExchanging(_ sink: @escaping Sink) -> OwnerID {
    let owner = state.withLock { state in
      let owner = state.makeOwner()
      state.backlogs.add(owner)
      state.waiting.append(.attach(owner, sink))
      return owner
    }
    waker.wake()
    return owner
  }

  /// Detaches an owner. Its sink receives no event of a later batch, and its declarations are withdrawn.
  package func detach(_ owner: OwnerID) {
    state.withLock { state in
      guard state.backlogs.remove(owner) else { return }
      state.waiting.append(.detach(owner))
    }
    waker.wake()
  }

  /// Reports that the owner has handled `count` of its events.
  package func consumed(_ count: Int, by owner: OwnerID) {
    let wakes = state.withLock { state in
      state.backlogs.consumed(max(0, count), by: owner) && state.isHeldBack && isBelowHalf(state)
    }
    if wakes { waker.wake() }
  }

  /// Requests an orderly end. Later commands are rejected.
  package func shutDown() {
    state.withLock { state in
      guard !state.isEnding else { return }
      state.isEnding = true
      state.waiting.append(.shutdown)
    }
    waker.wake()
  }

  package var counters: HostCounters { state.withLock { $0.counters } }

  /// Whether the end was requested, or has occurred.
  package var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Waits until the loop has closed the transport.
  @discardableResult
  package func waitUntilEnded(atMost patience: Duration) -> Bool { ended.wait(atMost: patience) }
}

/// Functions for the thread of the loop.
extension HostMailbox {
  /// Takes all items, in order.
  ///
  /// - Parameter staysAwake: whether the loop calls ``prepareToWait()`` before it waits. It need not be woken before
  ///   that.
  /// - Returns: the owners whose commands were refused since the last call, in the order of their identifiers.
  func take(into items: inout Items, staysAwake: Bool = false) -> [OwnerID] {
    items.removeAll()
    return state.withLock { state in
      state.isLoopAwake = staysAwake
      state.waiting.closeRun()
      swap(&items, &state.waiting)
      state.commandCount = 0
      guard !state.refused.isEmpty else { return [] }
      defer { state.refused = [] }
      return state.refused.sorted { $0.rawValue < $1.rawValue }
    }
  }

  /// Takes the numbers of packets that the loop has received and sent.
  func count(received: UInt64, sent: UInt64) {
    state.withLock { ($0.counters.receivedPackets, $0.counters.sentPackets) = (received, sent) }
  }

  /// Prepares for a wait: the loop is woken for later items. The arguments are those of ``count(received:sent:)``.
  ///
  /// - Returns: `isHeldBack`: whether the transport must not be read, because a sink has exceeded the limit of events
  ///   and has not yet fallen below half of it. `hasItems`: whether there are items, which the loop must take before it
  ///   waits.
  func prepareToWait(received: UInt64, sent: UInt64) -> (isHeldBack: Bool, hasItems: Bool) {
    state.withLock { state in
      (state.counters.receivedPackets, state.counters.sentPackets) = (received, sent)
      let hasItems = !state.waiting.isEmpty || !state.refused.isEmpty
      state.isLoopAwake = hasItems
      let wasHeldBack = state.isHeldBack
      state.isHeldBack = wasHeldBack ? !isBelowHalf(state) : state.backlogs.most > eventBacklogLimit
      if state.isHeldBack, !wasHeldBack { state.counters.readingPauses &+= 1 }
      return (state.isHeldBack, hasItems)
    }
  }

  /// Counts events that the sink of an owner is about to receive. The loop takes the items that the sink posts before
  /// it waits again, and is not woken for them.
  ///
  /// - Returns: false if the owner has detached.
  func willDeliver(_ count: Int, to owner: OwnerID) -> Bool {
    state.withLock { state in
      state.isLoopAwake = true
      return state.backlogs.deliver(count, to: owner)
    }
  }

  /// Rejects all later items, after the loop has ended.
  func close() {
    state.withLock { state in
      state.isEnding = true
      state.waiting = Items()
      state.backlogs = EventBacklogs()
    }
    ended.open()
  }

  private func isBelowHalf(_ state: borrowing State) -> Bool {
    state.backlogs.most < max(1, eventBacklogLimit / 2)
  }
}

/// The events that each owner's sink has received and not consumed. An adapter has few owners, so that a search takes
/// less time than a hash.
private struct EventBacklogs {
  private var entries: [(owner: OwnerID, count: Int)] = []

  /// The largest number of events of one owner.
  var most: Int {
    var most = 0
    for entry in entries where entry.count > most { most = entry.count }
    return most
  }

  func contains(_ owner: OwnerID) -> Bool { index(of: owner) != nil }

  @inline(__always)
  private func index(of owner: OwnerID) -> Int? {
    for index in entries.indices where entries[index].owner == owner { return index }
    return nil
  }

  mutating func add(_ owner: OwnerID) { entries.append((owner, 0)) }

  /// - Returns: false if there is no such owner.
  mutating func remove(_ owner: OwnerID) -> Bool {
    guard let index = index(of: owner) else { return false }
    entries.remove(at: index)
    return true
  }

  /// - Returns: false if there is no such owner.
  mutating func deliver(_ count: Int, to owner: OwnerID) -> Bool {
    guard let index = index(of: owner) else { return false }
    entries[index].count += count
    return true
  }

  /// - Returns: false if there is no such owner.
  mutating func consumed(_ count: Int, by owner: OwnerID) -> Bool {
    guard let index = index(of: owner) else { return false }
    entries[index].count = max(0, entries[index].count - count)
    return true
  }
}
