internal import BLEHCI
internal import BLEWire

/// Controller to host flow control: the buffers of the host for ACL packets, and the links whose packets are in them
/// (Vol 4, Part E, 4.2 and 7.3.38 to 7.3.40).
struct HostFlowControl: Sendable {
  private var isEnabled = false
  /// In octets, without the header.
  private var packetLength = Int.max
  private var totalPackets = 0
  /// The numbers of buffers in use: in total, and by each link.
  private var used = 0
  private var usedByLink: [(handle: ConnectionHandle, count: Int)] = []

  /// Whether flow control is in effect. The host may enable it before or after Host Buffer Size.
  var isOn: Bool { isEnabled && totalPackets > 0 }

  // MARK: Commands

  mutating func setEnable(_ command: HCI.SetControllerToHostFlowControl, hasLinks: Bool) -> HCIErrorCode {
    guard !hasLinks else { return .commandDisallowed }
    guard command.flowControlEnable <= 3 else { return .invalidCommandParameters }
    isEnabled = command.flowControlEnable & 1 == 1
    return .success
  }

  mutating func setBufferSize(_ command: HCI.HostBufferSize, hasLinks: Bool) -> HCIErrorCode {
    guard !hasLinks else { return .commandDisallowed }
    guard command.hostACLDataPacketLength >= 27, command.hostTotalNumACLDataPackets > 0 else {
      return .invalidCommandParameters
    }
    packetLength = Int(command.hostACLDataPacketLength)
    totalPackets = Int(command.hostTotalNumACLDataPackets)
    return .success
  }

  /// Performs Host Number Of Completed Packets. A link that does not exist has no buffers.
  mutating func complete(_ command: HCI.HostNumberOfCompletedPackets) {
    for entry in command.links {
      guard let index = usedByLink.firstIndex(where: { $0.handle == entry.connectionHandle }) else { continue }
      let freed = min(Int(entry.numCompletedPackets), usedByLink[index].count)
      usedByLink[index].count -= freed
      used -= freed
    }
  }

  // MARK: Data

  /// The maximum length of a packet for the host, in octets without the header.
  ///
  /// - Parameter limit: the maximum length of the controller.
  func packetLength(limit: Int) -> Int { isOn ? min(limit, packetLength) : limit }

  /// Whether the host has free buffers for `count` octets. Data that is longer than all buffers together is accepted
  /// when all are free.
  func hasRoom(for count: Int, limit: Int) -> Bool {
    guard isOn else { return true }
    let length = packetLength(limit: limit)
    let packets = max(1, (count + length - 1) / length)
    return used + packets <= totalPackets || used == 0
  }

  /// Records packets that were sent to the host.
  mutating func sent(_ packets: Int, on handle: ConnectionHandle) {
    guard isOn else { return }
    used += packets
    if let index = usedByLink.firstIndex(where: { $0.handle == handle }) {
      usedByLink[index].count += packets
    } else {
      usedByLink.append((handle, packets))
    }
  }

  /// Frees the buffers of a link that has ended.
  mutating func linkEnded(_ handle: ConnectionHandle) {
    guard let index = usedByLink.firstIndex(where: { $0.handle == handle }) else { return }
    used -= usedByLink[index].count
    usedByLink.remove(at: index)
  }
}
