internal import BLEHCI
internal import BLEWire

/// Replaces the keys in HCI packets with zeros, so that a trace can be shared. Lengths do not change.
///
/// Keys are the LTK, IRK and CSRK of pairing (Vol 3, Part H, 3.6), keys in HCI commands (Vol 4, Part E, 7.8.22 to
/// 7.8.39), and shared secrets that the controller computes.
struct KeyRedactor: Sendable {
  /// An SMP frame that arrives in fragments.
  private struct Frame {
    /// The part of the L2CAP header and the SMP code that has arrived.
    var head: [UInt8] = []
    /// The number of octets of the frame that have not arrived.
    var rest = 0
  }

  /// By handle and direction.
  private var frames: [UInt16: Frame] = [:]

  /// Overwrites the keys in the complete H4 packet that `octets` contains from `start` on.
  mutating func erase(_ octets: inout [UInt8], from start: Int, isReceived: Bool) {
    guard start < octets.count else { return }
    switch HCIPacketType(rawValue: octets[start]) {
    case .command: eraseCommand(&octets, from: start)
    case .event: eraseEvent(&octets, from: start)
    case .aclData: eraseFragment(&octets, from: start, isReceived: isReceived)
    case .synchronousData, .isoData, nil: break
    }
  }

  private func eraseCommand(_ octets: inout [UInt8], from start: Int) {
    guard let opcode = octets.span.uint16(at: start + 1) else { return }
    let parameters = start + 4
    switch HCIOpcode(rawValue: opcode) {
    case .leEncrypt: Self.zero(&octets, parameters, count: 16)
    case .leEnableEncryption: Self.zero(&octets, parameters + 12, count: 16)
    case .leLongTermKeyRequestReply: Self.zero(&octets, parameters + 2, count: 16)
    case .leAddDeviceToResolvingList: Self.zero(&octets, parameters + 7, count: 32)
    default: break
    }
  }

  private func eraseEvent(_ octets: inout [UInt8], from start: Int) {
    guard start + 3 < octets.count else { return }
    switch HCIEventCode(rawValue: octets[start + 1]) {
    case .commandComplete:
      // The result of LE Encrypt can be a key: the STK of legacy pairing (Vol 3, Part H, 2.2.4).
      guard octets.span.uint16(at: start + 4) == HCIOpcode.leEncrypt.rawValue else { return }
      Self.zero(&octets, start + 7, count: 16)
    case .leMeta:
      guard octets[start + 3] == LESubeventCode.generateDHKeyComplete.rawValue else { return }
      Self.zero(&octets, start + 5, count: 32)
    default: break
    }
  }

  private mutating func eraseFragment(_ octets: inout [UInt8], from start: Int, isReceived: Bool) {
    guard let head = octets.span.uint16(at: start + 1), start + 5 <= octets.count else { return }
    let link = head & 0x0FFF | (isReceived ? 0x8000 : 0)
    if head >> 12 & 0b11 != PacketBoundaryFlag.continuing.rawValue { frames[link] = Frame() }
    guard var frame = frames[link] else { return }
    for index in (start + 5)..<octets.count {
      if frame.head.count < 5 {
        frame.head.append(octets[index])
        if frame.head.count == 4 { frame.rest = Int(frame.head.span.uint16(at: 0) ?? 0) }
        if frame.head.count == 5 {
          frame.rest -= 1
          if !Self.distributesKey(frame.head) {
            frames[link] = nil
            return
          }
        }
      } else if frame.rest > 0 {
        octets[index] = 0
        frame.rest -= 1
      }
    }
    frames[link] = frame.head.count == 5 && frame.rest <= 0 ? nil : frame
  }

  /// Whether a frame with this beginning is an Encryption, Identity or Signing Information on the SMP channel
  /// (Vol 3, Part H, 3.6.2, 3.6.4, 3.6.6).
  private static func distributesKey(_ head: [UInt8]) -> Bool {
    guard let channel = head.span.uint16(at: 2), channel == 0x0006 || channel == 0x0007 else { return false }
    return [0x06, 0x08, 0x0A].contains(head[4])
  }

  private static func zero(_ octets: inout [UInt8], _ first: Int, count: Int) {
    for index in first..<max(first, min(first + count, octets.count)) { octets[index] = 0 }
  }
}
