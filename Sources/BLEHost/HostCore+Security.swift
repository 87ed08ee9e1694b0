import BLEHCI
import BLEL2CAP
import BLEWire

/// The security manager's channel. Pairing is refused: the host keeps no keys (Vol 3, Part H, 3.5.5).
extension HostCore {
  mutating func receiveSMP(_ index: Int, _ pdu: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    guard pdu.count > 0, pdu[0] == 0x01, links[index].role == .peripheral else { return }
    var answer = PacketBuffer()
    answer.append { $0 += [0x05, 0x05] }
    answer.forEach { transmit(index, .securityManager, $0, into: &output) }
  }

  mutating func requestSecurity(_ index: Int, into output: inout HostOutput) {
    output.events.append(.refused(.unsupported("pairing: this version keeps no keys")))
  }

  /// The central encrypts with a key of an earlier bond, which we do not have (Vol 4, Part E, 7.8.26).
  mutating func longTermKeyRequested(
    _ request: HCI.LELongTermKeyRequest, now: Instant, into output: inout HostOutput
  ) {
    let command = HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = request.connectionHandle }
    send(command, for: .reply, now: now, into: &output)
  }
}
