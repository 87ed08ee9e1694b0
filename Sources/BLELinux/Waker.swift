internal import BLEWire
internal import CBluetoothLinux

/// Wakes a thread that waits in a ``Poller``, from any other thread (eventfd).
package final class Waker: Sendable {
  package let descriptor: Descriptor

  package init() throws(SystemError) {
    descriptor = Descriptor(
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
