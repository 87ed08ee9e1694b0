package import BLEWire
internal import CLinux
internal import Glibc

/// Waits for many descriptors at once until a deadline (epoll); a wait allocates nothing.
package struct Poller: ~Copyable, Sendable {
  /// What to wait for on a descriptor; its end and its errors are always told.
  package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let reading = Self(rawValue: 1)
    package static let writing = Self(rawValue: 2)
  }

  /// One descriptor that can go on.
  package struct Ready: Equatable, Sendable {
    /// The number it was registered under.
    package let token: UInt64
    package let canRead: Bool
    package let canWrite: Bool
    /// The other end went or the descriptor failed; reading or writing says which.
    package let hasEnded: Bool
  }

  /// Readable while a wait would report something: one poller can watch another.
  package let descriptor: FileDescriptor
  private var events: [epoll_event]
  private var count = 0
  private var waitsInNanoseconds: Bool

  /// - Parameters:
  ///   - capacity: how many descriptors one wait reports at most; the others are reported by the next.
  ///   - waitsInNanoseconds: whether deadlines below a millisecond are kept; a kernel before 5.11 cannot, which is found
  ///     out by itself.
  package init(capacity: Int = 32, waitsInNanoseconds: Bool = true) throws(SystemError) {
    self.waitsInNanoseconds = waitsInNanoseconds
    descriptor = FileDescriptor(
      adopting: try SystemCalls.kernel(.poll) { epoll_create1(Int32(EPOLL_CLOEXEC)) })
    events = Array(repeating: epoll_event(), count: max(1, capacity))
  }

  /// Watches `descriptor` from now on, or otherwise than before; what happens on it is told under `token`.
  package func watch(_ descriptor: borrowing FileDescriptor, token: UInt64, for interest: Interest) throws(SystemError)
  {
    do throws(SystemError) {
      try control(EPOLL_CTL_ADD, descriptor, token, interest)
    } catch {
      guard error.number == EEXIST else { throw error }
      try control(EPOLL_CTL_MOD, descriptor, token, interest)
    }
  }

  /// Ends the watch; a descriptor that is closed ends it by itself.
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

  /// Sleeps until a descriptor can go on or the deadline is reached; nil waits without end.
  ///
  /// - Returns: how many descriptors are ready, to be read with the subscript; 0 at the deadline or after a signal.
  @discardableResult
  package mutating func wait(until deadline: Instant?, on clock: MonotonicClock) throws(SystemError) -> Int {
    let patience = deadline.map { max(.zero, $0 - clock.now()) }
    var answer = waitsInNanoseconds ? waitPrecisely(patience) : waitInMilliseconds(patience)
    if answer < 0, waitsInNanoseconds, errno == ENOSYS || errno == EPERM {
      waitsInNanoseconds = false
      answer = waitInMilliseconds(patience)
    }
    if answer < 0 {
      let number = errno
      count = 0
      guard number == EINTR else { throw SystemError(.poll, number) }
    } else {
      count = Int(answer)
    }
    return count
  }

  /// The `index`-th ready descriptor of the last wait.
  package subscript(index: Int) -> Ready {
    precondition(index < count, "only as many as the last wait reported")
    let bits = events[index].events
    return Ready(
      token: events[index].data.u64,
      canRead: bits & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0,
      canWrite: bits & EPOLLOUT.rawValue != 0,
      hasEnded: bits & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0)
  }

  /// `epoll_pwait2`: Linux 5.11; deadlines below a millisecond are kept.
  private mutating func waitPrecisely(_ patience: Duration?) -> Int32 {
    let poll = descriptor.rawValue
    return unsafe events.withUnsafeMutableBufferPointer { events in
      guard let patience else {
        return unsafe epoll_pwait2(poll, events.baseAddress, Int32(events.count), nil, nil)
      }
      let (seconds, attoseconds) = patience.components
      var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
      return unsafe epoll_pwait2(poll, events.baseAddress, Int32(events.count), &time, nil)
    }
  }

  /// The older call: rounded up, so that a deadline is never reported before its time.
  private mutating func waitInMilliseconds(_ patience: Duration?) -> Int32 {
    let poll = descriptor.rawValue
    let milliseconds: Int32
    if let patience {
      let (seconds, attoseconds) = patience.components
      let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
      milliseconds = Int32(clamping: min(seconds, Int64(Int32.max) / 1000) * 1000 + fraction)
    } else {
      milliseconds = -1
    }
    return unsafe events.withUnsafeMutableBufferPointer {
      unsafe epoll_wait(poll, $0.baseAddress, Int32($0.count), milliseconds)
    }
  }
}

/// Wakes a thread that waits in a ``Poller``, from any other thread (eventfd).
package final class Waker: Sendable {
  package let descriptor: FileDescriptor

  package init() throws(SystemError) {
    descriptor = FileDescriptor(
      adopting: try SystemCalls.kernel(.wake) { eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)) })
  }

  /// Makes the descriptor readable; several calls before ``drain()`` count as one.
  package func wake() {
    var one: UInt64 = 1
    _ = unsafe write(descriptor.rawValue, &one, MemoryLayout<UInt64>.size)
  }

  /// Makes the descriptor unreadable again.
  package func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor.rawValue, &count, MemoryLayout<UInt64>.size)
  }
}

/// Shut at first and opened once: threads wait before it until then.
package final class Latch: Sendable {
  private let waker: Waker

  package init() throws(SystemError) { waker = try Waker() }

  package func open() { waker.wake() }

  /// Waits until the latch is open.
  ///
  /// - Returns: whether it is open; false after `patience` has passed.
  @discardableResult
  package func wait(atMost patience: Duration) -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    while true {
      let (seconds, attoseconds) = max(.zero, deadline - clock.now()).components
      let milliseconds = min(seconds, 1_000_000) * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
      var wanted = pollfd(fd: waker.descriptor.rawValue, events: Int16(POLLIN), revents: 0)
      let answer = unsafe poll(&wanted, 1, Int32(clamping: milliseconds))
      if answer > 0 { return true }
      if clock.now() >= deadline { return false }
    }
  }
}
