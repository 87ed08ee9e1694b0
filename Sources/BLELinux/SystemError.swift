internal import CLinux
internal import Glibc

/// A system call that failed, and its error number.
package struct SystemError: Error, Equatable, Sendable {
  package let call: SystemCall
  /// The error number, as in `errno.h`.
  package let number: Int32

  package init(_ call: SystemCall, _ number: Int32) {
    self.call = call
    self.number = number
  }
}

extension SystemError: CustomStringConvertible {
  /// For example `connect: Connection refused (ECONNREFUSED)`.
  package var description: String {
    guard let name = strerrorname_np(number), let text = strerrordesc_np(number) else {
      return "\(call.rawValue): error \(number)"
    }
    return unsafe "\(call.rawValue): \(String(cString: text)) (\(String(cString: name)))"
  }
}

/// The system calls that can fail for a reason that the user can correct.
package enum SystemCall: String, Sendable, CaseIterable {
  case open, close, read, write, link, unlink, symlink, readlink, stat
  case openIn = "openat", makeFolder = "mkdir", rename = "renameat", flush = "fsync", lock = "flock"
  case setPermissions = "fchmod", truncate = "ftruncate"
  case socket, connect, bind, listen, accept, send, receive = "recv", socketOption = "setsockopt", socketQuery =
    "getsockopt"
  case resolve = "getaddrinfo"
  case terminalAttributes = "tcsetattr", exclusive = "ioctl(TIOCEXCL)", connectionList = "ioctl(HCIGETCONNLIST)"
  case openPseudoTerminal = "posix_openpt"
  case poll = "epoll", wake = "eventfd", timer = "timerfd", thread = "pthread_create"
}

/// The function through which every fallible system call goes, so that a test can make any of them fail.
///
/// ```swift
/// let full = SystemCalls { $0 == .open ? ENOSPC : nil }
/// ```
package struct SystemCalls: Sendable {
  private let forcedFailure: (@Sendable (SystemCall) -> Int32?)?

  /// The real system.
  package static let kernel = Self(forcedFailure: nil)

  /// The real system, except for calls for which `forcedFailure` returns an error number. Those fail without being
  /// made.
  package init(forcedFailure: (@Sendable (SystemCall) -> Int32?)?) { self.forcedFailure = forcedFailure }

  /// Makes a call that returns -1 for a failure, and repeats it if a signal interrupted it.
  @discardableResult
  package func callAsFunction(_ call: SystemCall, _ body: () -> Int32) throws(SystemError) -> Int32 {
    if let forcedFailure, let number = forcedFailure(call) { throw SystemError(call, number) }
    while true {
      let answer = body()
      if answer >= 0 { return answer }
      let number = errno
      guard number == EINTR else { throw SystemError(call, number) }
    }
  }
}
