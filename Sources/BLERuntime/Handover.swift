internal import Synchronization

/// Carries one value that cannot be copied to another thread.
final class Handover<Value: ~Copyable & Sendable>: Sendable {
  private let slot: Mutex<Value?>

  init(_ value: consuming Value) { slot = Mutex(value) }

  /// The value, the first time.
  func take() -> Value? {
    slot.withLock { (slot: inout Value?) -> Value? in slot.take() }
  }
}
