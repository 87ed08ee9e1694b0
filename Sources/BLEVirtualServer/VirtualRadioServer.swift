internal import BLELinux
internal import BLERuntime
public import BLEVirtual

/// A simulated radio for hosts in other programs: each host that connects gets a controller of its own.
///
/// The radio runs on a thread of its own, on the clock of the machine. The first call of ``listen(on:)`` starts it, and
/// ``end()`` or the end of this object stops it.
///
/// ```swift
/// let server = VirtualRadioServer()
/// let transport = try server.listen(on: .tcp(host: "127.0.0.1", port: 0))
/// print(transport)  // tcp-client:127.0.0.1:40217
/// ```
///
/// Hosts send H4 packets (Vol 4, Part A): HCI has neither authentication nor encryption. Any program that can reach an
/// endpoint gets a controller.
public final class VirtualRadioServer: Sendable {
  /// The properties of the radio and of its controllers.
  public struct Configuration: Sendable {
    /// The properties of each controller.
    ///
    /// Without a public address in them, that of a controller follows from the endpoint, from the number of hosts that
    /// are connected there, and from the seed: a host that connects again is the same device to its peers, in another
    /// run of the radio, too.
    public var controller = VirtualControllerConfiguration()
    /// Whether PDUs move at once, or with the timing of a real radio.
    public var pacing = VirtualRadio.Pacing.immediate
    /// The seed of every random number.
    public var seed: UInt64 = 0
    /// Hosts that can be connected at once; the next one is disconnected.
    public var hostLimit = 64
    /// The folder for packet traces in the btsnoop format, one for each host: `1-tcp.btsnoop`; nil for no traces.
    ///
    /// The folder must exist.
    public var traceFolder: String?
    /// Whether keys are readable in the traces; otherwise they are replaced by zeros.
    public var traceKeepsKeys = false
    /// Receives a line when a host connects, disconnects or is rejected, on the thread of the radio.
    public var log: @Sendable (String) -> Void = { _ in }
    /// Receives the reason, once, if a system call has failed and the radio has ended: its hosts are disconnected, and
    /// nothing listens any more. A program whose purpose is the radio should end then. It is called on the thread of
    /// the radio.
    public var failed: @Sendable (_ reason: String) -> Void = { _ in }

    /// Creates a configuration with the defaults.
    public init() {}
  }

  /// A socket or terminal that hosts connect to.
  public enum Endpoint: Hashable, Sendable {
    /// A TCP port. A nil host is every IPv4 address of the machine; port 0 is a port that the system chooses.
    case tcp(host: String?, port: UInt16)
    /// A Unix stream socket. The file must not exist, or be a socket that no program listens on.
    case unix(path: String)
    /// A pseudo-terminal for one host at a time. A symbolic link at `path` names the end of the host.
    case pseudoTerminal(path: String)
  }

  private let radio: RadioService

  /// Creates a radio; its thread starts with the first endpoint.
  public init(_ configuration: Configuration = Configuration()) {
    var settings = RadioService.Settings()
    settings.controller = configuration.controller
    settings.pacing = configuration.pacing
    settings.seed = configuration.seed
    settings.clientLimit = configuration.hostLimit
    settings.traceFolder = configuration.traceFolder
    settings.traceKeepsKeys = configuration.traceKeepsKeys
    settings.log = configuration.log
    settings.failed = { [failed = configuration.failed] in failed("\($0)") }
    radio = RadioService(settings)
  }

  /// Listens for hosts. A radio can have several endpoints.
  ///
  /// - Returns: the transport string by which a host of this machine connects: `tcp-client:127.0.0.1:6402`,
  ///   `unix-client:/tmp/hci.sock`, `serial:/tmp/hci`.
  /// - Throws: ``VirtualRadioServerError`` if the endpoint cannot be opened.
  @discardableResult
  public func listen(on endpoint: Endpoint) throws(VirtualRadioServerError) -> String {
    do throws(TransportError) {
      switch endpoint {
      case .tcp(let host, let port):
        let open = try radio.listen(on: .tcpServer(host: host, port: port))
        return "\(StreamEndpoint.tcpClient(host: host ?? "127.0.0.1", port: open ?? port))"
      case .unix(let path):
        try radio.listen(on: .unixServer(path: path))
        return "\(StreamEndpoint.unixClient(path: path))"
      case .pseudoTerminal(let path):
        try radio.listen(on: .pseudoTerminal(path: path))
        return "serial:\(path)"
      }
    } catch { throw VirtualRadioServerError(error) }
  }

  /// Ends the radio: all hosts are disconnected, and the endpoints are closed and their files removed.
  ///
  /// Waits up to two seconds for the thread of the radio. Do not call it in ``Configuration/log``.
  public func end() { radio.end() }
}

/// The reason why an endpoint of a ``VirtualRadioServer`` cannot be opened.
public struct VirtualRadioServerError: Error, Hashable, Sendable {
  /// The kind of failure.
  public enum Kind: Hashable, Sendable {
    /// The path is malformed.
    case malformed
    /// The folder, the address or the terminal does not exist.
    case unavailable
    /// Another program uses the port or the path.
    case busy
    /// The user has no permission.
    case noPermission
    /// A system call failed for another reason.
    case inputOutput
  }

  /// The kind of failure.
  public let kind: Kind
  /// One line: what failed, why, and what to do.
  public let text: String

  init(_ error: TransportError) {
    kind =
      switch error.kind {
      case .malformed: .malformed
      case .unavailable, .unsupported: .unavailable
      case .busy: .busy
      case .noPermission: .noPermission
      case .closed, .poweredOff, .inputOutput: .inputOutput
      }
    text = "\(error)"
  }

  /// The exit status of a program that cannot go on, as in `sysexits.h`.
  public var exitStatus: Int32 {
    switch kind {
    case .malformed: 64
    case .unavailable: 69
    case .inputOutput: 74
    case .busy: 75
    case .noPermission: 77
    }
  }
}

extension VirtualRadioServerError: CustomStringConvertible {
  /// The text of the error, ``text``.
  public var description: String { text }
}
