/// `Synchronization.Atomic` on the ``Mutex`` of this module: the operations that the package uses, each with the
/// strongest ordering. A weaker ordering than a program needs is thus not found by the sanitizer.
public struct Atomic<Value: Sendable>: ~Copyable, Sendable {
  private let value: Mutex<Value>

  public init(_ initialValue: Value) { value = Mutex(initialValue) }

  public borrowing func load(ordering: AtomicOrdering) -> Value { value.withLock { $0 } }

  public borrowing func store(_ desired: Value, ordering: AtomicOrdering) { value.withLock { $0 = desired } }

  public borrowing func exchange(_ desired: Value, ordering: AtomicOrdering) -> Value {
    value.withLock { value in
      let old = value
      value = desired
      return old
    }
  }
}

extension Atomic where Value: FixedWidthInteger {
  @discardableResult
  public borrowing func wrappingAdd(_ operand: Value, ordering: AtomicOrdering) -> (oldValue: Value, newValue: Value) {
    value.withLock { value in
      let old = value
      value &+= operand
      return (old, value)
    }
  }

  @discardableResult
  public borrowing func wrappingSubtract(
    _ operand: Value, ordering: AtomicOrdering
  ) -> (oldValue: Value, newValue: Value) {
    wrappingAdd(0 &- operand, ordering: ordering)
  }
}

/// The orderings of all operations; they have no effect here.
public enum AtomicOrdering: Sendable {
  case relaxed, acquiring, releasing, acquiringAndReleasing, sequentiallyConsistent
}
