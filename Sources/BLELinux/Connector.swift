internal import CBluetoothLinux
internal import Glibc

/// A connection in the making: tries one address after the other without blocking.
struct Connector: ~Copyable, Sendable {
  private let addresses: [SocketAddress]
  private let medium: ByteStream.Medium
  private let system: SystemCalls
  private var next = 0
  private var attempt: Descriptor?

  init(to addresses: [SocketAddress], medium: ByteStream.Medium, through system: SystemCalls) {
    self.addresses = addresses
    self.medium = medium
    self.system = system
  }

  /// Watches the attempt under way: it can be written when it has succeeded or failed.
  func watch(on poller: borrowing Poller, token: UInt64) throws(SystemError) {
    switch attempt {
    case .some(let pending): try poller.watch(pending, token: token, for: .writing)
    case .none: break
    }
  }

  /// Goes on as far as it can.
  ///
  /// - Returns: the open stream, or nil while an attempt is under way.
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
        let socket = try Descriptor.streamSocket(domain: address.domain, through: system)
        if try begin(socket, address) { return ByteStream(socket, medium: medium) }
        attempt = consume socket
        return nil
      } catch { failure = error }
    }
    throw failure
  }

  /// - Returns: whether it is connected already.
  private func begin(_ socket: borrowing Descriptor, _ address: SocketAddress) throws(SystemError) -> Bool {
    let number = socket.rawValue
    do throws(SystemError) {
      try system(.connect) { unsafe address.withPointer { unsafe connect(number, $0, $1) } ?? -1 }
      return true
    } catch {
      // A Unix socket whose queue is full says EAGAIN: it is not under way, only the next attempt helps.
      guard error.number == EINPROGRESS else { throw error }
      return false
    }
  }

  private static func canWrite(_ socket: borrowing Descriptor) -> Bool {
    var wanted = pollfd(fd: socket.rawValue, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&wanted, 1, 0) > 0
  }
}
