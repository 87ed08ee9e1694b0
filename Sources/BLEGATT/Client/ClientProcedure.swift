import BLEATT
import BLEWire

/// One procedure of Vol 3, Part G, 4: a sequence of requests. Each response leads to the next request or to the end.
protocol ClientProcedure: Sendable {
  /// Returns the first step.
  mutating func begin(mtu: Int) throws(GATTClientError) -> ClientStep
  /// Receives the response to the last request, from the opcode on, and returns the next step. The opcode is the right
  /// one, and the PDU does not exceed the ATT_MTU.
  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep
  /// Receives the Error Response to the last request, and returns the next step.
  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep
}

/// The next step of a procedure.
enum ClientStep {
  case send(any ATTPacket)
  case finish(GATTClient.Outcome)
}

extension ClientProcedure {
  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep { throw GATTClientError(error) }

  /// Decodes the response.
  func decode<P: ATTPacket>(_ type: P.Type, _ response: Span<UInt8>) throws(GATTClientError) -> P {
    let octets = [UInt8](copying: response)
    do throws(CodecError) { return try P(decoding: octets.dropFirst()) } catch {
      throw .malformedResponse(P.opcode, reason: error.description)
    }
  }
}

/// A search through a range of handles. Each result must lie after the one before, and the number of results is
/// limited: no server can make a search endless.
struct HandleSearch: Sendable {
  private(set) var next: AttributeHandle
  let end: AttributeHandle
  private let limit: Int
  private var count = 0
  private(set) var isComplete = false

  init(_ range: ClosedRange<AttributeHandle>, limit: Int) {
    next = range.lowerBound
    end = range.upperBound
    self.limit = limit
  }

  /// Continues the search after a result with the attributes from `first` to `last`.
  mutating func advance(
    past first: AttributeHandle, through last: AttributeHandle, of opcode: ATTOpcode
  ) throws(GATTClientError) {
    guard !isComplete, first >= next, first != .none, last >= first, last <= end else {
      throw .malformedResponse(
        opcode, reason: "the handles \(first) to \(last) do not lie in order within \(next) to \(end)")
    }
    count += 1
    guard count <= limit else { throw .tooManyResults(limit: limit) }
    if last == end { isComplete = true } else { next = AttributeHandle(last.rawValue &+ 1) }
  }
}
