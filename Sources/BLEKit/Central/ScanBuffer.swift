import Synchronization

/// A result of a scan that can wait for a reader.
protocol ScanElement: Sendable {
  /// The number of results before this one that were dropped.
  var droppedBefore: Int { get set }
  /// The octets of memory that the result refers to.
  var allocatedOctets: Int { get }
}

/// The results of a scan that wait for its reader, who takes all of them at once.
final class ScanBuffer<Element: ScanElement>: Sendable {
  /// The maximum number of results that wait for the reader. One more drops the oldest, and
  /// ``ScanResult/droppedBefore`` of the next one counts it.
  static var limit: Int { 1024 }
  /// The memory that these results may refer to, in octets, each counted as if it shared nothing. Above it the oldest
  /// are dropped. ``limit`` results with the longest advertisements take less.
  static var maximumOctets: Int { 4 << 20 }

  /// Results in order.
  struct Batch: Sendable {
    /// A ring: the oldest is at `first`, and those after the last place continue at the first. Nil for results that
    /// were dropped.
    private var results: [Element?] = []
    private var first = 0
    /// The number of results, and the octets of memory that they refer to.
    private(set) var (count, allocatedOctets) = (0, 0)
    /// The number of results that were handed out.
    private var taken = 0
    /// The number of results before the first that were dropped.
    private var dropped = 0

    init() {}

    /// Hands out the oldest result that is left.
    mutating func next() -> Element? {
      guard taken < count else { return nil }
      let index = place(taken)
      taken += 1
      guard dropped > 0 else { return results[index] }
      var result = results[index]
      result?.droppedBefore = dropped
      dropped = 0
      return result
    }

    /// Adds a result; the oldest are dropped if there are too many.
    mutating func append(_ result: Element) {
      let octets = result.allocatedOctets
      while count > 0, count == ScanBuffer.limit || allocatedOctets + octets > ScanBuffer.maximumOctets { dropOldest() }
      let index = place(count)
      if index == results.count { results.append(result) } else { results[index] = result }
      count += 1
      allocatedOctets += octets
    }

    private mutating func dropOldest() {
      allocatedOctets -= results[first]?.allocatedOctets ?? 0
      results[first] = nil
      first = place(1)
      count -= 1
      dropped += 1
    }

    /// The place of a result, by its number after the oldest.
    private func place(_ number: Int) -> Int {
      let index = first + number
      return index < ScanBuffer.limit ? index : index - ScanBuffer.limit
    }

    fileprivate mutating func removeAll() {
      results.removeAll(keepingCapacity: true)
      (first, count, allocatedOctets, taken, dropped) = (0, 0, 0, 0, 0)
    }
  }

  private struct State: Sendable {
    var waiting = Batch()
    /// How the scan has ended: with an error, or because its reader was cancelled.
    var end: Result<Void, BLEError>?
    var reader: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// Adds results under one lock.
  ///
  /// - Returns: whether the reader waits for them: call ``wake()`` then, if no more results follow at once.
  func append(_ add: (inout Batch) -> Void) -> Bool {
    state.withLock { state in
      guard state.end == nil else { return false }
      add(&state.waiting)
      return state.reader != nil && state.waiting.count > 0
    }
  }

  /// Resumes a waiting reader if there are results, or if the scan has ended.
  func wake() {
    let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waiting.count > 0 || state.end != nil else { return nil }
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume()
  }

  /// Ends the sequence, after the results that have arrived.
  func finish(throwing error: BLEError?) {
    state.withLock { state in
      if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
    }
    wake()
  }

  /// Stores a task that waits until there are results, or the end.
  ///
  /// - Returns: false if it does not have to wait.
  private func keep(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
    let (isKept, earlier) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
      if state.waiting.count > 0 || state.end != nil { return (false, nil) }
      // An iterator has one reader: another one that waited checks again.
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

  /// Takes the results that have arrived. The memory of the batch is reused.
  ///
  /// - Returns: false if there is nothing yet; true with an empty batch at the end.
  func take(into batch: inout Batch) throws(BLEError) -> Bool {
    batch.removeAll()
    let error: BLEError?
    let isReady: Bool
    (isReady, error) = state.withLock { state in
      guard state.waiting.count == 0 else {
        swap(&state.waiting, &batch)
        return (true, nil)
      }
      guard case .failure(let error)? = state.end else { return (state.end != nil, nil) }
      // It is thrown once.
      state.end = .success(())
      return (true, error)
    }
    if let error { throw error }
    return isReady
  }
}

/// The reader's side of a scan, which ends when the iterator is released or its task is cancelled.
final class ScanReader<Element: ScanElement>: Sendable {
  private let results: ScanBuffer<Element>
  private let end: @Sendable () -> Void

  init(_ results: ScanBuffer<Element>, _ end: @escaping @Sendable () -> Void) {
    (self.results, self.end) = (results, end)
  }

  deinit { end() }

  /// Takes the results, and waits if there are none. At the end there are none.
  func take(into batch: inout ScanBuffer<Element>.Batch, isolation actor: isolated (any Actor)?) async throws(BLEError)
  {
    if Task.isCancelled { stop() }
    while true {
      if try results.take(into: &batch) { return }
      await withTaskCancellationHandler {
        await results.wait(isolation: actor)
      } onCancel: {
        stop()
      }
    }
  }

  /// Ends the scan. The reader gets the results that have arrived, then the end.
  func stop() {
    end()
    results.finish(throwing: nil)
  }
}
