package import BLEWire
internal import CLinux
internal import Glibc

/// Waits for many descriptors at once, until a deadline (epoll). A wait does not allocate memory.
package struct Poller: ~Copyable, Sendable {
  /// The events to watch for on a descriptor. Its end and its errors are always reported.
  package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    @inlinable package static var reading: Self { Self(rawValue: 1) }
    @inlinable package static var writing: Self { Self(rawValue: 2) }
  }

  /// One descriptor that is ready.
  package struct Ready: Equatable, Sendable {
    /// The token of its registration.
    package let token: UInt64
    package let canRead: Bool
    package let canWrite: Bool
    /// Whether the other end closed the descriptor, or the descriptor failed. A read or write gives the reason.
    package let hasEnded: Bool
  }

  /// A descriptor that is readable while a wait would report something, so that one poller can watch another.
  package let descriptor: FileDescriptor
  private var events: [epoll_event]
  private var count = 0
  private var waitsInNanoseconds: Bool

  /// - Parameters:
  ///   - capacity: the maximum number of descriptors that one wait reports. The next wait reports the others.
  ///   - waitsInNanoseconds: whether deadlines are kept to less than a millisecond. Kernels before 5.11 cannot do that;
  ///     the poller detects this by itself.
  package init(capacity: Int = 32, waitsInNanoseconds: Bool = true) throws(SystemError) {
    self.waitsInNanoseconds = waitsInNanoseconds
    descriptor = FileDescriptor(
      adopting: try SystemCalls.kernel(.poll) { epoll_create1(Int32(EPOLL_CLOEXEC)) })
    events = Array(repeating: epoll_event(), count: max(1, capacity))
  }

  /// Watches `descriptor`, or changes the events that it is watched for. It is reported with `token`.
  package func watch(_ descriptor: borrowing FileDescriptor, token: UInt64, for interest: Interest) throws(SystemError)
  {
    do throws(SystemError) {
      try control(EPOLL_CTL_ADD, descriptor, token, interest)
    } catch {
      guard error.number == EEXIST else { throw error }
      try control(EPOLL_CTL_MOD, descriptor, token, interest)
    }
  }

  /// Ends the watch. Closing the descriptor also ends it.
  package func unwatch(_ descriptor: borrowing FileDescriptor) {
    try? control(EPOLL_CTL_DEL, descriptor, 0, [])
  }

  private func control(
    _ operation: Int32, _ watched: borrowing FileDescriptor, _ token: UInt64, _ interest: Interest
  ) throws(SystemError) {
    var bits: UInt32 = 0
    if interest.contains(.reading) { bits |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
    if interest.contains(.writing) { bits |= EPOLLOUT.rawValue }
    var event = epoll_event(events: bits, data: epoll_data_t(u64: token))
    let (poll, watched) = (descriptor.rawValue, watched.rawValue)
    try SystemCalls.kernel(.poll) { unsafe epoll_ctl(poll, operation, watched, &event) }
  }

  /// Waits until a descriptor is ready, or until the deadline; nil for no deadline. A signal ends the wait, as does the
  /// continuation of a stopped process.
  ///
  /// - Returns: the number of ready descriptors, which the subscript returns; 0 at the deadline or after a signal.
  @discardableResult
  package mutating func wait(until deadline: Instant?, on clock: MonotonicClock) throws(SystemError) -> Int {
    count = 0
    if let ready = try poll(for: deadline.map { max(0, $0.nanoseconds &- clock.now().nanoseconds) }) {
      count = ready
    } else {
      // A process that was stopped may be past its deadlines. What arrived before them must not look late.
      count = try poll(for: 0) ?? 0
    }
    return count
  }

  /// - Parameter patience: in nanoseconds; nil without an end.
  /// - Returns: the number of ready descriptors; nil after a signal.
  private mutating func poll(for patience: Int64?) throws(SystemError) -> Int? {
    var answer = waitsInNanoseconds ? waitPrecisely(patience) : waitInMilliseconds(patience)
    if answer < 0, waitsInNanoseconds, errno == ENOSYS || errno == EPERM {
      waitsInNanoseconds = false
      answer = waitInMilliseconds(patience)
    }
    guard answer < 0 else { return Int(answer) }
    let number = errno
    guard number == EINTR else { throw SystemError(.poll, number) }
    return nil
  }

  /// Whether the last wait reported the descriptor with this token.
  package func reports(_ token: UInt64) -> Bool {
    for index in 0..<count where events[index].data.u64 == token { return true }
    return false
  }

  /// A ready descriptor of the last wait.
  package subscript(index: Int) -> Ready {
    precondition(index < count, "only as many as the last wait reported")
    let bits = events[index].events
    return Ready(
      token: events[index].data.u64,
      canRead: bits & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0,
      canWrite: bits & EPOLLOUT.rawValue != 0,
      hasEnded: bits & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0)
  }

  /// `epoll_pwait2`, since Linux 5.11: deadlines are kept to less than a millisecond.
  private mutating func waitPrecisely(_ patience: Int64?) -> Int32 {
    let capacity = Int32(events.count)
    guard let patience else { return unsafe epoll_pwait2(descriptor.rawValue, &events, capacity, nil, nil) }
    var time = timespec(nanoseconds: patience)
    return unsafe epoll_pwait2(descriptor.rawValue, &events, capacity, &time, nil)
  }

  /// The older call. The time is rounded up, so that a deadline is never reported too early.
  private mutating func waitInMilliseconds(_ patience: Int64?) -> Int32 {
    let milliseconds = patience.map(Self.milliseconds) ?? -1
    return unsafe epoll_wait(descriptor.rawValue, &events, Int32(events.count), milliseconds)
  }
}

extension Poller {
  /// Rounded up.
  fileprivate static func milliseconds(_ nanoseconds: Int64) -> Int32 {
    Int32(clamping: nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 > 0 ? 1 : 0))
  }
}

/// Wakes a thread that waits in a ``Poller``, from any thread (eventfd).
package final class Waker: Sendable {
  package let descriptor: FileDescriptor

  package init() throws(SystemError) {
    descriptor = FileDescriptor(
      adopting: try SystemCalls.kernel(.wake) { eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)) })
  }

  /// Makes the descriptor readable. Several calls before ``drain()`` count as one.
  package func wake() {
    var one: UInt64 = 1
    _ = unsafe write(descriptor.rawValue, &one, MemoryLayout<UInt64>.size)
  }

  /// Makes the descriptor unreadable.
  package func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor.rawValue, &count, MemoryLayout<UInt64>.size)
  }

  /// Waits until the descriptor is readable, without a poller.
  ///
  /// - Returns: whether it is readable; false after `patience` has passed.
  package func wait(atMost patience: Duration) -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    while true {
      let left = max(0, deadline.nanoseconds &- clock.now().nanoseconds)
      var wanted = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&wanted, 1, Poller.milliseconds(left)) > 0 { return true }
      if clock.now() >= deadline { return false }
    }
  }
}

/// A latch that is closed at first and opened once. Threads wait until it is open.
package final class Latch: Sendable {
  private let waker: Waker

  package init() throws(SystemError) { waker = try Waker() }

  package func open() { waker.wake() }

  /// Waits until the latch is open.
  ///
  /// - Returns: whether it is open; false after `patience` has passed.
  @discardableResult
  package func wait(atMost patience: Duration) -> Bool { waker.wait(atMost: patience) }
}
