internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The faults of one controller. It decides which faults occur for a command, an advertisement or a packet, and which
/// are due.
struct ControllerFaults: Sendable {
  /// The fault of the answer to a command.
  enum Answer: Sendable {
    /// The command is neither performed nor answered.
    case silence
    /// The command is not performed, and these octets are sent.
    case octets([UInt8])
    /// The command is not performed, and rejected.
    case refusal(HCIErrorCode)
    /// The command is performed and answered twice.
    case twice
  }

  private var faults: [VirtualFault]
  /// How many commands each of ``VirtualFault/refusesFirst(_:_:times:)`` has rejected, by its place.
  private var refusals: [Int: Int] = [:]
  /// The time up to which the faults with a time have been performed.
  private var doneUpTo: Instant?
  /// The faults of packets between the controller and its host; nil if there are none.
  private var packets: PacketFaults?

  /// - Parameter random: the random source of the controller. Packet faults use a copy, so that they do not change the
  ///   controller's random numbers.
  init(_ faults: [VirtualFault], random: RandomSource) {
    self.faults = faults
    packets = PacketFaults(faults, random: random)
  }

  /// Replaces the faults. Packets that the earlier faults hold back stay held until they are due.
  mutating func replace(with faults: [VirtualFault], random: RandomSource) {
    self.faults = faults
    refusals = [:]
    doneUpTo = nil
    packets = PacketFaults(faults, random: random, holding: packets)
  }

  // MARK: Faults with a time

  /// The time of the next fault or of the next held packet.
  var deadline: Instant? {
    var nearest = packets?.deadline
    for fault in faults {
      if let time = fault.time, doneUpTo.map({ time > $0 }) ?? true { nearest = .nearer(nearest, time) }
    }
    return nearest
  }

  /// The faults that occur until `now` and have not been returned before.
  mutating func takeDue(at now: Instant) -> [VirtualFault] {
    guard !faults.isEmpty else { return [] }
    let done = doneUpTo
    doneUpTo = now
    return faults.filter { fault in
      guard let time = fault.time else { return false }
      return time <= now && done.map { time > $0 } ?? true
    }
  }

  // MARK: Commands and advertisements

  /// The fault of the answer to a command; nil if there is none.
  mutating func answer(to opcode: HCIOpcode, _ random: inout RandomSource) -> Answer? {
    var answer: Answer?
    for (place, fault) in faults.enumerated() {
      switch fault {
      case .neverAnswers(let commands) where commands.contains(opcode): return .silence
      case .answersGarbage(let commands) where commands.contains(opcode):
        let count = Int.random(in: 1...16, using: &random)
        var garbage = random.octets(count)
        garbage[0] |= 0x80
        return .octets(garbage)
      case .answers(let commands, let octets) where commands.contains(opcode): return .octets(octets)
      case .refuses(let commands, let status) where commands.contains(opcode): return .refusal(status)
      case .refusesFirst(let commands, let status, let times)
      where commands.contains(opcode) && refusals[place, default: 0] < times:
        refusals[place, default: 0] += 1
        return .refusal(status)
      case .answersTwice(let commands) where commands.contains(opcode): answer = .twice
      case .neverAnswers, .answersGarbage, .answers, .refuses, .refusesFirst, .answersTwice: break  // of other commands
      case .losesReports, .losesChains, .dropsLinks, .sends, .packets, .disconnects, .restarts: break
      }
    }
    return answer
  }

  /// Whether an advertisement or a scan response is not received.
  func losesReport(_ random: inout RandomSource) -> Bool {
    for case .losesReports(let percent) in faults where Int.random(in: 0..<100, using: &random) < percent {
      return true
    }
    return false
  }

  /// The number of octets of an extended advertisement that are received before the rest is lost; nil if nothing is
  /// lost.
  var lengthOfChains: Int? {
    faults.compactMap { if case .losesChains(let length) = $0 { max(0, length) } else { nil } }.min()
  }

  // MARK: Packets between the controller and its host

  var concernPackets: Bool { packets != nil }

  /// The packets that are passed on now instead of `packet`, in order; nil if there is no packet fault, and `packet`
  /// itself is passed on.
  mutating func pass(_ packet: Bytes, _ direction: PacketFault.Direction, now: Instant) -> [[UInt8]]? {
    packets?.pass(packet, direction, now: now)
  }

  /// The held packets of a direction that are due.
  mutating func release(_ direction: PacketFault.Direction, at now: Instant) -> [[UInt8]] {
    packets?.release(direction, at: now) ?? []
  }

  /// The reason for which the links end now; nil if they do not end.
  mutating func takeDisconnection() -> HCIErrorCode? { packets?.takeDisconnection() }
}
