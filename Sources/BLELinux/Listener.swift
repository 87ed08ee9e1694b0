internal import CLinux
internal import Glibc

/// A socket that other programs connect to. A socket file is removed at the end.
package struct Listener: ~Copyable, Sendable {
  package let descriptor: FileDescriptor
  /// The TCP port; nil for a Unix socket. If port 0 was requested, it is the port that the system chose.
  package let port: UInt16?
  private let medium: ByteStream.Medium
  private let socketFile: OwnedPath?

  /// Listens for TCP connections on `host` (nil: every IPv4 address).
  package init(tcpHost host: String?, port: UInt16, through system: SystemCalls = .kernel) throws(TransportError) {
    let endpoint = StreamEndpoint.tcpServer(host: host, port: port)
    let addresses: [SocketAddress]
    do throws(SocketAddress.Unresolved) {
      addresses = try SocketAddress.resolve(host: host, port: port, through: system)
    } catch {
      throw TransportError(
        .unavailable, at: "\(endpoint)", "cannot listen: '\(host ?? "_")' has no address (\(error.text))",
        remedy: "To listen on every address, write tcp-server:_:\(port).")
    }
    do throws(SystemError) {
      let address = addresses[0]
      let socket = try FileDescriptor.streamSocket(domain: address.domain, through: system)
      try socket.setOption(level: SOL_SOCKET, SO_REUSEADDR, 1, through: system)
      try Self.bind(socket, address, through: system)
      try Self.listen(socket, through: system)
      self.port = Self.boundPort(socket)
      descriptor = socket
      medium = .tcp
      socketFile = nil
    } catch { throw TransportError(opening: endpoint, error) }
  }

  /// Listens on the socket file `path`. A file that no program listens on any longer is replaced.
  ///
  /// - Parameter isPrivate: whether only this user and root can connect (mode 0600).
  package init(
    unixPath path: String, isPrivate: Bool = false, through system: SystemCalls = .kernel
  ) throws(TransportError) {
    do throws(SystemError) {
      let address = try SocketAddress(unixPath: path)
      let socket = try FileDescriptor.streamSocket(domain: AF_UNIX, through: system)
      // Until it listens, the socket looks like that of a killed program.
      let lock = FolderLock(of: path, waiting: .seconds(5), through: system)
      // `bind` gives the file the mode of the socket, so that it never has another one.
      if isPrivate { try Self.makePrivate(socket, through: system) }
      do throws(SystemError) {
        try Self.bind(socket, address, through: system)
      } catch {
        guard error.number == EADDRINUSE else { throw error }
        try Self.removeStale(path, address, through: system)
        try Self.bind(socket, address, through: system)
      }
      let file = OwnedPath(madeAt: path)
      try Self.listen(socket, through: system)
      _ = consume lock
      descriptor = socket
      socketFile = consume file
      medium = .socket
      port = nil
    } catch { throw TransportError(opening: .unixServer(path: path), error) }
  }

  /// Accepts the next connection.
  ///
  /// - Returns: nil if none waits.
  package func accept(through system: SystemCalls = .kernel) throws(SystemError) -> ByteStream? {
    let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    do throws(SystemError) {
      let number = try system(.accept) { accept4(descriptor.rawValue, nil, nil, flags) }
      return ByteStream(FileDescriptor(adopting: number), medium: medium)
    } catch {
      // ECONNABORTED: the other program closed the connection before it was accepted.
      if error.number == EAGAIN || error.number == ECONNABORTED { return nil }
      throw error
    }
  }

  /// The connections that wait to be accepted.
  private static let backlog: Int32 = 128

  private static func bind(
    _ socket: borrowing FileDescriptor, _ address: SocketAddress, through system: SystemCalls
  ) throws(SystemError) {
    let number = socket.rawValue
    try system(.bind) { unsafe address.withPointer { unsafe Glibc.bind(number, $0, $1) } ?? -1 }
  }

  private static func makePrivate(
    _ socket: borrowing FileDescriptor, through system: SystemCalls
  ) throws(SystemError) {
    let number = socket.rawValue
    try system(.setPermissions) { fchmod(number, 0o600) }
  }

  private static func listen(_ socket: borrowing FileDescriptor, through system: SystemCalls) throws(SystemError) {
    let number = socket.rawValue
    try system(.listen) { Glibc.listen(number, Self.backlog) }
  }

  private static func removeStale(
    _ path: String, _ address: SocketAddress, through system: SystemCalls
  ) throws(SystemError) {
    guard FileIdentity(at: path)?.kind == .socket else { throw SystemError(.bind, EEXIST) }
    let probe = try FileDescriptor.streamSocket(domain: AF_UNIX, through: system)
    let number = probe.rawValue
    do throws(SystemError) {
      try system(.connect) { unsafe address.withPointer { unsafe connect(number, $0, $1) } ?? -1 }
    } catch {
      guard error.number == ECONNREFUSED else { throw SystemError(.bind, EADDRINUSE) }
      try system(.unlink) { unlink(path) }
      return
    }
    throw SystemError(.bind, EADDRINUSE)
  }

  private static func boundPort(_ socket: borrowing FileDescriptor) -> UInt16? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let number = socket.rawValue
    let answer = unsafe withUnsafeMutablePointer(to: &storage) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(number, $0, &length) }
    }
    guard answer == 0 else { return nil }
    // The port has the same offset in an IPv4 and an IPv6 address.
    return unsafe withUnsafeBytes(of: storage) { unsafe UInt16($0[2]) << 8 | UInt16($0[3]) }
  }
}
