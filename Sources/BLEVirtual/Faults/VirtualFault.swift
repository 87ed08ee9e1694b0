public import BLEHCI
public import BLEWire

/// A fault of a virtual controller, for tests of its host.
public enum VirtualFault: Hashable, Sendable {
  /// The commands that a fault applies to.
  public enum Commands: Hashable, Sendable {
    /// All commands.
    case all
    /// These commands.
    case only(Set<HCIOpcode>)

    func contains(_ opcode: HCIOpcode) -> Bool {
      switch self {
      case .all: true
      case .only(let opcodes): opcodes.contains(opcode)
      }
    }
  }

  /// The commands are neither performed nor answered.
  case neverAnswers(Commands)
  /// The commands are performed once and answered twice.
  case answersTwice(Commands)
  /// The commands are rejected with this status and not performed.
  case refuses(Commands, HCIErrorCode)
  /// The first commands of these, so many since the fault was set, are rejected with this status and not performed.
  case refusesFirst(Commands, HCIErrorCode, times: Int)
  /// The commands are not performed. The answer is 1 to 16 random octets that are not an H4 packet.
  case answersGarbage(Commands)
  /// The commands are not performed. The answer is these octets, unchanged.
  case answers(Commands, with: [UInt8])
  /// This percentage of advertisements, scan responses and periodic advertising events is not received.
  case losesReports(percent: Int)
  /// Only this number of octets of longer extended advertisements, scan responses and periodic advertising data is
  /// received: the rest of the chain of PDUs is lost, and the data status of the last report is truncated (Vol 4, Part
  /// E, 7.7.65.13 and 7.7.65.15).
  case losesChains(behind: Int)
  /// At this time every link stops. It ends by supervision timeout on both sides.
  case dropsLinks(at: Instant)
  /// At this time these octets are sent to the host.
  case sends([UInt8], at: Instant)
  /// Packets between the controller and its host are lost, delayed, repeated, changed, or in another order.
  case packets(PacketFault)
  /// After this number of HCI packets in both directions, counted from the time at which the fault was set, every link
  /// ends with this reason on both sides.
  case disconnects(afterPackets: Int, HCIErrorCode)
  /// At this time the controller restarts: its state is that after a reset, and for its peers its links end by
  /// supervision timeout. With a code it then sends Hardware Error (Vol 4, Part E, 7.7.16). Without a code its host
  /// gets no event.
  case restarts(at: Instant, hardwareError: UInt8?)

  /// The time at which it occurs; nil for a fault that waits for a command, a packet or an advertisement.
  var time: Instant? {
    switch self {
    case .dropsLinks(let time), .sends(_, let time), .restarts(let time, _): time
    case .neverAnswers, .answersTwice, .refuses, .refusesFirst, .answersGarbage, .answers, .losesReports,
      .losesChains, .packets, .disconnects:
      nil
    }
  }
}
