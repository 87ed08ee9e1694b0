/// A reference that keeps nothing alive, as a value that can be stored in other values.
struct WeakObject<Object: AnyObject & Sendable>: Sendable {
  weak let object: Object?

  init(_ object: Object?) { self.object = object }
}
