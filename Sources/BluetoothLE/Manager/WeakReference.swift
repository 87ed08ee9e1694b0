/// One of the façade's own objects, not kept alive.
struct WeakReference<Object: AnyObject & Sendable>: Sendable {
  private(set) weak var object: Object?

  init(_ object: Object?) { self.object = object }
}
