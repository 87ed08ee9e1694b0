import BLEKit
import Synchronization

/// A subscription of `ble shell`: the values that no `wait` has taken.
final class ShellSubscription: Sendable {
  private struct State {
    var values: [[UInt8]] = []
    var hasEnded = false
    var waiting: CheckedContinuation<[UInt8]?, Never>?
    var task: Task<Void, Never>?
  }

  /// The values that are kept; of more, the oldest are left out.
  static let limit = 1_024

  private let state = Mutex(State())

  /// Reads values until ``cancel()`` or the end of the link.
  ///
  /// - Parameters:
  ///   - show: prints a value.
  ///   - failed: reports why there are no more values, unless the link has ended.
  func start(
    _ values: sending CharacteristicValues<[UInt8]>.Iterator, show: @escaping @Sendable ([UInt8]) -> Void,
    failed: @escaping @Sendable (BLEError) -> Void
  ) {
    let task = Task { [weak self] in
      var values = values
      do throws(BLEError) {
        while let value = try await values.next() {
          show(value)
          self?.add(value)
        }
      } catch {
        if error.kind != .cancelled, error.kind != .disconnected { failed(error) }
      }
      self?.end()
    }
    state.withLock { $0.task = task }
  }

  /// Ends the subscription.
  func cancel() {
    state.withLock { $0.task }?.cancel()
    end()
  }

  func add(_ value: [UInt8]) {
    let waiting = state.withLock { state -> CheckedContinuation<[UInt8]?, Never>? in
      if let waiting = state.waiting.take() { return waiting }
      if state.values.count == Self.limit { state.values.removeFirst() }
      state.values.append(value)
      return nil
    }
    waiting?.resume(returning: value)
  }

  func end() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      return state.waiting.take()
    }
    waiting?.resume(returning: nil)
  }

  /// The oldest value that was not taken; nil at the end of the subscription, and when the task is cancelled. One call
  /// waits at a time.
  func next() async -> [UInt8]? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state -> [UInt8]?? in
          if !state.values.isEmpty { return .some(state.values.removeFirst()) }
          if state.hasEnded || Task.isCancelled { return .some(nil) }
          state.waiting = continuation
          return nil
        }
        if let value { continuation.resume(returning: value) }
      }
    } onCancel: {
      state.withLock { $0.waiting.take() }?.resume(returning: nil)
    }
  }
}
