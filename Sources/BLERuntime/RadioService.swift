package import BLELinux
package import BLEVirtual
internal import BLEWire
internal import Synchronization

/// A simulated radio in real time. Each host that connects gets a controller, and the controllers receive one another.
///
/// Hosts of this process connect by name (transport `virtual:NAME`), and other hosts through ``listen(on:)``. The radio
/// has a thread of its own, which the first connection or listener starts.
///
/// ```swift
/// let radio = RadioService()
/// let port = try radio.listen(on: .tcpServer(host: nil, port: 0))
/// ```
package final class RadioService: Sendable {
  /// The configuration of the radio and its controllers.
  package struct Settings: Sendable {
    package var controller = VirtualControllerConfiguration()
    package var seed: UInt64 = 0
    /// Whether PDUs move at once, or with the timing of a real radio on the clock of this machine.
    package var pacing = VirtualRadio.Pacing.immediate
    /// The folder for the packet traces, one for each host and named after it: `1-phone.btsnoop`.
    package var traceFolder: String?
    package var traceKeepsKeys = false
    /// The number of hosts that can be connected at once. The next one is rejected.
    package var clientLimit = 64
    /// Receives a line when a host connects, disconnects or is rejected, on the radio's thread.
    package var log: @Sendable (String) -> Void = { _ in }
    /// Is called once if the radio ends because a system call has failed, on its thread.
    package var failed: @Sendable (SystemError) -> Void = { _ in }

    package init() {}
  }

  /// The radio of the process, which all `virtual` transports share.
  package static let shared = {
    var settings = Settings()
    // All of them are hosts of this process, which could not determine why a controller is lost.
    settings.clientLimit = 1_024
    if LaunchOptions.pacesVirtualRadio() { settings.pacing = .airtime }
    return RadioService(settings)
  }()

  private let settings: Settings
  private let mailbox = Mutex<RadioLoop.Mailbox?>(nil)

  package init(_ settings: Settings = Settings()) { self.settings = settings }

  deinit { end() }

  /// Gives a controller to a host of this process.
  ///
  /// - Parameter name: the name of the host in traces and in the log; empty for `host`.
  /// - Returns: the host's end of the H4 stream; closing it removes the controller.
  package func attach(named name: String) throws(TransportError) -> ByteStream {
    let place = "\(TransportSpec.virtual(name: name))"
    let mailbox = try runningMailbox(for: place)
    var isPosted = false
    let near: ByteStream
    do throws(SystemError) {
      near = try ByteStream.joined { (far) throws(SystemError) in
        isPosted = mailbox.post(.addClient(OneShot(far), name: name.isEmpty ? "host" : name))
      }
    } catch { throw Self.startFailure(place, error) }
    guard isPosted else { throw Self.refusal(place) }
    return near
  }

  /// Listens for hosts. Each connection to a TCP or Unix server gets a controller, and so does a pseudo-terminal.
  ///
  /// - Returns: the port of a TCP server. If 0 was requested, it is the free port that was chosen.
  @discardableResult
  package func listen(on endpoint: StreamEndpoint) throws(TransportError) -> UInt16? {
    guard endpoint.isServer else {
      throw TransportError(
        .malformed, at: "\(endpoint)", "the simulated radio cannot connect to a host",
        remedy: "Use tcp-server, unix-server or pty.")
    }
    var port = StreamPort(endpoint)
    try port.open()
    let number = port.port
    let mailbox = try runningMailbox(for: "\(endpoint)")
    guard mailbox.post(.addListener(OneShot(port), name: endpoint.clientName)) else {
      throw Self.refusal("\(endpoint)")
    }
    return number
  }

  /// Ends the radio: all hosts lose their controllers, and the listeners close.
  package func end() {
    let ending = mailbox.withLock { $0.take() }
    ending?.shutDown()
    ending?.waitUntilEnded(atMost: .seconds(2))
  }

  /// The mailbox of the radio's thread, which the first call starts.
  private func runningMailbox(for place: String) throws(TransportError) -> RadioLoop.Mailbox {
    let running: Result<RadioLoop.Mailbox, SystemError> = mailbox.withLock { mailbox in
      // One that ends while it is still here has failed: hosts of this process get another one.
      if let mailbox, !mailbox.isEnding { return .success(mailbox) }
      do throws(SystemError) {
        let new = try RadioLoop.Mailbox(commandLimit: RadioLoop.requestLimit, eventBacklogLimit: 1)
        let settings = settings
        try LoopThread.start { RadioLoop.run(new, settings) }
        mailbox = new
        return .success(new)
      } catch { return .failure(error) }
    }
    do throws(SystemError) {
      return try running.get()
    } catch { throw Self.startFailure(place, error) }
  }

  private static func startFailure(_ place: String, _ error: SystemError) -> TransportError {
    TransportError(.inputOutput, at: place, "the simulated radio cannot be started", cause: error)
  }

  private static func refusal(_ place: String) -> TransportError {
    TransportError(
      .busy, at: place, "the simulated radio has ended, or \(RadioLoop.requestLimit) requests wait for it",
      remedy: "Try again in a moment. If the radio has ended, start the program again.")
  }
}

extension StreamEndpoint {
  /// The name of hosts that connect here, in traces and in the log.
  fileprivate var clientName: String {
    switch self {
    case .tcpServer: "tcp"
    case .unixServer: "unix"
    case .pseudoTerminal: "pty"
    case .tcpClient, .unixClient, .serial: "host"
    }
  }
}
