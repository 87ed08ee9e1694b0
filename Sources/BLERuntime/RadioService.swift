package import BLELinux
package import BLEVirtual
internal import BLEWire
internal import Synchronization

/// A simulated radio in real time: every host that attaches gets a controller of its own, and all hear each other.
///
/// Hosts of this process attach by name (transport `virtual:NAME`), others over the doors that ``listen(on:)`` opens.
/// One thread owns the radio; it begins with the first guest or door.
///
/// ```swift
/// let radio = RadioService()
/// let port = try radio.listen(on: .tcpServer(host: nil, port: 0))
/// ```
package final class RadioService: Sendable {
  /// What the radio and its controllers are made of.
  package struct Settings: Sendable {
    package var controller = VirtualControllerConfiguration()
    package var seed: UInt64 = 0
    /// Whether PDUs move at once, or with the timing of a real radio on the clock of this machine.
    package var pacing = VirtualRadio.Pacing.immediate
    /// The folder for one packet trace a guest, named after it: `1-phone.btsnoop`.
    package var traceFolder: String?
    package var traceKeepsKeys = false
    /// Guests at one time; the next one is turned away.
    package var guestLimit = 64
    /// Hears a line about each guest that comes, goes or is turned away, on the radio's thread.
    package var log: @Sendable (String) -> Void = { _ in }

    package init() {}
  }

  /// The radio of the process, which all `virtual` transports share.
  package static let shared = {
    var settings = Settings()
    if LaunchOptions.pacesVirtualRadio() { settings.pacing = .airtime }
    return RadioService(settings)
  }()

  private let settings: Settings
  private let mailbox = Mutex<RadioDesk?>(nil)

  package init(_ settings: Settings = Settings()) { self.settings = settings }

  deinit { end() }

  /// Gives a host of this process a controller.
  ///
  /// - Returns: the host's end of the H4 stream; when it is closed, the controller goes.
  package func attach(named name: String) throws(TransportError) -> ByteStream {
    let place = name.isEmpty ? "virtual" : "virtual:\(name)"
    do throws(SystemError) {
      return try ByteStream.joined { (far) throws(SystemError) in
        try ask(.admit(OneShot(far), name: name.isEmpty ? "host" : name))
      }
    } catch {
      throw TransportError(.inputOutput, at: place, "the simulated radio cannot be started", cause: error)
    }
  }

  /// Opens a door: each connection to a TCP or Unix server is a controller of its own, and so is a pseudo-terminal.
  ///
  /// - Returns: the port of a TCP server; the one that was free where 0 was asked for.
  @discardableResult
  package func listen(on endpoint: StreamEndpoint) throws(TransportError) -> UInt16? {
    guard endpoint.isServer else {
      throw TransportError(
        .malformed, at: "\(endpoint)", "the radio waits for hosts and calls none",
        remedy: "take tcp-server, unix-server or pty")
    }
    var port = StreamPort(endpoint)
    try port.open()
    let number = port.port
    do throws(SystemError) {
      try ask(.open(OneShot(port), name: endpoint.guestName))
    } catch {
      throw TransportError(.inputOutput, at: "\(endpoint)", "the simulated radio cannot be started", cause: error)
    }
    return number
  }

  /// Ends the radio: all guests lose their controllers, the doors close.
  package func end() {
    let ending = mailbox.withLock { $0.take() }
    ending?.ask(.end)
    ending?.ended.wait(atMost: .seconds(2))
  }

  private func ask(_ wish: RadioDesk.Wish) throws(SystemError) {
    let started: Result<RadioDesk, SystemError> = mailbox.withLock { mailbox in
      if let mailbox { return .success(mailbox) }
      do throws(SystemError) {
        let new = try RadioDesk()
        let settings = settings
        try LoopThread.start { RadioLoop.run(new, settings) }
        mailbox = new
        return .success(new)
      } catch { return .failure(error) }
    }
    try started.get().ask(wish)
  }
}

extension StreamEndpoint {
  /// What guests that come this way are called in traces and in the log.
  fileprivate var guestName: String {
    switch self {
    case .tcpServer: "tcp"
    case .unixServer: "unix"
    case .pseudoTerminal: "pty"
    case .tcpClient, .unixClient, .serial: "host"
    }
  }
}

/// Where wishes for the radio's thread are left.
final class RadioDesk: Sendable {
  enum Wish: Sendable {
    case admit(OneShot<ByteStream>, name: String)
    case open(OneShot<StreamPort>, name: String)
    case end
  }

  let waker: Waker
  let ended: Latch
  private let wishes = Mutex<[Wish]>([])

  init() throws(SystemError) {
    waker = try Waker()
    ended = try Latch()
  }

  func ask(_ wish: Wish) {
    wishes.withLock { $0.append(wish) }
    waker.wake()
  }

  func take() -> [Wish] {
    wishes.withLock { wishes in
      defer { wishes = [] }
      return wishes
    }
  }
}
