internal import CLinux

/// An error of a transport: what failed, why, and what to do.
package struct TransportError: Error, Equatable, Sendable {
  package enum Kind: Sendable {
    /// The transport string is malformed.
    case malformed
    /// There is no controller, adapter or other program.
    case unavailable
    /// Another program uses the device.
    case busy
    /// The user has no permission.
    case noPermission
    /// This system or this version does not support the transport.
    case unsupported
    /// The other end closed the connection.
    case closed
    /// The adapter is switched off.
    case poweredOff
    /// The octets were not HCI packets, or could not be sent or received.
    case inputOutput
  }

  package let kind: Kind
  /// The transport string, or the path.
  package let place: String
  /// What failed, and why, if ``cause`` does not say it; without a full stop.
  package let what: String
  /// What to do, as sentences; empty if there is nothing to do.
  package let remedy: String
  /// The system call that failed.
  package let cause: SystemError?

  package init(_ kind: Kind, at place: String, _ what: String, remedy: String = "", cause: SystemError? = nil) {
    self.kind = kind
    self.place = place
    self.what = what
    self.remedy = remedy
    self.cause = cause
  }

  /// The exit status of a program that cannot continue, as in `sysexits.h`.
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
  /// `serial:/dev/ttyACM0,1000000: cannot open the device (open: Permission denied (EACCES)). Run: …`
  package var description: String {
    let cause = cause.map { " (\($0))" } ?? ""
    return "\(place): \(what)\(cause)\(remedy.isEmpty ? "" : ". \(remedy)")"
  }
}

extension TransportError {
  /// The error of a system call while a stream is opened.
  package init(opening endpoint: StreamEndpoint, _ cause: SystemError) {
    let (kind, what, remedy) = Self.meaning(of: cause, at: endpoint)
    self.init(kind, at: endpoint.description, what, remedy: remedy, cause: cause)
  }

  /// The error of a read or write on an open stream.
  package init(using endpoint: StreamEndpoint, _ cause: SystemError) {
    switch cause.number {
    case ECONNRESET, EPIPE, EIO, ENXIO, ENODEV, ETIMEDOUT:
      self.init(
        .closed, at: endpoint.description, "the connection to the controller was lost",
        remedy: Self.reconnecting(endpoint), cause: cause)
    default:
      self.init(.inputOutput, at: endpoint.description, "the stream cannot be read or written", cause: cause)
    }
  }

  /// The other end closed the stream after `partial` octets of a packet.
  package init(endOf endpoint: StreamEndpoint, inPacketAfter partial: Int) {
    self.init(
      .closed, at: endpoint.description,
      partial == 0
        ? "the controller closed the connection"
        : "the controller closed the connection \(partial) octets into a packet",
      remedy: Self.reconnecting(endpoint))
  }

  private static func reconnecting(_ endpoint: StreamEndpoint) -> String {
    switch endpoint {
    case .serial: "Plug the adapter in again."
    case .tcpClient, .unixClient: "Start the controller again."
    case .tcpServer, .unixServer, .pseudoTerminal: "Connect the controller again."
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
    let what = "cannot connect to \(host):\(port)"
    return switch cause.number {
    case ECONNREFUSED:
      (.unavailable, "\(what): no program listens there", "Start the controller first, and check the port.")
    case ETIMEDOUT:
      (.unavailable, "\(what): no answer", "Check the address, and that no firewall drops port \(port).")
    case EHOSTUNREACH, ENETUNREACH, ENETDOWN:
      (.unavailable, "\(what): no route", "Check the address and the network. Run: ip route get \(host)")
    default: general(cause, what)
    }
  }

  private static func tcpServer(_ cause: SystemError, _ host: String?, _ port: UInt16) -> (Kind, String, String) {
    let what = "cannot listen on port \(port)"
    return switch cause.number {
    case EADDRINUSE:
      (
        .busy, "\(what): another program uses it",
        "End that program, or use another port. To find it, run: ss -tlnp sport = :\(port)"
      )
    case EADDRNOTAVAIL:
      (
        .unavailable, "\(what): this machine does not have the address \(host ?? "_")",
        "To listen on every address, write tcp-server:_:\(port)."
      )
    case EACCES: (.noPermission, "\(what): that needs root", "Use port 1024 or higher.")
    default: general(cause, what)
    }
  }

  private static func unixClient(_ cause: SystemError, _ path: String) -> (Kind, String, String) {
    let what = "cannot connect to \(path)"
    return switch cause.number {
    case ENOENT: (.unavailable, "\(what): there is no such socket", "Start the controller first, and check the path.")
    case ECONNREFUSED:
      (.unavailable, "\(what): no program listens, the file was left behind", "Start the controller again.")
    case EPROTOTYPE, ENOTSOCK: (.unavailable, "\(what): it is not a stream socket", "Check the path.")
    case ENAMETOOLONG: longSocketPath(path)
    case EACCES, EPERM:
      (.noPermission, "\(what): no permission to write it", "To see the permissions, run: ls -l \(path)")
    default: general(cause, what)
    }
  }

  private static func unixServer(_ cause: SystemError, _ path: String) -> (Kind, String, String) {
    let what = "cannot listen on \(path)"
    return switch cause.number {
    case EADDRINUSE:
      (
        .busy, "\(what): another program listens there",
        "End that program, or use another path. To find it, run: ss -xlp"
      )
    case EEXIST:
      (.unavailable, "\(what): the file exists and is not a socket", "Use another path, or move the file away.")
    case ENOENT, ENOTDIR: (.unavailable, "\(what): the folder does not exist", makeFolder(path))
    case ENAMETOOLONG: longSocketPath(path)
    case EACCES, EPERM:
      (.noPermission, "\(what): no permission to create a file there", "Use a folder that you may write to.")
    default: general(cause, what)
    }
  }

  private static func serial(_ cause: SystemError, _ path: String) -> (Kind, String, String) {
    let what = "cannot open \(path)"
    return switch cause.number {
    case ENOENT, ENXIO, ENODEV:
      (
        .unavailable, "\(what): there is no such device",
        "Plug the adapter in. To list serial devices, run: ls /dev/ttyACM* /dev/ttyUSB*"
      )
    case EACCES, EPERM:
      (.noPermission, "\(what): no permission", "Run: sudo usermod -aG dialout $USER, then log in again.")
    case EBUSY:
      (.busy, "\(what): another program uses it", "End that program. To find it, run: fuser -v \(path)")
    case ENOTTY: (.unavailable, "\(what): it is not a serial device", "Check the path.")
    case EINVAL:
      (
        .unsupported, "\(what): the device rejects the baud rate or the flow control",
        "Try serial:\(path),115200 or serial:\(path),1000000,none."
      )
    default: general(cause, what)
    }
  }

  private static func pseudoTerminal(_ cause: SystemError, _ path: String) -> (Kind, String, String) {
    let what = "cannot create the link \(path)"
    return switch cause.number {
    case EEXIST:
      (
        .unavailable, "\(what): the file exists and is not a symbolic link",
        "Use another path, or move the file away."
      )
    case ENOENT where cause.call == .symlink, ENOTDIR:
      (.unavailable, "\(what): the folder does not exist", makeFolder(path))
    case EACCES, EPERM, EROFS: (.noPermission, "\(what): no permission", "Use a folder that you may write to.")
    case ENOENT, ENODEV, ENOSPC:
      (.unavailable, "the system has no pseudo-terminal", "Mount devpts at /dev/pts.")
    default: general(cause, "cannot create a pseudo-terminal")
    }
  }

  private static func makeFolder(_ path: String) -> String { "Run: mkdir -p \"$(dirname \(path))\"" }

  private static func longSocketPath(_ path: String) -> (Kind, String, String) {
    (
      .malformed, "the path of the socket has \(path.utf8.count) octets, and the limit is 107", "Use a shorter path."
    )
  }

  private static func general(_ cause: SystemError, _ what: String) -> (Kind, String, String) {
    switch cause.number {
    case EACCES, EPERM: (.noPermission, what, "This user has no permission.")
    case EMFILE, ENFILE: (.inputOutput, what, "Too many files are open. To see the limit, run: ulimit -n")
    case EBUSY, EADDRINUSE: (.busy, what, "")
    default: (.unavailable, what, "")
    }
  }
}
