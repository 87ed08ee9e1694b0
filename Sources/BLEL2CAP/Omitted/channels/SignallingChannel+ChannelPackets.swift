import BLEWire

/// Requests for credit-based channels are not understood, and there is nothing that a response could answer (Vol 3,
/// Part A, 4.1).
extension SignallingChannel {
  func receive<Packet: SignallingPacket>(
    _ packet: Packet, _ identifier: UInt8, _ out: inout PacketBuffer, _ effects: inout [Effect]
  ) {
    if !Packet.code.isResponse { send(CommandReject(), identifier, &out) }
  }
  func receive(
    _ packet: some SignallingPacket, _ identifier: UInt8, _ now: Instant, _ out: inout PacketBuffer,
    _ effects: inout [Effect]
  ) {}
  func receive(
    _ indication: FlowControlCredit, _ now: Instant, _ out: inout PacketBuffer, _ effects: inout [Effect]
  ) {}
  func receive(_ response: DisconnectionResponse, _ identifier: UInt8) {}
  func receive(_ response: CreditBasedReconfigureResponse, _ identifier: UInt8, _ effects: inout [Effect]) {}
  func receive(_ reject: CommandReject, _ identifier: UInt8, _ effects: inout [Effect]) -> Bool { false }
}
