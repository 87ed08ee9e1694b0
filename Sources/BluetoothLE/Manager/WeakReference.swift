/// Carries an object to the delegate's queue without keeping it alive: the one place where the compiler is asked to
/// believe instead of to check (Docs/Decisions/0051).
///
/// A delegate is the application's object and need not be `Sendable`. It is put in by the thread that sets the delegate
/// and taken out only on the delegate's queue, where the application expects its calls; in between the reference is only
/// copied.
struct WeakReference<Object>: @unchecked Sendable {
  private weak var reference: AnyObject?

  init(_ object: Object?) { reference = object.map { $0 as AnyObject } }

  var object: Object? { reference as? Object }
}
