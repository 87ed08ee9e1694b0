internal import BLEHCI
internal import BLEWire

/// Controller to host flow control: the buffers of the host (Vol 4, Part E, 4.2).
struct HostFlowControl: Sendable {
  var isEnabled = false
  /// In octets, without the header.
  var dataPacketLength = Int.max
  var totalNumDataPackets = 0
  /// The number of the host's buffers in use.
  var usedBuffers = 0

  /// Whether flow control is in effect. The host may enable it before or after Host Buffer Size.
  var isOn: Bool { isEnabled && totalNumDataPackets > 0 }

  /// Whether the host has free buffers for `packets`. A fragment that is larger than all buffers together is accepted
  /// when all are free.
  func hasRoom(for packets: Int) -> Bool {
    !isOn || usedBuffers + packets <= totalNumDataPackets || usedBuffers == 0
  }
}

/// Controller to host flow control (Vol 4, Part E, 7.3.38 to 7.3.40).
extension VirtualController {
  mutating func performFlowControlCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .setControllerToHostFlowControl:
      answer(packet, as: HCI.SetControllerToHostFlowControl.self, &context) { me, command, _ in
        guard me.links.isEmpty else { return .init { $0.status = .commandDisallowed } }
        guard command.flowControlEnable <= 3 else { return .init { $0.status = .invalidCommandParameters } }
        me.flowControl.isEnabled = command.flowControlEnable & 1 == 1
        return .init()
      }
    case .hostBufferSize:
      answer(packet, as: HCI.HostBufferSize.self, &context) { me, command, _ in
        guard me.links.isEmpty else { return .init { $0.status = .commandDisallowed } }
        guard command.hostACLDataPacketLength >= 27, command.hostTotalNumACLDataPackets > 0 else {
          return .init { $0.status = .invalidCommandParameters }
        }
        me.flowControl.dataPacketLength = Int(command.hostACLDataPacketLength)
        me.flowControl.totalNumDataPackets = Int(command.hostTotalNumACLDataPackets)
        return .init()
      }
    default: receiveCompletedPackets(packet, &context)
    }
  }

  /// Performs Host Number Of Completed Packets. Only an error is answered.
  private mutating func receiveCompletedPackets(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    guard flowControl.isOn, let command = try? HCI.HostNumberOfCompletedPackets(decoding: packet.parameters) else {
      return host.refuse(packet.opcode, flowControl.isOn ? .invalidCommandParameters : .commandDisallowed, &context)
    }
    for entry in command.links {
      guard let index = linkIndex(entry.connectionHandle) else { continue }
      let freed = min(Int(entry.numCompletedPackets), links[index].heldByHost)
      links[index].heldByHost -= freed
      flowControl.usedBuffers -= freed
    }
    sendReadyForData(&context)
  }

  /// Lets the peers send again the PDUs for which the host had no buffer.
  mutating func sendReadyForData(_ context: inout RadioContext) {
    guard flowControl.isOn else { return }
    for link in links {
      context.transmissions.append(
        .init(sender: id.slot, receiver: link.peer, link: link.id, payload: .control(.readyForData)))
    }
  }

  /// The greatest length of a data packet for the host, in octets without the header.
  var hostDataPacketLength: Int {
    flowControl.isOn ? min(aclDataPacketLength, flowControl.dataPacketLength) : aclDataPacketLength
  }

  /// Whether the host has free buffers for `count` octets.
  func hostHasRoom(for count: Int) -> Bool {
    let size = hostDataPacketLength
    return flowControl.hasRoom(for: max(1, (count + size - 1) / size))
  }
}
