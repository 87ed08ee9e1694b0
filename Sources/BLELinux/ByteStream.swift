internal import CLinux
internal import Glibc

/// One end of an open stream of octets. Reads and writes do not block and do not allocate memory.
package struct ByteStream: ~Copyable, Sendable {
  package enum Medium: Sendable { case tcp, socket, terminal }

  /// The result of a read.
  package enum Received: Equatable, Sendable {
    case octets(Int)
    /// Nothing has arrived.
    case nothing
    /// The other end closed the stream.
    case end
  }

  package let descriptor: FileDescriptor
  private let medium: Medium

  package init(_ descriptor: consuming FileDescriptor, medium: Medium) {
    self.descriptor = descriptor
    self.medium = medium
    if medium == .tcp { setOption(TCP_NODELAY) }
  }

  /// Reads the available octets into `buffer`, as many as fit.
  package func read(into buffer: inout [UInt8]) throws(SystemError) -> Received {
    let (number, medium) = (descriptor.rawValue, medium)
    let count = unsafe buffer.withUnsafeMutableBytes {
      medium == .terminal
        ? unsafe Glibc.read(number, $0.baseAddress, $0.count)
        : unsafe recv(number, $0.baseAddress, $0.count, 0)
    }
    if count > 0 { return .octets(count) }
    if count == 0 { return .end }
    let failure = errno
    switch failure {
    case EAGAIN, EINTR: return .nothing
    // The last program at the other end of a pseudo-terminal has closed it.
    case EIO where medium == .terminal: return .end
    default: throw SystemError(.receive, failure)
    }
  }

  /// Acknowledges at once the octets that were read, because the other end may wait for that before it sends the rest
  /// of a packet.
  ///
  /// RootCanal writes the packet indicator and the rest separately. The rest waits until the first segment is
  /// acknowledged, and the kernel delays acknowledgements by 40 ms. The option applies to one use only.
  package func acknowledge() { if medium == .tcp { setOption(TCP_QUICKACK) } }

  /// Writes as many of `octets` as the system accepts now.
  ///
  /// - Returns: the number of octets that were written; 0 if the stream is full.
  package func write(_ octets: Span<UInt8>) throws(SystemError) -> Int {
    let (number, medium) = (descriptor.rawValue, medium)
    let count = unsafe octets.withUnsafeBytes {
      medium == .terminal
        ? unsafe Glibc.write(number, $0.baseAddress, $0.count)
        : unsafe send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    if count >= 0 { return count }
    let failure = errno
    guard failure == EAGAIN || failure == EINTR else { throw SystemError(.send, failure) }
    return 0
  }

  private func setOption(_ name: Int32) {
    var one: Int32 = 1
    _ = unsafe setsockopt(descriptor.rawValue, Int32(IPPROTO_TCP), name, &one, 4)
  }
}

extension ByteStream {
  /// Creates a connected pair of streams inside the process. It returns one, and passes the other to `body`.
  package static func joined(
    to body: (consuming ByteStream) throws(SystemError) -> Void
  ) throws(SystemError) -> ByteStream {
    var numbers: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    try SystemCalls.kernel(.socket) {
      unsafe numbers.withUnsafeMutableBufferPointer { unsafe socketpair(AF_UNIX, type, 0, $0.baseAddress) }
    }
    let near = ByteStream(FileDescriptor(adopting: numbers[0]), medium: .socket)
    try body(ByteStream(FileDescriptor(adopting: numbers[1]), medium: .socket))
    return near
  }
}

/// A socket that preserves message boundaries (SOCK_SEQPACKET, SOCK_RAW). Reads and writes never block.
///
/// It can have several owners. The last one closes it.
package final class MessageSocket: Sendable {
  package let descriptor: FileDescriptor

  package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Reads one message to the start of `buffer`. Octets that do not fit are lost.
  ///
  /// - Returns: the length of the message in octets; nil if no message waits, 0 at the end.
  package func receive(into buffer: inout [UInt8]) throws(SystemError) -> Int? {
    let number = descriptor.rawValue
    let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(number, $0.baseAddress, $0.count, 0) }
    if count >= 0 { return count }
    let failure = errno
    if failure == EAGAIN || failure == EINTR { return nil }
    throw SystemError(.receive, failure)
  }

  /// Sends one message.
  ///
  /// - Returns: false if the kernel cannot accept the message now.
  package func send(_ message: Span<UInt8>) throws(SystemError) -> Bool {
    let number = descriptor.rawValue
    while true {
      let count = unsafe message.withUnsafeBytes {
        unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count >= 0 { return true }
      let failure = errno
      if failure == EINTR { continue }
      if failure == EAGAIN || failure == ENOBUFS { return false }
      throw SystemError(.send, failure)
    }
  }
}
