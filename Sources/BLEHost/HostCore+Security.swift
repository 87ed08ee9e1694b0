import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// The security manager's channel. Pairing is refused: the host keeps no keys (Vol 3, Part H, 3.5.5).
extension HostCore {
  mutating func receiveSMP(_ index: Int, _ pdu: Span<UInt8>, now: Instant, into output: inout HostOutput) {
    let reason: PairingFailedReason
    do throws(CodecError) {
      switch try SMPPDU(decoding: [UInt8](copying: pdu)[...]) {
      case .pairingRequest where links[index].role == .peripheral: reason = .pairingNotSupported
      // A Security Request to a central without keys, which may ignore it (Vol 3, Part H, 2.4.6).
      case .securityRequest, .pairingFailed: return
      default: reason = .unspecifiedReason
      }
    } catch .invalid(field: "Code") {
      return
    } catch {
      reason = .invalidParameters
    }
    var answer = PacketBuffer()
    answer.append { SMPPDU.pairingFailed(PairingFailed(reason: reason)).encode(to: &$0) }
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
