internal import CLinux
internal import Glibc

/// The address of a stream socket, in the layout of the kernel.
struct SocketAddress: Sendable {
  let domain: Int32
  private let octets: [UInt8]

  private init(domain: Int32, octets: [UInt8]) {
    self.domain = domain
    self.octets = octets
  }

  /// The address of the socket file at `path`: at most 107 octets, none of them zero.
  init(unixPath path: String) throws(SystemError) {
    let path = Array(path.utf8)
    guard path.count <= 107 else { throw SystemError(.connect, ENAMETOOLONG) }
    guard !path.isEmpty, !path.contains(0) else { throw SystemError(.connect, ENOENT) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
    self.init(domain: AF_UNIX, octets: unsafe withUnsafeBytes(of: address) { unsafe [UInt8]($0) })
  }

  /// Calls `body` with the address.
  func withPointer<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R?) -> R? {
    unsafe octets.withUnsafeBytes { raw in
      guard let base = raw.baseAddress else { return nil }
      return unsafe body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
    }
  }

  /// The IP addresses of `host`, in the order that the system prefers; nil for every address of this machine.
  ///
  /// The system's resolver looks up a name, which can take seconds. A numeric address needs no look-up.
  static func resolve(
    host: String?, port: UInt16, through system: SystemCalls
  ) throws(Unresolved) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = host == nil ? AI_PASSIVE : 0
    // Every address means IPv4 only, to which other programs most likely connect.
    hints.ai_family = host == nil ? AF_INET : AF_UNSPEC
    var list: UnsafeMutablePointer<addrinfo>?
    var answer: Int32 = 0
    do {
      try system(.resolve) {
        answer = unsafe getaddrinfo(host, String(port), &hints, &list)
        return 0
      }
    } catch { throw Unresolved(text: "\(error)") }
    defer { if let list { unsafe freeaddrinfo(list) } }
    guard answer == 0 else { throw Unresolved(text: unsafe String(cString: gai_strerror(answer))) }
    var found: [SocketAddress] = []
    var next = unsafe list
    while let entry = unsafe next?.pointee {
      if let address = entry.ai_addr {
        let octets = unsafe [UInt8](UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
        found.append(SocketAddress(domain: entry.ai_family, octets: octets))
      }
      unsafe next = entry.ai_next
    }
    guard !found.isEmpty else { throw Unresolved(text: "no address") }
    return found
  }

  /// The error of the resolver.
  struct Unresolved: Error { let text: String }
}

/// An attempt to connect. It tries one address after the other, without blocking.
struct Connector: ~Copyable, Sendable {
  private let addresses: [SocketAddress]
  private let medium: ByteStream.Medium
  private let system: SystemCalls
  private var next = 0
  private var attempt: FileDescriptor?

  init(to addresses: [SocketAddress], medium: ByteStream.Medium, through system: SystemCalls) {
    self.addresses = addresses
    self.medium = medium
    self.system = system
  }

  /// Watches the attempt: its socket is writable once the attempt has succeeded or failed.
  func watch(on poller: borrowing Poller, token: UInt64) throws(SystemError) {
    switch attempt {
    case .some(let pending): try poller.watch(pending, token: token, for: .writing)
    case .none: break
    }
  }

  /// Continues the attempt.
  ///
  /// - Returns: the open stream; nil while the attempt has no result.
  /// - Throws: the error of the last address when all have failed.
  mutating func proceed() throws(SystemError) -> ByteStream? {
    var failure = SystemError(.connect, EADDRNOTAVAIL)
    if let pending = attempt.take() {
      let number: Int32
      if Self.canWrite(pending) {
        number = try pending.pendingError(through: system)
      } else {
        attempt = consume pending
        return nil
      }
      if number == 0 { return ByteStream(pending, medium: medium) }
      failure = SystemError(.connect, number)
    }
    while next < addresses.count {
      let address = addresses[next]
      next += 1
      do throws(SystemError) {
        let socket = try FileDescriptor.streamSocket(domain: address.domain, through: system)
        if try begin(socket, address) { return ByteStream(socket, medium: medium) }
        attempt = consume socket
        return nil
      } catch { failure = error }
    }
    throw failure
  }

  /// - Returns: whether the socket is already connected.
  private func begin(_ socket: borrowing FileDescriptor, _ address: SocketAddress) throws(SystemError) -> Bool {
    let number = socket.rawValue
    do throws(SystemError) {
      try system(.connect) { unsafe address.withPointer { unsafe connect(number, $0, $1) } ?? -1 }
      return true
    } catch {
      // EAGAIN of a Unix socket means that its queue is full, which requires a new attempt.
      guard error.number == EINPROGRESS else { throw error }
      return false
    }
  }

  private static func canWrite(_ socket: borrowing FileDescriptor) -> Bool {
    var wanted = pollfd(fd: socket.rawValue, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&wanted, 1, 0) > 0
  }
}
