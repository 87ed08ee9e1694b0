/// What Combine offers, as far as the library needs it: values over time, and a completion.
public enum Completion { case finished, failure(Error) }

public final class AnyCancellable: Hashable {
  private var onCancel: (() -> Void)?

  public init(_ onCancel: @escaping () -> Void) { self.onCancel = onCancel }
  deinit { onCancel?() }

  public func cancel() {
    onCancel?()
    onCancel = nil
  }

  public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }

  public static func == (left: AnyCancellable, right: AnyCancellable) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

public protocol Publisher {
  associatedtype Output
  func receive(_ value: @escaping (Output) -> Void, completion: @escaping (Completion) -> Void) -> AnyCancellable
}

extension Publisher {
  public func sink(
    receiveCompletion: @escaping (Completion) -> Void = { _ in }, receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    receive(receiveValue, completion: receiveCompletion)
  }

  public func assign<Root: AnyObject>(to path: ReferenceWritableKeyPath<Root, Output>, on root: Root) -> AnyCancellable
  {
    sink { root[keyPath: path] = $0 }
  }

  public func eraseToAnyPublisher() -> AnyPublisher<Output> { AnyPublisher(receive) }

  public func map<Next>(_ transform: @escaping (Output) -> Next) -> AnyPublisher<Next> {
    AnyPublisher { value, completion in receive({ value(transform($0)) }, completion: completion) }
  }

  public func compactMap<Next>(_ transform: @escaping (Output) -> Next?) -> AnyPublisher<Next> {
    AnyPublisher { value, completion in receive({ transform($0).map(value) }, completion: completion) }
  }

  public func filter(_ isIncluded: @escaping (Output) -> Bool) -> AnyPublisher<Output> {
    compactMap { isIncluded($0) ? $0 : nil }
  }

  /// The first value alone.
  public func first() -> AnyPublisher<Output> {
    AnyPublisher { value, completion in
      var upstream: AnyCancellable?
      var isOver = false
      upstream = receive(
        {
          guard !isOver else { return }
          isOver = true
          value($0)
          completion(.finished)
          upstream?.cancel()
        }, completion: { if !isOver { completion($0) } })
      if isOver { upstream?.cancel() }
      return AnyCancellable { upstream?.cancel() }
    }
  }

  /// The values of the publishers that the values make; a new one ends the one before it.
  public func flatMap<Next: Publisher>(_ transform: @escaping (Output) -> Next) -> AnyPublisher<Next.Output> {
    AnyPublisher { value, completion in
      var inner: [AnyCancellable] = []
      let outer = receive(
        { inner.append(transform($0).receive(value, completion: { if case .failure = $0 { completion($0) } })) },
        completion: { if case .failure = $0 { completion($0) } })
      return AnyCancellable {
        outer.cancel()
        inner.forEach { $0.cancel() }
      }
    }
  }
}

public struct AnyPublisher<Output>: Publisher {
  typealias Receive = (@escaping (Output) -> Void, @escaping (Completion) -> Void) -> AnyCancellable
  private let body: Receive

  init(_ body: @escaping Receive) { self.body = body }

  public func receive(
    _ value: @escaping (Output) -> Void, completion: @escaping (Completion) -> Void
  ) -> AnyCancellable { body(value, completion) }
}

/// Values for all who receive now.
public final class PassthroughSubject<Output>: Publisher {
  private var receivers: [Int: ((Output) -> Void, (Completion) -> Void)] = [:]
  private var count = 0

  public init() {}

  public func send(_ value: Output) { receivers.values.forEach { $0.0(value) } }

  public func send(completion: Completion) {
    let all = receivers.values
    receivers = [:]
    all.forEach { $0.1(completion) }
  }

  public func receive(
    _ value: @escaping (Output) -> Void, completion: @escaping (Completion) -> Void
  ) -> AnyCancellable {
    count += 1
    let number = count
    receivers[number] = (value, completion)
    return AnyCancellable { [weak self] in self?.receivers[number] = nil }
  }
}

/// A value, and its changes.
public final class CurrentValueSubject<Output>: Publisher {
  private let changes = PassthroughSubject<Output>()
  public var value: Output { didSet { changes.send(value) } }

  public init(_ value: Output) { self.value = value }

  public func receive(
    _ value: @escaping (Output) -> Void, completion: @escaping (Completion) -> Void
  ) -> AnyCancellable {
    value(self.value)
    return changes.receive(value, completion: completion)
  }
}
