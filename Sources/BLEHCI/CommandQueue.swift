package import BLEWire

/// Sends commands as the controller's credits allow, and finds the command that an answer belongs to
/// (Vol 4, Part E, 4.4).
///
/// ```
///   perform ──▶ waiting ──(fewer unanswered than Num_HCI_Command_Packets)──▶ sent ──Command Complete / Status──▶ answered
///                  │                                                           │
///                  └──── no credit within the timeout ──▶ timed out ◀── no answer within the timeout
/// ```
///
/// The controller's number is taken as a window: so many commands may be unanswered at a time. It starts at one, and at
/// zero the queue waits for an event that raises it. `Purpose` is the owner's tag: it comes back with the answer.
package struct CommandQueue<Purpose: Sendable>: Sendable {
  /// How many commands may wait; one more is refused with ``CommandQueueError/full(limit:)``.
  package let limit: Int
  /// How long a command may go unanswered, and how long the queue may starve without credit.
  package let timeout: Duration
  /// The last Num_HCI_Command_Packets.
  package private(set) var credits = 1
  private var waiting: [Waiting] = []
  private var sent: [Sent] = []
  /// Since when the head of the queue has waited for a credit with no command unanswered.
  private var starvingUntil: Instant?

  private struct Waiting {
    var opcode: HCIOpcode
    var expects: Expectation
    var octets: [UInt8]
    var purpose: Purpose
  }

  private struct Sent {
    var opcode: HCIOpcode
    var expects: Expectation
    var purpose: Purpose
    var deadline: Instant
  }

  /// Which event ends a command.
  package enum Expectation: Sendable {
    case commandComplete
    case commandStatus
    /// Whichever comes first: for commands that this code does not know.
    case either
  }

  /// What became of a command, or of an answer.
  package enum Outcome {
    /// A Command Complete event answers the command; ``HCI/CommandComplete/response(to:)`` reads it.
    case complete(Purpose, HCI.CommandComplete)
    /// A Command Status event answers the command: it is under way, or refused.
    case status(Purpose, HCIOpcode, HCIErrorCode)
    /// No answer in time, or no credit to send it; a late answer will be ``unexpected(_:)``.
    case timedOut(Purpose, HCIOpcode)
    /// An answer to no command that is unanswered: a duplicate, or the controller's fault. It is ignored but for its credits.
    case unexpected(HCIOpcode)
  }

  package init(limit: Int = 64, timeout: Duration = .seconds(2)) {
    self.limit = limit
    self.timeout = timeout
  }

  /// How many commands wait for a credit.
  package var waitingCount: Int { waiting.count }
  /// How many commands are sent and unanswered.
  package var unansweredCount: Int { sent.count }
  package var isIdle: Bool { waiting.isEmpty && sent.isEmpty }

  /// Sends a command, now or when there is a credit.
  package mutating func perform<Command: HCICommand>(
    _ command: Command, for purpose: Purpose, now: Instant, into out: inout PacketBuffer
  ) throws(CommandQueueError) {
    if Command.opcode == .hostNumberOfCompletedPackets {
      // It takes no credit and has no answer (Vol 4, Part E, 7.3.40).
      out.append(command)
      return
    }
    var octets: [UInt8] = []
    octets.append(hci: command)
    try add(
      Waiting(
        opcode: Command.opcode, expects: Command.isAnsweredByStatus ? .commandStatus : .commandComplete,
        octets: octets, purpose: purpose),
      now: now, into: &out)
  }

  /// Sends a command that is known by its octets only, now or when there is a credit.
  package mutating func perform(
    _ command: HCICommandPacket, for purpose: Purpose, now: Instant, into out: inout PacketBuffer
  ) throws(CommandQueueError) {
    let octets = HCIPacket.command(command).encoded
    try add(Waiting(opcode: command.opcode, expects: .either, octets: octets, purpose: purpose), now: now, into: &out)
  }

  /// Takes a Command Complete event, and sends what its credits allow.
  ///
  /// - Returns: nil where the event only gives credits.
  package mutating func receive(
    _ event: HCI.CommandComplete, now: Instant, into out: inout PacketBuffer
  ) -> Outcome? {
    credits = Int(event.numHCICommandPackets)
    defer { send(now: now, into: &out) }
    guard event.opcode != .none else { return nil }
    guard let index = sent.firstIndex(where: { $0.opcode == event.opcode }) else { return .unexpected(event.opcode) }
    return .complete(sent.remove(at: index).purpose, event)
  }

  /// Takes a Command Status event, and sends what its credits allow.
  ///
  /// A status of success does not end a command that a Command Complete event must answer; that one is still to come.
  ///
  /// - Returns: nil where the event only gives credits.
  package mutating func receive(
    _ event: HCI.CommandStatus, now: Instant, into out: inout PacketBuffer
  ) -> Outcome? {
    credits = Int(event.numHCICommandPackets)
    defer { send(now: now, into: &out) }
    guard event.opcode != .none else { return nil }
    let match = sent.firstIndex {
      $0.opcode == event.opcode && ($0.expects != .commandComplete || !event.status.isSuccess)
    }
    guard let match else { return .unexpected(event.opcode) }
    return .status(sent.remove(at: match).purpose, event.opcode, event.status)
  }

  /// When ``tick(now:into:)`` has something to do. All commands have the same time, so the oldest is due first.
  package var deadline: Instant? { .nearer(sent.first?.deadline, starvingUntil) }

  /// Gives up one command whose time has run out, and sends what that makes room for.
  ///
  /// - Returns: nil when there is none; call it until then.
  package mutating func tick(now: Instant, into out: inout PacketBuffer) -> Outcome? {
    if let index = sent.firstIndex(where: { $0.deadline <= now }) {
      let late = sent.remove(at: index)
      send(now: now, into: &out)
      return .timedOut(late.purpose, late.opcode)
    }
    guard let starvingUntil, starvingUntil <= now, !waiting.isEmpty else { return nil }
    let starved = waiting.removeFirst()
    self.starvingUntil = nil
    send(now: now, into: &out)
    return .timedOut(starved.purpose, starved.opcode)
  }

  /// Forgets every command and begins with one credit, as after a reset of the controller.
  ///
  /// - Returns: what the forgotten commands were for, in the order of ``perform(_:for:now:into:)``.
  package mutating func removeAll() -> [Purpose] {
    let purposes = sent.map(\.purpose) + waiting.map(\.purpose)
    self = Self(limit: limit, timeout: timeout)
    return purposes
  }

  private mutating func add(
    _ command: Waiting, now: Instant, into out: inout PacketBuffer
  ) throws(CommandQueueError) {
    guard waiting.count < limit else { throw .full(limit: limit) }
    waiting.append(command)
    send(now: now, into: &out)
  }

  private mutating func send(now: Instant, into out: inout PacketBuffer) {
    while sent.count < credits, !waiting.isEmpty {
      let next = waiting.removeFirst()
      out.append { $0 += next.octets }
      sent.append(
        Sent(opcode: next.opcode, expects: next.expects, purpose: next.purpose, deadline: now + timeout))
    }
    if waiting.isEmpty || !sent.isEmpty {
      starvingUntil = nil
    } else if starvingUntil == nil {
      starvingUntil = now + timeout
    }
  }
}

/// Why a command was not taken.
package enum CommandQueueError: Error, Equatable, Sendable {
  /// So many commands already wait for the controller.
  case full(limit: Int)
}

extension CommandQueueError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .full(let limit):
      "\(limit) commands already wait for the controller, which answers too slowly or not at all; wait for answers"
    }
  }
}
