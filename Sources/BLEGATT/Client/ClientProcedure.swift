import BLEATT
import BLEWire

/// One procedure of Vol 3, Part G, 4, as a sequence of requests: each answer leads to the next request or to the end.
protocol ClientProcedure: Sendable {
  /// The first step.
  mutating func begin(mtu: Int) throws(GATTClientError) -> ClientStep
  /// The response to the last request: the whole PDU, of the right opcode and within the ATT_MTU.
  mutating func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep
  /// The last request was refused.
  mutating func refused(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep
}

/// What a procedure does next.
enum ClientStep {
  case send(any ATTPacket)
  case finish(GATTClient.Outcome)
}

extension ClientProcedure {
  mutating func refused(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep { throw GATTClientError(error) }

  /// Reads the response as the packet it must be.
  func decode<P: ATTPacket>(_ type: P.Type, _ response: Span<UInt8>) throws(GATTClientError) -> P {
    let octets = [UInt8](copying: response)
    do throws(CodecError) { return try P(decoding: octets.dropFirst()) } catch {
      throw .malformedResponse(P.opcode, reason: error.description)
    }
  }
}

extension GATTClientError {
  init(_ error: ErrorResponse) { self = .errorResponse(error.code, request: error.requestOpcode, handle: error.handle) }
}

/// How far a search through handles has come. Each result must lie behind the one before, so that no server can lead a
/// search in circles, and there is a limit on their number.
struct HandleSearch: Sendable {
  private(set) var next: AttributeHandle
  let end: AttributeHandle
  private let limit: Int
  private var count = 0
  private(set) var isOver = false

  init(_ range: ClosedRange<AttributeHandle>, limit: Int) {
    next = range.lowerBound
    end = range.upperBound
    self.limit = limit
  }

  /// Takes one result that begins at `handle` and has the attributes up to `last`.
  mutating func take(
    _ handle: AttributeHandle, through last: AttributeHandle, of opcode: ATTOpcode
  ) throws(GATTClientError) {
    guard !isOver, handle >= next, handle != .none, last >= handle, last <= end else {
      throw .malformedResponse(
        opcode, reason: "the handles \(handle) to \(last) do not lie in order within \(next) to \(end)")
    }
    count += 1
    guard count <= limit else { throw .tooManyResults(limit: limit) }
    if last == end { isOver = true } else { next = AttributeHandle(last.rawValue &+ 1) }
  }
}
