package import BLEHost
package import BLELinux
package import BLESMP
package import BLEWire

/// What the event loop asks of the stack it runs: a machine without I/O that is driven by packets, commands and time.
///
/// ``HostCore`` is the one; a test drives the loop with a toy.
package protocol HostMachine: Sendable {
  associatedtype Command: Sendable
  associatedtype Event: Sendable
  associatedtype Output: HostMachineOutput where Output.Event == Event

  /// When ``tick(now:into:)`` is to be called.
  var deadline: Instant? { get }
  /// Whether all that ``shutdown(now:into:)`` set out to do is done.
  var isShutDown: Bool { get }

  /// The pipe to the controller is open, for the first time or again.
  mutating func start(now: Instant, into output: inout Output)
  /// One whole H4 packet came from the controller.
  mutating func receive(_ packet: Span<UInt8>, now: Instant, into output: inout Output)
  /// The system's security manager has news.
  mutating func receive(_ report: SecurityReport, now: Instant, into output: inout Output)
  mutating func perform(_ command: Command, now: Instant, into output: inout Output)
  mutating func tick(now: Instant, into output: inout Output)
  /// The pipe to the controller is lost.
  mutating func pipeFailed(_ error: TransportError, now: Instant, into output: inout Output)
  mutating func shutdown(now: Instant, into output: inout Output)

  /// Whether the event says in which state the adapter is: the newest is told first to whoever comes late.
  static func isState(_ event: Event) -> Bool
  /// The event that says that so many commands wait already and one was refused.
  static func refusal(commandLimit: Int) -> Event
  /// The event that puts a line into the log.
  static func notice(_ text: String) -> Event
}

/// What a machine gives back: whole H4 packets for the controller, requests to the system's security manager, events for the
/// application, each in order.
package protocol HostMachineOutput: Sendable {
  associatedtype Event: Sendable
  var packets: PacketBuffer { get set }
  var directives: [SecurityDirective] { get set }
  var events: [Event] { get set }
  init()
}

extension HostCore: HostMachine {
  package mutating func pipeFailed(_ error: TransportError, now: Instant, into output: inout HostOutput) {
    let state: AdapterState =
      switch error.kind {
      case .poweredOff: .poweredOff
      case .noPermission: .unauthorized
      case .malformed, .unavailable, .busy, .unsupported, .closed, .inputOutput: .resetting
      }
    transportFailed(.transport("\(error)"), state: state, now: now, into: &output)
  }

  package static func isState(_ event: HostEvent) -> Bool {
    if case .state = event { true } else { false }
  }

  package static func refusal(commandLimit: Int) -> HostEvent {
    .refused(.tooMany("commands waiting", limit: commandLimit))
  }

  package static func notice(_ text: String) -> HostEvent { .diagnostic(Diagnostic(.transport, text)) }
}

extension HostOutput: HostMachineOutput {}
