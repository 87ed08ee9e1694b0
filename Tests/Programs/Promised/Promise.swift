/// A value that is there later, or an error. It is used on one queue: the one on which it is resolved.
public final class Promise<Value> {
  private var result: Result<Value, Error>?
  private var observers: [(Result<Value, Error>) -> Void] = []

  public init(_ body: (Resolver<Value>) -> Void) { body(Resolver(self)) }

  public static func value(_ value: Value) -> Promise { Promise { $0.fulfill(value) } }
  public static func failure(_ error: Error) -> Promise { Promise { $0.reject(error) } }

  /// A promise, and what resolves it.
  public static func pending() -> (promise: Promise, resolver: Resolver<Value>) {
    var found: Resolver<Value>?
    let promise = Promise { found = $0 }
    return (promise, found ?? Resolver(promise))
  }

  fileprivate func resolve(_ result: Result<Value, Error>) {
    guard self.result == nil else { return }
    self.result = result
    let observers = self.observers
    self.observers = []
    observers.forEach { $0(result) }
  }

  fileprivate func observe(_ observer: @escaping (Result<Value, Error>) -> Void) {
    if let result = result { observer(result) } else { observers.append(observer) }
  }

  @discardableResult
  public func then<Next>(_ body: @escaping (Value) throws -> Promise<Next>) -> Promise<Next> {
    Promise<Next> { resolver in
      observe { result in
        do { try body(result.get()).observe { resolver.resolve($0) } } catch { resolver.reject(error) }
      }
    }
  }

  public func map<Next>(_ body: @escaping (Value) throws -> Next) -> Promise<Next> {
    then { Promise<Next>.value(try body($0)) }
  }

  @discardableResult
  public func done(_ body: @escaping (Value) throws -> Void) -> Promise<Void> { map(body) }

  /// The error of this promise, or of one before it in the chain.
  public func `catch`(_ body: @escaping (Error) -> Void) {
    observe { if case .failure(let error) = $0 { body(error) } }
  }

  public func recover(_ body: @escaping (Error) throws -> Promise) -> Promise {
    Promise { resolver in
      observe { result in
        guard case .failure(let error) = result else { return resolver.resolve(result) }
        do { try body(error).observe { resolver.resolve($0) } } catch { resolver.reject(error) }
      }
    }
  }

  public func ensure(_ body: @escaping () -> Void) -> Promise {
    observe { _ in body() }
    return self
  }
}

/// What resolves a promise; the first call counts.
public struct Resolver<Value> {
  private let promise: Promise<Value>

  fileprivate init(_ promise: Promise<Value>) { self.promise = promise }

  public func fulfill(_ value: Value) { promise.resolve(.success(value)) }
  public func reject(_ error: Error) { promise.resolve(.failure(error)) }
  public func resolve(_ result: Result<Value, Error>) { promise.resolve(result) }

  public func resolve(_ value: Value, _ error: Error?) {
    if let error = error { reject(error) } else { fulfill(value) }
  }
}

/// All values, in order; the first error.
public func when<Value>(fulfilled promises: [Promise<Value>]) -> Promise<[Value]> {
  promises.reduce(Promise<[Value]>.value([])) { all, next in all.then { values in next.map { values + [$0] } } }
}
