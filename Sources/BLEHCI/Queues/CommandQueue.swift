public import BLEWire

/// Sends commands as the controller's credits allow, and assigns each answer to its command (Vol 4, Part E, 4.4).
///
/// ```
///   perform ──▶ waiting ──(fewer unanswered than Num_HCI_Command_Packets)──▶ sent ─Command Complete, Status─▶ answered
///                  │                                                           │
///                  └──── no credit within the timeout ──▶ timed out ◀── no answer within the timeout
/// ```
///
/// Num_HCI_Command_Packets is the largest number of commands without an answer. It starts at one; at zero, the queue
/// waits for an event that increases it. `Purpose` is a value of the owner, which is returned with the answer.
public struct CommandQueue<Purpose: Sendable>: Sendable {
  /// The longest queue of commands. One more command throws ``CommandQueueError/full(limit:)``.
  public let limit: Int
  /// The time limit for an answer, and for a credit while no command is unanswered.
  public let timeout: Duration
  /// Num_HCI_Command_Packets of the latest event.
  public private(set) var credits = 1
  private var waiting: [Waiting] = []
  private var sent: [Sent] = []
  /// The deadline of the first queued command while no command is unanswered and there is no credit.
  private var creditDeadline: Instant?
  /// The time at which ``tick(now:into:)`` must be called; nil while nothing is awaited. All commands have the same
  /// timeout, so the oldest is due first. The value is stored, because the owner reads it after each packet.
  public private(set) var deadline: Instant?

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

  /// The event that answers a command.
  public enum Expectation: Sendable {
    /// Command Complete.
    case commandComplete
    /// Command Status.
    case commandStatus
    /// The first of the two events, for a command without a declaration.
    case either
  }

  /// The result of a command or of an answer.
  public enum Outcome {
    /// A Command Complete event answers the command; ``HCI/CommandComplete/response(to:)`` decodes it.
    case complete(Purpose, HCI.CommandComplete)
    /// A Command Status event answers the command: it has started or is rejected.
    case status(Purpose, HCIOpcode, HCIErrorCode)
    /// The command had no answer, or no credit, within the timeout. A late answer is ``unexpected(_:)``.
    case timedOut(Purpose, HCIOpcode)
    /// An answer without a command: a duplicate, or an error of the controller. Only its credits are used.
    case unexpected(HCIOpcode)
  }

  /// A queue without commands.
  public init(limit: Int = 64, timeout: Duration = .seconds(2)) {
    self.limit = limit
    self.timeout = timeout
  }

  /// The number of queued commands.
  public var waitingCount: Int { waiting.count }
  /// The number of sent commands without an answer.
  public var unansweredCount: Int { sent.count }
  /// Whether no command is queued or unanswered.
  public var isIdle: Bool { waiting.isEmpty && sent.isEmpty }

  /// Sends a command, or queues it until there is a credit.
  ///
  /// - Throws: ``CommandQueueError/full(limit:)``; the command is dropped then.
  public mutating func perform(
    _ command: some HCICommand, for purpose: Purpose, now: Instant, into out: inout PacketBuffer
  ) throws(CommandQueueError) {
    try perform(EncodedCommand(command), for: purpose, now: now, into: &out)
  }

  /// Sends a command without its type, or queues it until there is a credit.
  package mutating func perform(
    _ command: EncodedCommand, for purpose: Purpose, now: Instant, into out: inout PacketBuffer
  ) throws(CommandQueueError) {
    if command.opcode == .hostNumberOfCompletedPackets {
      // The command uses no credit and has no answer (Vol 4, Part E, 7.3.40).
      out.append { $0 += command.octets }
      return
    }
    try add(
      Waiting(
        opcode: command.opcode, expects: command.isAnsweredByStatus ? .commandStatus : .commandComplete,
        octets: command.octets, purpose: purpose),
      now: now, into: &out)
  }

  /// Sends a command without a declaration, or queues it until there is a credit.
  ///
  /// - Throws: ``CommandQueueError/full(limit:)``; the command is dropped then.
  public mutating func perform(
    _ command: HCICommandPacket, for purpose: Purpose, now: Instant, into out: inout PacketBuffer
  ) throws(CommandQueueError) {
    let octets = HCIPacket.command(command).encoded
    try add(Waiting(opcode: command.opcode, expects: .either, octets: octets, purpose: purpose), now: now, into: &out)
  }

  /// Receives a Command Complete event, and sends queued commands as its credits allow.
  ///
  /// - Returns: nil for an event that only returns credits.
  public mutating func receive(
    _ event: HCI.CommandComplete, now: Instant, into out: inout PacketBuffer
  ) -> Outcome? {
    credits = Int(event.numHCICommandPackets)
    defer { send(now: now, into: &out) }
    guard event.opcode != .none else { return nil }
    guard let index = sent.firstIndex(where: { $0.opcode == event.opcode }) else { return .unexpected(event.opcode) }
    return .complete(sent.remove(at: index).purpose, event)
  }

  /// Receives a Command Status event, and sends queued commands as its credits allow.
  ///
  /// The status Success does not answer a command that a Command Complete event answers.
  ///
  /// - Returns: nil for an event that only returns credits.
  public mutating func receive(
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

  /// Ends one command whose timeout has expired, and sends queued commands.
  ///
  /// - Returns: nil if there is none. The owner calls this method until it returns nil.
  public mutating func tick(now: Instant, into out: inout PacketBuffer) -> Outcome? {
    if let index = sent.firstIndex(where: { $0.deadline <= now }) {
      let late = sent.remove(at: index)
      send(now: now, into: &out)
      return .timedOut(late.purpose, late.opcode)
    }
    guard let creditDeadline, creditDeadline <= now, !waiting.isEmpty else { return nil }
    let first = waiting.removeFirst()
    self.creditDeadline = nil
    send(now: now, into: &out)
    return .timedOut(first.purpose, first.opcode)
  }

  /// Removes all commands and returns to one credit, after a reset of the controller.
  ///
  /// - Returns: the purposes of the removed commands, in the order of the calls of `perform`.
  public mutating func removeAll() -> [Purpose] {
    let purposes = sent.map { $0.purpose } + waiting.map { $0.purpose }
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
      creditDeadline = nil
    } else if creditDeadline == nil {
      creditDeadline = now + timeout
    }
    deadline = .nearer(sent.first?.deadline, creditDeadline)
  }
}

/// The reason why a command was not sent or queued.
public enum CommandQueueError: Error, Equatable, Sendable {
  /// The queue is full.
  case full(limit: Int)
}

extension CommandQueueError: CustomStringConvertible {
  /// What failed and what to do.
  public var description: String {
    switch self {
    case .full(let limit):
      "\(limit) commands are already queued: the controller answers slowly or not at all. Wait for answers"
    }
  }
}
