internal import BLELinux
internal import BLEWire

/// A controller on the radio that is simulated in this process (`virtual`, `virtual:NAME`).
///
/// The connection is a pair of sockets to the radio's thread. A lost controller is not replaced.
struct VirtualTransport: ~Copyable, H4StreamTransport {
  let name: String
  private let controller: String
  private let radio: RadioService
  var stream: H4Stream?

  /// - Parameter controller: the name of the controller; empty for that of `virtual` alone.
  init(named controller: String, on radio: RadioService = .shared) {
    name = "\(TransportSpec.virtual(name: controller))"
    self.controller = controller
    self.radio = radio
    stream = nil
  }

  mutating func open(patience: Duration) throws(TransportError) {
    stream = H4Stream(try radio.attach(named: controller), at: .inProcess(name))
  }

  mutating func accept() throws(TransportError) -> Bool { false }
  mutating func reopen() throws(TransportError) {}
  var reopensAtOnce: Bool { false }
  func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? { nil }
  func unwatchOpening(on poller: borrowing Poller) {}

  mutating func end() { stream = nil }
}
