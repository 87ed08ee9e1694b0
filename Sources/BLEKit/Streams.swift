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
}

extension AdapterSession {
  /// A stream whose end removes its entries from the state. It ends with the session.
  ///
  /// - Parameter first: the first element for the reader.
  func stream<Element: Sendable>(
    in path: any WritableKeyPath<State, Streams<Element>> & Sendable,
    first: @Sendable (borrowing State) -> [Element] = { _ in [] }
  ) -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Element.self, bufferingPolicy: .bufferingNewest(Streams<Element>.limit))
    let id = HostIDs.next32()
    continuation.onTermination = { [weak self] _ in
      self?.run { state, _ in
        state[keyPath: path].remove(id)
        state.streamEnds[id] = nil
      }
    }
    run { state, actions in
      for element in first(state) { actions.later { continuation.yield(element) } }
      if state.isClosed {
        actions.later { continuation.finish() }
      } else {
        state[keyPath: path].add(continuation, id)
        state.streamEnds[id] = { continuation.finish() }
      }
    }
    return stream
  }
}
