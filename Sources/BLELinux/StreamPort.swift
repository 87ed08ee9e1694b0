internal import CBluetoothLinux

/// The place where a byte stream comes from: opens it, waits for the other program, and does so again after a loss.
///
/// ```
///  idle ──open()──► connecting / listening / offered ──accept()──► the stream is handed out
///    ▲                                                                      │
///    └────────────────────────── open() after the loss ◄────────────────────┘
/// ```
package struct StreamPort: ~Copyable, Sendable {
  /// How often a pseudo-terminal is looked at until somebody opens it: the system does not tell.
  package static let terminalPatience = Duration.milliseconds(100)

  package let endpoint: StreamEndpoint
  private let system: SystemCalls
  private var connector: Connector?
  private var listener: Listener?
  private var terminal: PseudoTerminal?
  private var line: ByteStream?

  package init(_ endpoint: StreamEndpoint, through system: SystemCalls = .kernel) {
    self.endpoint = endpoint
    self.system = system
  }

  /// The TCP port that a server listens on.
  package var port: UInt16? {
    switch listener {
    case .some(let listener): listener.port
    case .none: nil
    }
  }

  /// Begins: a client connects, a server listens, a device is opened.
  package mutating func open() throws(TransportError) {
    switch endpoint {
    case .tcpClient(let host, let port):
      do throws(SocketAddress.Unresolved) {
        let addresses = try SocketAddress.resolve(host: host, port: port, through: system)
        connector = Connector(to: addresses, medium: .tcp, through: system)
      } catch {
        throw TransportError(
          .unavailable, at: "\(endpoint)", "the name '\(host)' has no address: \(error.text)",
          remedy: "check the spelling, or write the address in digits")
      }
    case .unixClient(let path):
      do throws(SystemError) {
        connector = Connector(to: [try SocketAddress(unixPath: path)], medium: .socket, through: system)
      } catch { throw TransportError(opening: endpoint, error) }
    case .tcpServer(let host, let port):
      if listener == nil { listener = try Listener(tcpHost: host, port: port, through: system) }
    case .unixServer(let path):
      if listener == nil { listener = try Listener(unixPath: path, through: system) }
    case .pseudoTerminal(let path):
      terminal = nil
      terminal = try PseudoTerminal(linkedAt: path, through: system)
    case .serial(let path, let settings):
      line = try SerialLine.open(path, settings, through: system)
    }
  }

  /// The stream, once it is there; nil while it is still waited for.
  package mutating func accept() throws(TransportError) -> ByteStream? {
    do throws(SystemError) {
      if var current = connector.take() {
        if let stream = try current.proceed() { return stream }
        connector = consume current
        return nil
      }
      switch listener {
      case .some(let listener): return try listener.accept(through: system)
      case .none: break
      }
      if let stream = line.take() { return stream }
      return terminal?.accept()
    } catch { throw TransportError(opening: endpoint, error) }
  }

  /// Watches for the moment when ``accept()`` may get on.
  ///
  /// - Returns: after how long it is to be asked again where nothing tells that moment.
  package func watch(on poller: borrowing Poller, token: UInt64) throws(SystemError) -> Duration? {
    switch connector {
    case .some(let connector): try connector.watch(on: poller, token: token)
    case .none: break
    }
    switch listener {
    case .some(let listener): try poller.watch(listener.descriptor, token: token, for: .reading)
    case .none: break
    }
    switch terminal {
    case .some: return Self.terminalPatience
    case .none: return nil
    }
  }

  /// Ends the watch.
  package func unwatch(on poller: borrowing Poller) {
    switch listener {
    case .some(let listener): poller.unwatch(listener.descriptor)
    case .none: break
    }
  }
}

/// Where a byte stream that carries HCI can be had on this system.
package enum StreamEndpoint: Hashable, Sendable {
  case tcpClient(host: String, port: UInt16)
  /// A nil host listens on every address; port 0 takes a free one.
  case tcpServer(host: String?, port: UInt16)
  case unixClient(path: String)
  case unixServer(path: String)
  case serial(path: String, SerialSettings)
  /// A pseudo-terminal; `path` becomes a symbolic link to the end that the other program opens.
  case pseudoTerminal(path: String)

  /// Whether the other program comes to us.
  package var isServer: Bool {
    switch self {
    case .tcpServer, .unixServer, .pseudoTerminal: true
    case .tcpClient, .unixClient, .serial: false
    }
  }
}

/// How the octets travel on a serial line: 8 data bits, no parity, 1 stop bit always (Vol 4, Part A, 2 of H4).
package struct SerialSettings: Hashable, Sendable {
  package enum FlowControl: String, Sendable { case rtscts, none }

  /// In bits a second.
  package var baudRate: UInt32
  /// RTS/CTS unless the line lacks the wires: without it a controller loses octets.
  package var flowControl: FlowControl

  package init(baudRate: UInt32 = 1_000_000, flowControl: FlowControl = .rtscts) {
    self.baudRate = baudRate
    self.flowControl = flowControl
  }
}

extension StreamEndpoint: CustomStringConvertible {
  /// The transport string that names it.
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
