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
