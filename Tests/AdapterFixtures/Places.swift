import Synchronization
package import Testing

/// A number of places that tests share, given to those that wait in their order.
package final class Places: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state: Mutex<State>

  package init(_ count: Int) { state = Mutex(State(free: count)) }

  /// The simulated radio of the process: its one thread serves all adapters. With hundreds of them a response would
  /// take longer than the limits that the specification gives a controller and a peer, which run in real time there.
  package static let radio = Places(4)
  /// The handler of ``BluetoothLog``, which the whole process shares.
  package static let log = Places(1)

  package func with<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    await withCheckedContinuation { task in
      let isFree = state.withLock { state in
        guard state.free > 0 else {
          state.waiting.append(task)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { task.resume() }
    }
    defer {
      let next: CheckedContinuation<Void, Never>? = state.withLock { state in
        guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
        state.free += 1
        return nil
      }
      next?.resume()
    }
    return try await body()
  }
}

/// Runs each test of a suite in a place.
package struct PlaceTrait: SuiteTrait, TestTrait, TestScoping {
  let places: Places

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await places.with(function)
  }
}

extension Trait where Self == PlaceTrait {
  /// For tests with adapters on the simulated radio of the process.
  package static var usesRadio: Self { PlaceTrait(places: .radio) }
  /// For tests that replace the handler of ``BluetoothLog``.
  package static var ownsLog: Self { PlaceTrait(places: .log) }
}
