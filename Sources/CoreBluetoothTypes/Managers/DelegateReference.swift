/// Carries a delegate to its queue without keeping it alive: the one place where the compiler is asked to believe instead
/// of to check (Docs/Decisions/0051).
///
/// A delegate is the application's object and need not be `Sendable`. It is put in by the thread that sets the delegate
/// and taken out on the delegate's queue, where the application expects its calls; in between the reference is only copied.
struct DelegateReference<Delegate>: @unchecked Sendable {
  private let read: () -> Delegate?

  /// - Parameter read: reads a weak reference. (A weak property of a generic type cannot be declared, and casting would
  ///   refuse a delegate whose conformance belongs to an actor.)
  init(_ read: @escaping () -> Delegate?) { self.read = read }

  var object: Delegate? { read() }
}
