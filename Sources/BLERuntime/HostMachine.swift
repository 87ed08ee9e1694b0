package import BLEHost
package import BLELinux
package import BLEWire

/// A host stack that ``HostLoop`` runs: a machine without I/O, driven by packets, commands and time.
///
/// ``HostCore`` is the machine of the package. The tests of the loop have another.
package protocol HostMachine: Sendable {
  associatedtype Command: Sendable
  associatedtype Event: Sendable
  typealias Output = MachineOutput<Event>

  /// The time at which ``tick(now:into:)`` is due.
  var deadline: Instant? { get }
  /// Whether ``shutdown(now:into:)`` is complete.
  var isShutDown: Bool { get }
  /// Whether the controller cannot be used, because it does not answer or lacks something that the host needs. The
  /// machine does no more until it is started again.
  var hasFailed: Bool { get }

  /// Starts after the transport has been opened, for the first time or again.
  mutating func start(now: Instant, into output: inout Output)
  /// Receives one complete H4 packet from the controller.
  mutating func receive(_ packet: Span<UInt8>, now: Instant, into output: inout Output)
  /// Receives a report from the kernel.
  mutating func receive(_ report: KernelReport, now: Instant, into output: inout Output)
  /// Attaches an owner. It alone receives the current state of everything.
  mutating func attach(_ owner: OwnerID, now: Instant, into output: inout Output)
  /// Detaches an owner, and withdraws its declarations.
  mutating func detach(_ owner: OwnerID, now: Instant, into output: inout Output)
  /// Performs a command from an owner.
  ///
  /// - Parameter octets: the value of the command, if it is not in the command itself.
  mutating func perform(
    _ command: Command, _ octets: Span<UInt8>, from owner: OwnerID, now: Instant, into output: inout Output)
  /// Notifies or indicates values of one attribute: `lengths` has the number of octets of each, and `octets` has the
  /// octets of all.
  mutating func update(
    _ run: UpdateRun, _ lengths: Span<Int>, _ octets: Span<UInt8>, now: Instant, into output: inout Output)
  mutating func tick(now: Instant, into output: inout Output)
  /// Reports that the transport was closed, or could not be opened.
  mutating func transportFailed(_ error: TransportError, now: Instant, into output: inout Output)
  mutating func shutdown(now: Instant, into output: inout Output)

  /// Whether the command is rejected as soon as ``LoopOptions/commandLimit`` commands wait.
  static func isRefusable(_ command: Command) -> Bool
  /// The event for a report of the loop itself.
  static func event(_ report: LoopReport) -> Event
}

/// A report from ``HostLoop`` itself.
package enum LoopReport: Equatable, Sendable {
  /// At least one command of the recipient was refused because this number of commands already wait.
  case commandsRefused(limit: Int)
  /// A line for the log.
  case notice(String)
}

extension HostCore: HostMachine {
  package mutating func transportFailed(_ error: TransportError, now: Instant, into output: inout HostOutput) {
    let state: AdapterState =
      switch error.kind {
      case .poweredOff: .poweredOff
      case .noPermission: .unauthorized
      case .malformed, .unavailable, .busy, .unsupported, .closed, .inputOutput: .resetting
      }
    transportFailed(.transport("\(error)"), state: state, now: now, into: &output)
  }

  package static func isRefusable(_ command: HostCommand) -> Bool { command.refusal != nil }

  package static func event(_ report: LoopReport) -> HostEvent {
    switch report {
    case .commandsRefused(let limit): .refused(.tooMany("commands waiting", limit: limit))
    case .notice(let text): .diagnostic(Diagnostic(.transport, text))
    }
  }
}
