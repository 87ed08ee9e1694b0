internal import BLELinux
internal import BLEWire

/// HCI packets over a TCP or Unix socket, a serial line or a pseudo-terminal (H4; Vol 4, Part A).
struct H4Transport: ~Copyable, H4StreamTransport {
  let name: String
  private let label: TransportLabel
  let isServer: Bool
  private var port: StreamPort
  var stream: H4Stream?

  init(_ endpoint: StreamEndpoint, through system: SystemCalls = .kernel) {
    name = "\(endpoint)"
    label = .endpoint(endpoint)
    isServer = endpoint.isServer
    port = StreamPort(endpoint, through: system)
    stream = nil
  }

  mutating func open(patience: Duration) throws(TransportError) {
    try port.open()
    guard !isServer else { return }
    let clock = MonotonicClock()
    let deadline = clock.now() + patience
    while try !accept() {
      if clock.now() >= deadline {
        throw TransportError(
          .unavailable, at: name, "cannot connect: no answer in \(patience)",
          remedy: "Check the address, then start the controller again.")
      }
      do throws(SystemError) {
        var poller = try Poller(capacity: 1)
        let next = try port.watch(on: poller, token: 0).map { clock.now() + $0 }
        try poller.wait(until: .nearer(deadline, next), on: clock)
      } catch { throw label.failure(error) }
    }
  }

  mutating func accept() throws(TransportError) -> Bool {
    guard let accepted = try port.accept() else { return false }
    stream = H4Stream(accepted, at: label)
    return true
  }

  mutating func reopen() throws(TransportError) { try port.open() }

  var reopensAtOnce: Bool { isServer }

  func watchOpening(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? {
    try port.watch(on: poller, token: token)
  }

  func unwatchOpening(on poller: borrowing Poller) { port.unwatch(on: poller) }

  /// Closes the stream and the socket or terminal that others connect to; a socket file or link is removed.
  mutating func end() {
    stream = nil
    port.close()
  }

  var listeningPort: UInt16? { port.port }
}
