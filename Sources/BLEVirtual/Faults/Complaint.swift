public import BLEHCI
internal import BLEWire

/// An HCI violation by a host.
public enum Complaint: Hashable, Sendable {
  /// The octets are not an H4 packet, or the packet is one that only controllers send.
  case malformedPacket(firstOctet: UInt8?)
  /// An ACL packet is longer than the length in LE Read Buffer Size.
  case dataTooLong(ConnectionHandle, count: Int)
  /// An ACL packet was sent without a free buffer: the host's credit count is wrong.
  case dataBeyondCredits(ConnectionHandle)
  /// A continuing fragment was sent without a start.
  case continuationWithoutStart(ConnectionHandle)

  /// The number of complaints that are kept. Later ones are dropped.
  public static let limit = 100
}

extension Complaint: CustomStringConvertible {
  public var description: String {
    switch self {
    case .malformedPacket(let octet):
      "the host sent octets that are not an HCI packet (the first is \(octet.map { "0x" + [$0].hexadecimal } ?? "missing"))"
    case .dataTooLong(let handle, let count):
      "the host sent \(count) octets in one ACL packet on link \(handle): more than LE Read Buffer Size allows"
    case .dataBeyondCredits(let handle):
      "the host sent an ACL packet on link \(handle) while all buffers of the controller were in use"
    case .continuationWithoutStart(let handle):
      "the host sent a continuing fragment on link \(handle) without the start of a frame"
    }
  }
}

/// The complaints about one host.
struct ComplaintList: Sendable {
  private(set) var all: [Complaint] = []

  mutating func append(_ complaint: Complaint) {
    if all.count < Complaint.limit { all.append(complaint) }
  }
}
