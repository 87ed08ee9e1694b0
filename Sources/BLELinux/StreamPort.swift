internal import CLinux

/// Opens the byte stream of a ``StreamEndpoint``, and opens it again after a loss.
///
/// ```
///           open()
///   idle ───────────► connecting (clients)        ──┐
///    ▲                listening (servers)           ├─ accept() ──► the stream
///    │                offering (pseudo-terminals)   │
///    │                opened (serial devices)     ──┘
///    └── a client's or serial device's stream is handed out; servers and terminals keep their state
/// ```
package struct StreamPort: ~Copyable, Sendable {
  /// The time between two checks of a pseudo-terminal: the kernel does not report when another program opens it.
  package static let terminalInterval = Duration.milliseconds(100)

  package let endpoint: StreamEndpoint
  private let system: SystemCalls
  private var state = State.idle

  /// A switch over it needs a `default`: a pattern of several cases does not exist for a type that cannot be copied.
  private enum State: ~Copyable {
    case idle
    case connecting(Connector)
    case listening(Listener)
    case offering(PseudoTerminal)
    case opened(ByteStream)
  }

  package init(_ endpoint: StreamEndpoint, through system: SystemCalls = .kernel) {
    self.endpoint = endpoint
    self.system = system
  }

  /// The TCP port that a server listens on.
  package var port: UInt16? {
    switch state {
    case .listening(let listener): listener.port
    default: nil  // The others have no port.
    }
  }

  /// Begins to open the stream: a client starts to connect, a server listens, a device is opened.
  ///
  /// A server that is already listening continues to listen.
  package mutating func open() throws(TransportError) {
    switch endpoint {
    case .tcpClient(let host, let port):
      do throws(SocketAddress.Unresolved) {
        let addresses = try SocketAddress.resolve(host: host, port: port, through: system)
        state = .connecting(Connector(to: addresses, medium: .tcp, through: system))
      } catch {
        throw TransportError(
          .unavailable, at: "\(endpoint)", "cannot connect: the name '\(host)' has no address (\(error.text))",
          remedy: "Check the spelling, or use a numeric address.")
      }
    case .unixClient(let path):
      do throws(SystemError) {
        let address = try SocketAddress(unixPath: path)
        state = .connecting(Connector(to: [address], medium: .socket, through: system))
      } catch { throw TransportError(opening: endpoint, error) }
    case .tcpServer(let host, let port):
      guard !isListening else { return }
      state = .listening(try Listener(tcpHost: host, port: port, through: system))
    case .unixServer(let path):
      guard !isListening else { return }
      state = .listening(try Listener(unixPath: path, through: system))
    case .pseudoTerminal(let path):
      // The old terminal is closed first, and its link is removed.
      state = .idle
      state = .offering(try PseudoTerminal(linkedAt: path, through: system))
    case .serial(let path, let settings):
      state = .opened(try SerialLine.open(path, settings, through: system))
    }
  }

  /// Closes what ``open()`` opened, and removes a socket file or the link to a terminal.
  package mutating func close() { state = .idle }

  private var isListening: Bool {
    switch state {
    case .listening: true
    default: false
    }
  }

  /// The open stream; nil while the other program has not connected.
  package mutating func accept() throws(TransportError) -> ByteStream? {
    do throws(SystemError) {
      switch state {
      case .listening(let listener): return try listener.accept(through: system)
      default: break  // The others are consumed below.
      }
      var current = State.idle
      swap(&current, &state)
      switch consume current {
      case .connecting(var connector):
        if let stream = try connector.proceed() { return stream }
        state = .connecting(connector)
      case .offering(var terminal):
        let stream = terminal.accept()
        state = .offering(terminal)
        return stream
      case .opened(let stream): return stream
      default: break  // Nothing is being opened.
      }
      return nil
    } catch { throw TransportError(opening: endpoint, error) }
  }

  /// Watches for the moment when ``accept()`` can make progress.
  ///
  /// - Returns: the time until ``accept()`` must be called again, if no descriptor reports that moment.
  package func watch(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? {
    switch state {
    case .connecting(let connector): try connector.watch(on: poller, token: token)
    case .listening(let listener): try poller.watch(listener.descriptor, token: token, for: .reading)
    case .offering: return Self.terminalInterval
    default: break  // Nothing is being opened, or it is there already.
    }
    return nil
  }

  /// Ends the watch.
  package func unwatch(on poller: borrowing Poller) {
    switch state {
    case .listening(let listener): poller.unwatch(listener.descriptor)
    // The descriptor of a connector is closed, or becomes that of the stream. The others are not watched.
    default: break
    }
  }
}

/// A byte stream that this system can open.
package enum StreamEndpoint: Hashable, Sendable {
  case tcpClient(host: String, port: UInt16)
  /// A nil host listens on every address; port 0 lets the system choose a port.
  case tcpServer(host: String?, port: UInt16)
  case unixClient(path: String)
  case unixServer(path: String)
  case serial(path: String, SerialSettings)
  /// A pseudo-terminal; `path` becomes a symbolic link to the end of the other program.
  case pseudoTerminal(path: String)

  /// Whether the other program connects to this one.
  package var isServer: Bool {
    switch self {
    case .tcpServer, .unixServer, .pseudoTerminal: true
    case .tcpClient, .unixClient, .serial: false
    }
  }
}

/// The settings of a serial line. It always has 8 data bits, no parity and 1 stop bit (Vol 4, Part A, 3).
package struct SerialSettings: Hashable, Sendable {
  package enum FlowControl: String, Sendable { case rtscts, none }

  /// In bits per second.
  package var baudRate: UInt32
  /// RTS/CTS, unless the line lacks the wires. Without flow control a controller loses octets.
  package var flowControl: FlowControl

  package init(baudRate: UInt32 = 1_000_000, flowControl: FlowControl = .rtscts) {
    self.baudRate = baudRate
    self.flowControl = flowControl
  }
}

extension StreamEndpoint: CustomStringConvertible {
  /// The transport string of the endpoint.
  package var description: String {
    switch self {
    case .tcpClient(let host, let port): "tcp-client:\(Self.bracketed(host)):\(port)"
    case .tcpServer(let host, let port): "tcp-server:\(host.map(Self.bracketed) ?? "_"):\(port)"
    case .unixClient(let path): "unix-client:\(path)"
    case .unixServer(let path): "unix-server:\(path)"
    case .serial(let path, let settings):
      "serial:\(path),\(settings.baudRate)" + (settings.flowControl == .none ? ",none" : "")
    case .pseudoTerminal(let path): "pty:\(path)"
    }
  }

  private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}
