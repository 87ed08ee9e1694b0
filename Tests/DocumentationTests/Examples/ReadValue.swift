import BLEATT
import BLEWire

/// Reads attribute values over a transport of your own, which carries one ATT PDU in each message.
struct ValueReader {
  private var client = ATTClient()
  private var output = PacketBuffer()
  private var number: UInt32 = 0

  /// Starts to read an attribute.
  ///
  /// - Returns: the PDUs for the server; none where a previous request has no response yet.
  mutating func read(_ handle: AttributeHandle, now: Instant) throws(ATTClientError) -> [[UInt8]] {
    number += 1
    try client.send(.readRequest(.init(handle: handle)), as: .init(rawValue: number), now: now, into: &output)
    return drain()
  }

  /// Receives a PDU of the server.
  ///
  /// - Returns: a value, once it has been read, and the PDUs for the server.
  mutating func receive(_ pdu: [UInt8], now: Instant) throws(ATTErrorCode) -> (value: [UInt8]?, pdus: [[UInt8]]) {
    switch client.receive(pdu.span, now: now, into: &output) {
    case .response: return (Array(pdu.dropFirst()), drain())
    case .errorResponse(_, let error): throw error.code
    default: return (nil, drain())
    }
  }

  private mutating func drain() -> [[UInt8]] {
    defer { output.removeAll() }
    return (0..<output.count).map { Array(output[$0]) }
  }
}
