import BLEHost

/// The tasks that wait for answers of the host, by the identifier that the answer carries.
struct Waiters<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Continuation = CheckedContinuation<Result<Value, BLEError>, Never>

  fileprivate var waiting: [Key: Continuation] = [:]

  var isEmpty: Bool { waiting.isEmpty }

  mutating func add(_ continuation: Continuation, for key: Key) { waiting[key] = continuation }

  /// Removes and returns the task that waits for this answer; nil if it no longer waits.
  mutating func take(_ key: Key) -> Continuation? { waiting.removeValue(forKey: key) }

  mutating func answer(_ key: Key, _ result: Result<Value, BLEError>, into actions: inout Actions) {
    guard let continuation = take(key) else { return }
    actions.later { continuation.resume(returning: result) }
  }

  /// Ends the wait of every task whose key `isMeant` selects.
  mutating func fail(_ error: BLEError, where isMeant: (Key) -> Bool = { _ in true }, into actions: inout Actions) {
    for key in waiting.keys.filter(isMeant) { answer(key, .failure(error), into: &actions) }
  }
}

/// The effects of a change of the state: commands in the order in which they were decided, posted under the lock, and
/// calls of other objects, made after it is released.
struct Actions {
  var commands: [HostCommand] = []
  private(set) var calls: [@Sendable () -> Void] = []

  mutating func later(_ call: @escaping @Sendable () -> Void) { calls.append(call) }
}

extension Waiters where Value == Void {
  mutating func succeedAll(into actions: inout Actions) {
    for key in Array(waiting.keys) { answer(key, .success(()), into: &actions) }
  }
}

extension Waiters {
  /// Answers every task whose key `isMeant` selects with the same value.
  mutating func succeed(_ value: Value, where isMeant: (Key) -> Bool, into actions: inout Actions) {
    for key in waiting.keys.filter(isMeant) { answer(key, .success(value), into: &actions) }
  }
}
/// The readers of one kind of event; each has a bounded buffer, which keeps the newest elements.
struct Streams<Element: Sendable>: Sendable {
  private var continuations: [UInt32: AsyncStream<Element>.Continuation] = [:]

  /// Elements kept for a reader that does not read; the oldest is dropped then.
  static var limit: Int { 256 }

  var isEmpty: Bool { continuations.isEmpty }

  mutating func add(_ continuation: AsyncStream<Element>.Continuation, _ id: UInt32) {
    continuations[id] = continuation
  }
  mutating func remove(_ id: UInt32) { continuations[id] = nil }

  func yield(_ element: Element, into actions: inout Actions) {
    for continuation in continuations.values { actions.later { continuation.yield(element) } }
  }

  mutating func finish(into actions: inout Actions) {
    for continuation in continuations.values { actions.later { continuation.finish() } }
    continuations = [:]
  }
}

extension AdapterSession {
  /// A stream whose end removes its entry from the state.
  ///
  /// - Parameter first: the first element for the reader.
  func stream<Element: Sendable>(
    in path: any WritableKeyPath<State, Streams<Element>> & Sendable,
    first: @Sendable (borrowing State) -> [Element] = { _ in [] }
  ) -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Element.self, bufferingPolicy: .bufferingNewest(Streams<Element>.limit))
    let id = HostIDs.next32()
    continuation.onTermination = { [weak self] _ in self?.run { state, _ in state[keyPath: path].remove(id) } }
    run { state, actions in
      for element in first(state) { actions.later { continuation.yield(element) } }
      if state.isClosed {
        actions.later { continuation.finish() }
      } else {
        state[keyPath: path].add(continuation, id)
      }
    }
    return stream
  }
}
