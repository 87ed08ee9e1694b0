import BLELinux
import BLEWire

@testable import BLERuntime

/// A transport over a stream that is open already; the test holds its other end and plays the controller.
struct StreamTransport: ~Copyable, H4StreamTransport {
  let name = "toy"
  var stream: H4Stream?

  init(_ stream: consuming ByteStream) { self.stream = H4Stream(stream, at: .inProcess("toy")) }

  mutating func open(patience: Duration) throws(TransportError) {}
  mutating func accept() throws(TransportError) -> Bool { false }
  mutating func reopen() throws(TransportError) {}
  var reopensAtOnce: Bool { false }
  func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? { nil }
  func unwatchOpening(on poller: borrowing Poller) {}
  mutating func end() { stream = nil }
}
