package import BLEKernel
package import BLELinux
internal import BLEWire

/// The value of a transport string.
///
/// | string | what it opens |
/// |---|---|
/// | `linux`, `linux:hci1`, `linux:F0:F1:F2:F3:F4:F5` | an adapter shared with the kernel: the first, by index, by address |
/// | `hci-socket:0` | an adapter taken from the kernel (user channel) |
/// | `serial:/dev/ttyACM0,1000000,none` | a serial line; default: 1000000 baud, RTS/CTS |
/// | `pty:/tmp/hci` | a pseudo-terminal; the path becomes a symbolic link to the end of the other program |
/// | `tcp-client:127.0.0.1:6402`, `tcp-server:_:6402` | TCP; `_` is every IPv4 address |
/// | `unix-client:/tmp/hci.sock`, `unix-server:/tmp/hci.sock` | a Unix stream socket |
/// | `virtual`, `virtual:phone` | a controller of this name on the simulated radio of the process |
package enum TransportSpec: Hashable, Sendable {
  case linux(AdapterChoice)
  case hciSocket(index: UInt16)
  case stream(StreamEndpoint)
  /// An empty name stands for that of `virtual`.
  case virtual(name: String)
}

extension TransportSpec: CustomStringConvertible {
  /// The shortest transport string with this value.
  package var description: String {
    switch self {
    case .linux(.first): "linux"
    case .linux(.index(let index)): "linux:hci\(index)"
    case .linux(.address(let address)): "linux:\(address)"
    case .hciSocket(let index): "hci-socket:\(index)"
    case .stream(let endpoint): "\(endpoint)"
    case .virtual(let name): name.isEmpty ? "virtual" : "virtual:\(name)"
    }
  }
}

extension TransportSpec {
  /// Makes the transport for this value, not open yet, and passes it to `user`.
  ///
  /// Each kind of transport has a type of its own. Only this function chooses among them.
  func makeTransport<User: TransportUser>(for user: User) throws(TransportError) -> User.Result {
    switch self {
    case .stream(let endpoint): try user.use(H4Transport(endpoint))
    case .virtual(let name): try user.use(VirtualTransport(named: name))
    case .linux(let adapter): try user.use(KernelTransport(adapter, named: "\(self)"))
    case .hciSocket(let index): try user.use(UserChannelTransport(.index(index), named: "\(self)"))
    }
  }
}

/// Code that works with a transport of any type; see ``TransportSpec/makeTransport(for:)``.
protocol TransportUser {
  associatedtype Result
  func use<Transport: HCITransport & ~Copyable>(_ transport: consuming Transport) throws(TransportError) -> Result
}

extension TransportSpec {
  /// Parses a transport string.
  ///
  /// - Throws: ``TransportError`` of kind `malformed`, with the part that is wrong and an example.
  package init(parsing text: String) throws(TransportError) {
    let form: Form?
    let value: Substring?
    if let colon = text.firstIndex(of: ":") {
      form = Form(rawValue: String(text[..<colon]))
      value = text[text.index(after: colon)...]
    } else {
      form = Form(rawValue: text)
      value = nil
    }
    guard let form else {
      throw TransportError(
        .malformed, at: text.isEmpty ? "an empty transport string" : text, "not a transport",
        remedy: "Write one of: \(Form.allCases.map(\.example).joined(separator: ", "))")
    }
    self = try Reader(text: text, form: form, value: value).spec()
  }

  /// The part before the first colon.
  fileprivate enum Form: String, CaseIterable {
    case linux
    case hciSocket = "hci-socket"
    case serial, pty
    case tcpClient = "tcp-client"
    case tcpServer = "tcp-server"
    case unixClient = "unix-client"
    case unixServer = "unix-server"
    case virtual

    var example: String {
      switch self {
      case .linux: "linux:hci0"
      case .hciSocket: "hci-socket:0"
      case .serial: "serial:/dev/ttyACM0,1000000"
      case .pty: "pty:/tmp/hci"
      case .tcpClient: "tcp-client:127.0.0.1:6402"
      case .tcpServer: "tcp-server:_:6402"
      case .unixClient: "unix-client:/tmp/hci.sock"
      case .unixServer: "unix-server:/tmp/hci.sock"
      case .virtual: "virtual:NAME"
      }
    }
  }

  fileprivate struct Reader {
    let text: String
    let form: Form
    let value: Substring?

    func spec() throws(TransportError) -> TransportSpec {
      switch form {
      case .linux: .linux(try adapter())
      case .hciSocket: .hciSocket(index: try index(of: try required("the index of the adapter is missing")))
      case .serial: .stream(try serial())
      case .pty: .stream(.pseudoTerminal(path: try path()))
      case .tcpClient: .stream(try tcpClient())
      case .tcpServer: .stream(try tcpServer())
      case .unixClient: .stream(.unixClient(path: try path()))
      case .unixServer: .stream(.unixServer(path: try path()))
      case .virtual: .virtual(name: try name())
      }
    }

    private func wrong(_ what: String) -> TransportError {
      TransportError(.malformed, at: text, what, remedy: "Write, for example: \(form.example)")
    }

    private func required(_ missing: String) throws(TransportError) -> Substring {
      guard let value, !value.isEmpty else { throw wrong(missing) }
      return value
    }

    private func path() throws(TransportError) -> String { String(try required("the path is missing")) }

    private func name() throws(TransportError) -> String {
      guard let value else { return "" }
      guard !value.isEmpty else { throw wrong("the name after the colon is missing") }
      return String(value)
    }

    private func adapter() throws(TransportError) -> AdapterChoice {
      guard let value else { return .first }
      if value.contains(":") {
        guard let address = DeviceAddress(value, kind: .public) else {
          throw wrong("'\(value)' is not an address of six octets")
        }
        return .address(address.octets)
      }
      guard !value.isEmpty else { throw wrong("the adapter after the colon is missing") }
      return .index(try index(of: value))
    }

    private func index(of text: Substring) throws(TransportError) -> UInt16 {
      let digits = text.hasPrefix("hci") ? text.dropFirst(3) : text
      guard let index = Self.number(digits, as: UInt16.self) else {
        throw wrong("'\(text)' is not an adapter: hci and a number from 0 to 65535")
      }
      return index
    }

    private func serial() throws(TransportError) -> StreamEndpoint {
      let parts = try required("the device is missing").split(separator: ",", omittingEmptySubsequences: false)
      guard let device = parts.first, !device.isEmpty else { throw wrong("the device is missing") }
      guard parts.count <= 3 else { throw wrong("unexpected text after the flow control: '\(parts[3])'") }
      var settings = SerialSettings()
      if parts.count > 1 {
        guard let rate = Self.number(parts[1], as: UInt32.self), rate > 0 else {
          throw wrong("'\(parts[1])' is not a baud rate")
        }
        settings.baudRate = rate
      }
      if parts.count > 2 {
        guard let flow = SerialSettings.FlowControl(rawValue: String(parts[2])) else {
          throw wrong("'\(parts[2])' is not a flow control: rtscts or none")
        }
        settings.flowControl = flow
      }
      return .serial(path: String(device), settings)
    }

    private func tcpClient() throws(TransportError) -> StreamEndpoint {
      let (host, port) = try hostAndPort()
      guard host != "_" else { throw wrong("a client needs a host") }
      guard port != 0 else { throw wrong("no program listens on port 0") }
      return .tcpClient(host: host, port: port)
    }

    private func tcpServer() throws(TransportError) -> StreamEndpoint {
      let (host, port) = try hostAndPort()
      return .tcpServer(host: host == "_" ? nil : host, port: port)
    }

    private func hostAndPort() throws(TransportError) -> (String, UInt16) {
      let value = try required("host and port are missing")
      guard let colon = value.lastIndex(of: ":"), !value.hasSuffix("]") else { throw wrong("the port is missing") }
      var host = value[..<colon]
      let digits = value[value.index(after: colon)...]
      guard let port = Self.number(digits, as: UInt16.self) else {
        throw wrong("'\(digits)' is not a port: a number up to 65535")
      }
      if host.hasPrefix("["), host.hasSuffix("]") {
        host = host.dropFirst().dropLast()
      } else if host.contains(":") {
        throw wrong("an IPv6 address needs brackets, as in [::1]")
      }
      guard !host.isEmpty else { throw wrong("the host is missing") }
      return (String(host), port)
    }

    /// Parses decimal digits, without a sign or spaces.
    private static func number<T: FixedWidthInteger>(_ text: Substring, as type: T.Type) -> T? {
      text.allSatisfy { ("0"..."9").contains($0) } ? T(text) : nil
    }
  }
}
