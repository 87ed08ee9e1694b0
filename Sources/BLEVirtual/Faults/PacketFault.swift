public import BLEHCI
internal import BLEWire

/// A fault of the connection between a controller and its host: packets in one direction are lost, delayed, repeated,
/// changed, or arrive in another order.
///
/// A controller's faults are applied to each packet in the order of their list. Only the first one that occurs affects
/// the packet. The radio's seed determines the affected packets: each run with the same calls gives the same octets.
///
/// ```swift
/// var configuration = VirtualControllerConfiguration()
/// configuration.faults = [
///   .packets(PacketFault(.delay(.milliseconds(30)), .data, .toHost, percent: 5)),
///   .packets(PacketFault(.drop, .event(.disconnectionComplete), .toHost, occurrences: 1...1)),
///   .packets(PacketFault(.overtake(.milliseconds(10)), .data, .toHost)),
/// ]
/// ```
public struct PacketFault: Hashable, Sendable {
  /// The change to a packet.
  public enum Effect: Hashable, Sendable {
    /// The packet does not arrive.
    case drop
    /// The packet arrives later by this time, and so do the packets after it, so that their order does not change.
    case delay(Duration)
    /// The packet alone arrives later by this time: those after it are not delayed.
    case late(Duration)
    /// The packet arrives before those of the last time: all other packets in its direction arrive later by this time,
    /// as if it had a faster endpoint of USB.
    case overtake(Duration)
    /// The packet arrives twice.
    case duplicate
    /// One bit of one octet after the packet type is inverted. The length does not change.
    case corrupt
    /// The packet arrives after the next one in its direction, or 100 ms later if there is none.
    case reorder
  }

  /// The packets that a fault applies to.
  public enum Packets: Hashable, Sendable {
    /// All packets.
    case all
    /// ACL data.
    case data
    /// These commands; only a host sends them.
    case commands(VirtualFault.Commands)
    /// All events; only a controller sends them.
    case events
    /// Events with this code.
    case event(HCIEventCode)
    /// LE Meta events with this subevent code.
    case leEvent(LESubeventCode)
    /// The answers to these commands: Command Complete and Command Status.
    case answers(VirtualFault.Commands)

    /// Whether the H4 packet is one of them.
    func contains(_ packet: Bytes) -> Bool {
      let kind = packet.first.flatMap { HCIPacketType(rawValue: $0) }
      let body = packet.dropFirst()
      switch self {
      case .all: return true
      case .data: return kind == .aclData
      case .events: return kind == .event
      case .event(let code): return kind == .event && body.first == code.rawValue
      case .leEvent(let code):
        return kind == .event && body.first == HCIEventCode.leMeta.rawValue && body.dropFirst(2).first == code.rawValue
      case .answers(let commands):
        guard kind == .event, let code = body.first else { return false }
        // After the length and, in Command Status, the status: the number of commands and the opcode.
        let start =
          code == HCIEventCode.commandComplete.rawValue ? 3 : code == HCIEventCode.commandStatus.rawValue ? 4 : 0
        let opcode = body.dropFirst(start)
        guard start > 0, let low = opcode.first, let high = opcode.dropFirst().first else { return false }
        return commands.contains(HCIOpcode(rawValue: UInt16(low) | UInt16(high) << 8))
      case .commands(let commands):
        guard kind == .command, let low = body.first, let high = body.dropFirst().first else { return false }
        return commands.contains(HCIOpcode(rawValue: UInt16(low) | UInt16(high) << 8))
      }
    }
  }

  /// The direction of a packet.
  public enum Direction: Hashable, Sendable {
    /// From the host to the controller.
    case toController
    /// From the controller to the host.
    case toHost
  }

  /// The change to a packet.
  public var effect: Effect
  /// The packets that the fault applies to.
  public var packets: Packets
  /// The direction of the packets.
  public var direction: Direction
  /// The probability of the fault for each of the packets, in percent: 0 to 100.
  public var percent: Int
  /// Which of the packets are affected, counted from 1 on since the fault was set; nil for all.
  public var occurrences: ClosedRange<Int>?

  /// A fault of all packets of a kind, of a percentage of them, or of some of them.
  public init(
    _ effect: Effect, _ packets: Packets, _ direction: Direction, percent: Int = 100,
    occurrences: ClosedRange<Int>? = nil
  ) {
    self.occurrences = occurrences
    self.effect = effect
    self.packets = packets
    self.direction = direction
    self.percent = percent
  }
}

extension VirtualFault {
  /// This percentage of Number Of Completed Packets events is not sent: the host never gets the credits back.
  public static func withholdsCredits(percent: Int = 100) -> Self {
    .packets(PacketFault(.drop, .event(.numberOfCompletedPackets), .toHost, percent: percent))
  }
}
