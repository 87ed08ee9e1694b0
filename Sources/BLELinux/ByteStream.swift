internal import CLinux
internal import Glibc

/// One open end of a stream of octets; reads and writes never block and allocate nothing.
package struct ByteStream: ~Copyable, Sendable {
  package enum Medium: Sendable { case tcp, socket, terminal }

  /// What a read gave.
  package enum Received: Equatable, Sendable {
    case octets(Int)
    /// Nothing is there now.
    case nothing
    /// The other end closed; nothing will come any more.
    case end
  }

  package let descriptor: FileDescriptor
  private let medium: Medium

  package init(_ descriptor: consuming FileDescriptor, medium: Medium) {
    self.descriptor = descriptor
    self.medium = medium
    if medium == .tcp { setOption(TCP_NODELAY) }
  }

  /// Reads what is there into `buffer`, at most as much as it holds.
  package func read(into buffer: inout [UInt8]) throws(SystemError) -> Received {
    let (number, medium) = (descriptor.rawValue, medium)
    let count = unsafe buffer.withUnsafeMutableBytes {
      medium == .terminal
        ? unsafe Glibc.read(number, $0.baseAddress, $0.count)
        : unsafe recv(number, $0.baseAddress, $0.count, 0)
    }
    let failure = errno
    // RootCanal writes the packet's type and its rest separately: unless the first is acknowledged at once, the rest
    // waits for the delayed acknowledgement, 40 ms. The kernel forgets the option after each use.
    if medium == .tcp { setOption(TCP_QUICKACK) }
    if count > 0 { return .octets(count) }
    if count == 0 { return .end }
    switch failure {
    case EAGAIN, EINTR: return .nothing
    // The last program that had the other end of a pseudo-terminal closed it.
    case EIO where medium == .terminal: return .end
    default: throw SystemError(.receive, failure)
    }
  }

  /// Writes as much of `octets` as goes without waiting.
  ///
  /// - Returns: how many went; 0 where the pipe is full.
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
  /// Two streams joined back to back inside the process: the one is returned, the other handed over.
  package static func joined(
    to handOver: (consuming ByteStream) throws(SystemError) -> Void
  ) throws(SystemError) -> ByteStream {
    var numbers: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    try SystemCalls.kernel(.socket) {
      unsafe numbers.withUnsafeMutableBufferPointer { unsafe socketpair(AF_UNIX, type, 0, $0.baseAddress) }
    }
    let near = ByteStream(FileDescriptor(adopting: numbers[0]), medium: .socket)
    try handOver(ByteStream(FileDescriptor(adopting: numbers[1]), medium: .socket))
    return near
  }
}
