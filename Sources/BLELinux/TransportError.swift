internal import CLinux

/// Why a pipe to a controller could not be opened, or was lost: what failed, where, and what mends it.
package struct TransportError: Error, Equatable, Sendable {
  package enum Kind: Sendable {
    /// The transport string itself is wrong.
    case malformed
    /// Nothing is there to talk to.
    case unavailable
    /// Somebody else holds it.
    case busy
    /// The user may not.
    case noPermission
    /// This system or this version cannot.
    case unsupported
    /// The other end closed it.
    case closed
    /// The adapter is there and switched off.
    case poweredOff
    /// The octets were no HCI packets, or could not be moved.
    case inputOutput
  }

  package let kind: Kind
  /// The transport string, or the path.
  package let place: String
  /// What happened, without a full stop.
  package let what: String
  /// The line that mends it, without a full stop; empty where nobody knows one.
  package let remedy: String
  package let cause: SystemError?

  package init(_ kind: Kind, at place: String, _ what: String, remedy: String = "", cause: SystemError? = nil) {
    self.kind = kind
    self.place = place
    self.what = what
    self.remedy = remedy
    self.cause = cause
  }

  /// The status a program that cannot go on ends with, as in `sysexits.h`.
  package var exitCode: Int32 {
    switch kind {
    case .malformed: 64
    case .unavailable, .unsupported, .closed, .poweredOff: 69
    case .inputOutput: 74
    case .busy: 75
    case .noPermission: 77
    }
  }
}

extension TransportError: CustomStringConvertible {
  package var description: String {
    let cause = cause.map { " (\($0))" } ?? ""
    return "\(place): \(what)\(cause)\(remedy.isEmpty ? "" : ": \(remedy)")"
  }
}

extension TransportError {
  /// Tells what a failed system call on the way to `endpoint` means for the user.
  package init(opening endpoint: StreamEndpoint, _ cause: SystemError) {
    let (kind, what, remedy) = Self.meaning(of: cause, at: endpoint)
    self.init(kind, at: endpoint.description, what, remedy: remedy, cause: cause)
  }

  /// Tells what a read or write that failed on an open pipe means.
  package init(using endpoint: StreamEndpoint, _ cause: SystemError) {
    switch cause.number {
    case ECONNRESET, EPIPE, EIO, ENXIO, ENODEV, ETIMEDOUT:
      self.init(
        .closed, at: endpoint.description, "the other end went away", remedy: Self.comeback(endpoint), cause: cause)
    default:
      self.init(.inputOutput, at: endpoint.description, "octets could not be moved", cause: cause)
    }
  }

  /// The other end closed the pipe; `partial` octets of a packet had come.
  package init(endOf endpoint: StreamEndpoint, inPacketAfter partial: Int) {
    self.init(
      .closed, at: endpoint.description,
      partial == 0 ? "the other end closed the connection" : "the other end closed it \(partial) octets into a packet",
      remedy: Self.comeback(endpoint))
  }

  private static func comeback(_ endpoint: StreamEndpoint) -> String {
    switch endpoint {
    case .serial: "plug the adapter in again"
    case .tcpClient, .unixClient: "start the controller again"
    case .tcpServer, .unixServer, .pseudoTerminal: "connect the controller again"
    }
  }

  private static func meaning(of cause: SystemError, at endpoint: StreamEndpoint) -> (Kind, String, String) {
    switch endpoint {
    case .tcpClient(let host, let port): tcpClient(cause, host, port)
    case .tcpServer(let host, let port): tcpServer(cause, host, port)
    case .unixClient(let path): unixClient(cause, path)
    case .unixServer(let path): unixServer(cause, path)
    case .serial(let path, _): serial(cause, path)
    case .pseudoTerminal(let path): pseudoTerminal(cause, path)
    }
  }

  private static func tcpClient(_ cause: SystemError, _ host: String, _ port: UInt16) -> (Kind, String, String) {
    switch cause.number {
    case ECONNREFUSED:
      (.unavailable, "nothing listens at \(host):\(port)", "start the controller first, and compare the port")
    case ETIMEDOUT:
      (.unavailable, "\(host) gave no answer", "check the address and that no firewall drops port \(port)")
    case EHOSTUNREACH, ENETUNREACH, ENETDOWN:
      (.unavailable, "no way leads to \(host)", "check the address and the network (ip route get \(host))")
    default: general(cause, "cannot connect to \(host):\(port)")
    }
  }

  private static func tcpServer(_ cause: SystemError, _ host: String?, _ port: UInt16) -> (Kind, String, String) {
    switch cause.number {
    case EADDRINUSE:
      (
        .busy, "port \(port) is taken by another program",
        "end it (ss -tlnp sport = :\(port) names it), or take another port"
      )
    case EADDRNOTAVAIL:
      (
        .unavailable, "\(host ?? "_") is no address of this machine",
        "write _ to listen on all of them (tcp-server:_:\(port))"
      )
    case EACCES: (.noPermission, "only root may listen on port \(port)", "take a port from 1024 up")
    default: general(cause, "cannot listen on port \(port)")
    }
  }

  private static func unixClient(_ cause: SystemError, _ path: String) -> (Kind, String, String) {
    switch cause.number {
    case ENOENT: (.unavailable, "no socket lies at \(path)", "start the controller first, and compare the path")
    case ECONNREFUSED:
      (.unavailable, "nobody listens on \(path): the file was left behind", "start the controller again")
    case EPROTOTYPE, ENOTSOCK: (.unavailable, "\(path) is no stream socket", "compare the path")
    case ENAMETOOLONG: longSocketPath(path)
    case EACCES, EPERM: (.noPermission, "\(path) may not be written", "ls -l \(path) tells who may")
    default: general(cause, "cannot connect to \(path)")
    }
  }

  private static func unixServer(_ cause: SystemError, _ path: String) -> (Kind, String, String) {
    switch cause.number {
    case EADDRINUSE: (.busy, "another program listens on \(path)", "end it (ss -xlp names it), or take another path")
    case EEXIST: (.unavailable, "\(path) is there already and no socket", "take another path, or move the file away")
    case ENOENT, ENOTDIR:
      (.unavailable, "the folder of \(path) is not there", "make it (mkdir -p \"$(dirname \(path))\")")
    case ENAMETOOLONG: longSocketPath(path)
    case EACCES, EPERM: (.noPermission, "nothing may be made at \(path)", "take a folder that you may write to")
    default: general(cause, "cannot listen on \(path)")
    }
  }

  private static func serial(_ cause: SystemError, _ path: String) -> (Kind, String, String) {
    switch cause.number {
    case ENOENT, ENXIO, ENODEV:
      (.unavailable, "no serial device at \(path)", "plug the adapter in (ls /dev/ttyACM* /dev/ttyUSB* shows them)")
    case EACCES, EPERM:
      (.noPermission, "\(path) may not be opened", "sudo usermod -aG dialout $USER, then log in again")
    case EBUSY: (.busy, "another program holds \(path)", "end it (fuser -v \(path) names it)")
    case ENOTTY: (.unavailable, "\(path) is no serial device", "compare the path")
    case EINVAL:
      (
        .unsupported, "\(path) takes neither that baud rate nor that flow control",
        "try serial:\(path),115200 or …,none"
      )
    default: general(cause, "cannot open \(path)")
    }
  }

  private static func pseudoTerminal(_ cause: SystemError, _ path: String) -> (Kind, String, String) {
    switch cause.number {
    case EEXIST:
      (.unavailable, "\(path) is there already and no symbolic link", "take another path, or move the file away")
    case ENOENT where cause.call == .symlink, ENOTDIR:
      (.unavailable, "the folder of \(path) is not there", "make it (mkdir -p \"$(dirname \(path))\")")
    case EACCES, EPERM, EROFS: (.noPermission, "no link may be made at \(path)", "take a folder that you may write to")
    case ENOENT, ENODEV, ENOSPC: (.unavailable, "this system gives no pseudo-terminal", "mount devpts at /dev/pts")
    default: general(cause, "cannot make the pseudo-terminal")
    }
  }

  private static func longSocketPath(_ path: String) -> (Kind, String, String) {
    (.malformed, "\(path.utf8.count) octets are too many for a socket's path", "take one of at most 107")
  }

  private static func general(_ cause: SystemError, _ what: String) -> (Kind, String, String) {
    switch cause.number {
    case EACCES, EPERM: (.noPermission, what, "the system refuses it to this user")
    case EMFILE, ENFILE: (.inputOutput, what, "too many files are open (ulimit -n)")
    case EBUSY, EADDRINUSE: (.busy, what, "")
    default: (.unavailable, what, "")
    }
  }
}
