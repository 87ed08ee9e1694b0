import BLEL2CAP
import BLEWire

/// The L2CAP layer of one link: it reassembles frames, answers signalling requests and returns ATT PDUs.
struct Channels {
  private var reassembler = Reassembler()
  private var signalling: SignallingChannel

  init(role: SignallingChannel.Role) { signalling = SignallingChannel(role: role) }

  /// Receives the data of one ACL packet.
  ///
  /// - Returns: an ATT PDU that is complete, and frames for the peer.
  mutating func receive(_ fragment: [UInt8], packetBoundary: UInt8) -> (pdu: [UInt8]?, answers: [[UInt8]]) {
    switch reassembler.receive(fragment.span, packetBoundary: packetBoundary).frame {
    case nil: return (nil, [])
    case .inFragment(let channel, let payload): return receive(fragment[payload], on: channel)
    case .assembled(let channel):
      let frame = reassembler.takeFrame()
      defer { reassembler.reuse(frame) }
      return receive(frame.dropFirst(BasicFrame.headerLength), on: channel)
    }
  }

  private mutating func receive(_ payload: Bytes, on channel: ChannelID) -> (pdu: [UInt8]?, answers: [[UInt8]]) {
    switch channel {
    case .attributeProtocol: return (Array(payload), [])
    case .signalling:
      var output = PacketBuffer()
      var effects: [SignallingChannel.Effect] = []
      signalling.receive(payload, now: .start, into: &output, effects: &effects)
      let answers = (0..<output.count).map { BasicFrame(channel: .signalling, payload: output[$0]).encoded }
      return (nil, answers)
    default: return (nil, [])
    }
  }
}
