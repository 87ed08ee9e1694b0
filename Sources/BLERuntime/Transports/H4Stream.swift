internal import BLEHCI
internal import BLELinux
internal import BLEWire

/// HCI packets over a byte stream (H4; Vol 4, Part A, 2). It divides the stream into packets, and sends each batch in
/// one call.
struct H4Stream: ~Copyable, Sendable {
  /// The number of octets that can wait while the stream is full. With more, the controller counts as stuck.
  static let backlogLimit = 1 << 20
  /// The number of octets of one read.
  static let readSize = 16_384

  private let stream: ByteStream
  private let label: TransportLabel
  private var framer = H4Framer()
  private var buffer = [UInt8](repeating: 0, count: H4Stream.readSize)
  private var backlog = OctetQueue()

  init(_ stream: consuming ByteStream, at label: TransportLabel) {
    self.stream = stream
    self.label = label
  }

  /// Whether octets wait until the stream is writable.
  var hasBacklog: Bool { !backlog.isEmpty }

  /// Reads once and calls `body` with each complete packet.
  ///
  /// - Throws: ``TransportError`` at the end of the stream, even in the middle of a packet, and for octets that are not
  ///   an HCI packet. Earlier packets have been passed on.
  mutating func receive(_ body: (Span<UInt8>) -> Void) throws(TransportError) {
    let received: ByteStream.Received
    do throws(SystemError) {
      received = try stream.read(into: &buffer)
    } catch { throw label.failure(error) }
    switch received {
    case .nothing: return
    case .octets(let count):
      do throws(H4Error) {
        try Self.divide(buffer, count: count, with: &framer, body)
      } catch { throw label.malformedInput(error) }
      if !framer.collected.isEmpty { stream.acknowledge() }
    case .end:
      do throws(H4Error) {
        try framer.finish()
      } catch { throw label.end(error) }
      throw label.end(nil)
    }
  }

  private static func divide(
    _ buffer: [UInt8], count: Int, with framer: inout H4Framer, _ body: (Span<UInt8>) -> Void
  ) throws(H4Error) {
    let input = buffer.span.extracting(first: count)
    var offset = 0
    while let place = try framer.next(in: input, from: &offset) {
      switch place {
      case .input(let range): body(input.extracting(range))
      case .collected: body(framer.collected.span)
      }
    }
  }

  /// Reads once and passes each complete packet to `handler`.
  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError) {
    try receive { handler.receive($0) }
  }

  /// Sends complete packets. Octets that the stream does not accept now wait for ``flush()``.
  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) {
    if hasBacklog {
      let octets = packets.octets
      guard backlog.count + octets.count <= Self.backlogLimit else { throw label.stuck(Self.backlogLimit) }
      backlog.append(octets.span, Span())
      return try flush()
    }
    let rest = try packets.withOctets { octets throws(TransportError) in
      octets.isEmpty ? 0 : octets.count - (try write(octets))
    }
    guard rest > 0 else { return }
    guard rest <= Self.backlogLimit else { throw label.stuck(Self.backlogLimit) }
    let octets = packets.octets.suffix(rest)
    backlog.append(octets.span, Span())
  }

  /// Sends waiting octets, as many as the stream accepts.
  mutating func flush() throws(TransportError) {
    while hasBacklog {
      let count = try write(backlog.memory.span.extracting(backlog.start..<backlog.end))
      if count == 0 { break }
      backlog.removeFirst(count)
    }
  }

  func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError) {
    try poller.watch(stream.descriptor, token: token, for: interest)
  }

  func unwatch(on poller: borrowing Poller) { poller.unwatch(stream.descriptor) }

  private func write(_ octets: Span<UInt8>) throws(TransportError) -> Int {
    do throws(SystemError) {
      return try stream.write(octets)
    } catch { throw label.failure(error) }
  }
}

/// A transport whose open connection is an ``H4Stream``.
protocol H4StreamTransport: HCITransport, ~Copyable {
  /// The open connection; nil if there is none.
  var stream: H4Stream? { get set }
}

extension H4StreamTransport where Self: ~Copyable {
  var isOpen: Bool {
    switch stream {
    case .some: true
    case .none: false
    }
  }

  mutating func receive(into handler: inout some PacketHandler & ~Copyable) throws(TransportError) {
    try stream?.receive(into: &handler)
  }

  mutating func send(_ packets: borrowing PacketBuffer) throws(TransportError) { try stream?.send(packets) }

  var hasBacklog: Bool {
    switch stream {
    case .some(let stream): stream.hasBacklog
    case .none: false
    }
  }

  mutating func flush() throws(TransportError) { try stream?.flush() }

  func watch(on poller: borrowing Poller, token: UInt64, for interest: Poller.Interest) throws(SystemError) {
    try stream?.watch(on: poller, token: token, for: interest)
  }

  func unwatch(on poller: borrowing Poller) {
    switch stream {
    case .some(let stream): stream.unwatch(on: poller)
    case .none: break
    }
  }

  mutating func close(after error: TransportError) { stream = nil }
}

/// The other end of an ``H4Stream``, for errors.
enum TransportLabel: Sendable {
  /// A controller of another program, or on a serial line.
  case endpoint(StreamEndpoint)
  /// A controller of this process.
  case inProcess(String)
  /// A host, which the simulated radio has given a controller.
  case host(String)

  private var name: String {
    switch self {
    case .endpoint(let endpoint): "\(endpoint)"
    case .inProcess(let name), .host(let name): name
    }
  }

  func failure(_ error: SystemError) -> TransportError {
    switch self {
    case .endpoint(let endpoint): TransportError(using: endpoint, error)
    case .inProcess(let name): TransportError(.closed, at: name, "the simulated radio has ended", cause: error)
    case .host(let name): TransportError(.closed, at: name, "the connection to the host was lost (\(error))")
    }
  }

  func malformedInput(_ error: H4Error) -> TransportError { TransportError(.inputOutput, at: name, "\(error)") }

  func stuck(_ limit: Int) -> TransportError {
    func error(_ end: String, remedy: String = "") -> TransportError {
      TransportError(
        .inputOutput, at: name, "the \(end) does not read: more than \(limit) octets wait", remedy: remedy)
    }
    return switch self {
    case .endpoint, .inProcess:
      error("controller", remedy: "Reset the controller. On a serial line, check the flow control.")
    case .host: error("host")
    }
  }

  func end(_ error: H4Error?) -> TransportError {
    let octets = if case .truncated(let octets) = error { octets.count } else { 0 }
    return switch self {
    case .endpoint(let endpoint): TransportError(endOf: endpoint, inPacketAfter: octets)
    case .inProcess(let name): TransportError(.closed, at: name, "the simulated radio has ended")
    case .host(let name):
      TransportError(
        .closed, at: name, "the host closed the connection\(octets == 0 ? "" : " \(octets) octets into a packet")")
    }
  }
}
