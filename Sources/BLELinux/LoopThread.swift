internal import CLinux
internal import Synchronization

/// Starts the thread of an event loop.
package enum LoopThread {
  /// Runs `body` on a new thread. Signals to the process are delivered to other threads.
  package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let work = Work(body)
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))

    var (blocked, before) = (sigset_t(), sigset_t())
    unsafe sigfillset(&blocked)
    // Signals for faults of the thread itself are not blocked, so that a crash is reported as a crash.
    for fault in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { unsafe sigdelset(&blocked, fault) }
    unsafe pthread_sigmask(SIG_BLOCK, &blocked, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

    let retained = unsafe Unmanaged.passRetained(work)
    var thread = pthread_t()
    let answer = unsafe pthread_create(
      &thread, &attributes,
      { argument in
        if let argument { unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      }, retained.toOpaque())
    guard answer == 0 else {
      unsafe retained.release()
      throw SystemError(.thread, answer)
    }
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}

/// Moves one noncopyable value to another thread.
package final class OneShot<Value: ~Copyable & Sendable>: Sendable {
  private let slot: Mutex<Value?>

  package init(_ value: consuming Value) { slot = Mutex(value) }

  /// Returns the value at the first call; nil afterwards.
  package func take() -> Value? {
    slot.withLock { (slot: inout Value?) -> Value? in slot.take() }
  }
}
