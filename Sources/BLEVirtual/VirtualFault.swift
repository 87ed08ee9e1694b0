public import BLEHCI
public import BLEWire

/// Something that a virtual controller does wrong, so that a test can see what its host makes of it.
public enum VirtualFault: Hashable, Sendable {
  /// Some commands, or all of them.
  public enum Commands: Hashable, Sendable {
    case all
    case only(Set<HCIOpcode>)

    func contains(_ opcode: HCIOpcode) -> Bool {
      switch self {
      case .all: true
      case .only(let opcodes): opcodes.contains(opcode)
      }
    }
  }

  /// The commands vanish: not obeyed, not answered.
  case neverAnswers(Commands)
  /// The commands are obeyed once and answered twice.
  case answersTwice(Commands)
  /// The commands are not obeyed and refused with this status.
  case refuses(Commands, HCIErrorCode)
  /// The commands are not obeyed; 1 to 16 random octets that are no H4 packet come back.
  case answersGarbage(Commands)
  /// The commands are not obeyed; these octets come back as they are.
  case answers(Commands, with: [UInt8])
  /// So many of a hundred advertisements and scan responses go unheard.
  case losesReports(percent: Int)
  /// Of extended advertisements and scan responses longer than this it receives so many octets, and loses the rest of the
  /// chain of PDUs: the data status of the last report is truncated (Vol 4, Part E, 7.7.65.13).
  case losesChains(behind: Int)
  /// At this time every link goes silent, and dies by supervision timeout on both sides.
  case dropsLinks(at: Instant)
  /// At this time these octets go to the host, unasked.
  case sends([UInt8], at: Instant)
}

/// What a host did that no controller has to bear.
public enum Complaint: Hashable, Sendable {
  /// The octets are no H4 packet, or a kind that only controllers send.
  case malformedPacket(firstOctet: UInt8?)
  /// An ACL packet that the length announced by LE Read Buffer Size does not allow.
  case dataTooLong(ConnectionHandle, count: Int)
  /// An ACL packet although no buffer was free: the host counts its credits wrongly.
  case dataBeyondCredits(ConnectionHandle)
  /// A continuing fragment where no frame had begun.
  case continuationWithoutStart(ConnectionHandle)

  /// So many are kept; later ones are dropped.
  public static let limit = 100
}

extension Complaint: CustomStringConvertible {
  public var description: String {
    switch self {
    case .malformedPacket(let octet):
      "the host sent octets that are no HCI packet (the first is \(octet.map { "0x" + [$0].hexadecimal } ?? "missing"))"
    case .dataTooLong(let handle, let count):
      "the host sent \(count) octets in one ACL packet on link \(handle): more than LE Read Buffer Size allows"
    case .dataBeyondCredits(let handle):
      "the host sent an ACL packet on link \(handle) while every buffer of the controller was taken"
    case .continuationWithoutStart(let handle):
      "the host sent a continuing fragment on link \(handle) where no frame had begun"
    }
  }
}
