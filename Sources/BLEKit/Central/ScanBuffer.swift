import Synchronization

/// The results of a scan that wait for its reader, who takes all of them at once.
final class ScanBuffer: Sendable {
  /// Results that wait for the reader; the oldest is dropped then.
  static let limit = 1024

  private struct State: Sendable {
    /// The oldest at ``first``, and before that where the oldest was dropped.
    var results: [ScanResult] = []
    var first = 0
    /// How the scan has ended: with an error, or because its reader was cancelled.
    var end: Result<Void, BLEError>?
    var reader: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// Adds a result.
  ///
  /// - Returns: whether the reader waits: call ``wake()`` then, when more results are not at hand.
  func append(_ result: ScanResult) -> Bool {
    state.withLock { state in
      guard state.end == nil else { return false }
      if state.results.count < Self.limit {
        state.results.append(result)
      } else {
        state.results[state.first] = result
        state.first = (state.first + 1) % Self.limit
      }
      return state.reader != nil
    }
  }

  /// Lets a reader go on that waits for results that are there, or for the end.
  func wake() {
    let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.results.isEmpty || state.end != nil else { return nil }
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume()
  }

  /// Ends the sequence, after the results that are there.
  func finish(throwing error: BLEError?) {
    state.withLock { state in
      if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
    }
    wake()
  }

  /// Keeps a task that waits until there are results, or the end.
  ///
  /// - Returns: false where it need not wait.
  private func keep(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
    let (isKept, earlier) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
      if !state.results.isEmpty || state.end != nil { return (false, nil) }
      // An iterator has one reader: another one that waited looks again.
      defer { state.reader = continuation }
      return (true, state.reader)
    }
    earlier?.resume()
    return isKept
  }

  /// Waits until there are results, or the end.
  func wait(isolation actor: isolated (any Actor)?) async {
    await withCheckedContinuation { if !keep($0) { $0.resume() } }
  }

  /// Takes what is there.
  ///
  /// - Returns: the results, the newest first; none at the end, and nil where they are to be waited for.
  func take() throws(BLEError) -> [ScanResult]? {
    let taken: Result<[ScanResult]?, BLEError> = state.withLock { state in
      guard state.results.isEmpty else {
        let (results, first) = (state.results, state.first)
        (state.results, state.first) = ([], 0)
        if first == 0 { return .success(results.reversed()) }
        return .success((results[first...] + results[..<first]).reversed())
      }
      switch state.end {
      case nil: return .success(nil)
      case .success: return .success([])
      case .failure(let error):
        // It is thrown once.
        state.end = .success(())
        return .failure(error)
      }
    }
    return try taken.get()
  }
}

/// The reader's side of a scan, which ends when the iterator is released or its task is cancelled.
final class ScanReader: Sendable {
  private let results: ScanBuffer
  private let end: @Sendable () -> Void

  init(_ results: ScanBuffer, _ end: @escaping @Sendable () -> Void) { (self.results, self.end) = (results, end) }

  deinit { end() }

  /// Takes the results, and waits where there are none.
  ///
  /// - Returns: the results, the newest first; none at the end.
  func take(isolation actor: isolated (any Actor)?) async throws(BLEError) -> [ScanResult] {
    if Task.isCancelled { cancel() }
    while true {
      if let results = try results.take() { return results }
      await withTaskCancellationHandler {
        await results.wait(isolation: actor)
      } onCancel: {
        cancel()
      }
    }
  }

  private func cancel() {
    end()
    results.finish(throwing: nil)
  }
}
