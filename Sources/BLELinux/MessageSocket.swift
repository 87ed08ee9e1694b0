internal import CLinux
internal import Glibc

/// A socket that keeps the borders of messages (SOCK_SEQPACKET, SOCK_RAW). Reads and writes never block.
///
/// Several owners can hold it; the last one closes it.
package final class MessageSocket: Sendable {
  package let descriptor: FileDescriptor

  package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Reads one message to the start of `buffer`; octets that do not fit are lost.
  ///
  /// - Returns: its length in octets; nil where none waits, 0 at the end.
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
  /// - Returns: false where the kernel cannot take it now.
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
