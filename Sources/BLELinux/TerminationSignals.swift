internal import CBluetoothLinux

/// Turns SIGINT and SIGTERM into a call, for executables that leave in good order; the library installs nothing by itself.
package enum TerminationSignals {
  /// Calls `body` on a thread of its own when the first of the two arrives; a second one ends the process at once.
  ///
  /// Call it first of all in `main`: threads started before it would still be ended by the signals.
  package static func catchOnce(_ body: @escaping @Sendable (_ signal: Int32) -> Void) throws(SystemError) {
    mask(SIG_BLOCK)
    try LoopThread.start {
      var wanted = termination
      var arrived: Int32 = 0
      while unsafe sigwait(&wanted, &arrived) != 0 {}
      mask(SIG_UNBLOCK)
      body(arrived)
    }
  }

  private static var termination: sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGINT)
    unsafe sigaddset(&set, SIGTERM)
    return set
  }

  private static func mask(_ how: Int32) {
    var set = termination
    _ = unsafe pthread_sigmask(how, &set, nil)
  }
}
