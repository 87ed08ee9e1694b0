internal import CBluetoothLinux

/// Starts a thread of its own for an event loop.
package enum LoopThread {
  /// Runs `body` on a new thread that leaves the process's signals to the others.
  package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let work = Work(body)
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))

    var (blocked, before) = (sigset_t(), sigset_t())
    unsafe sigfillset(&blocked)
    // Faults of the thread itself stay deliverable, so that a crash is reported as one.
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
