public import BLEATT
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
  /// What the procedure has obtained when it cannot continue; nil if that is nothing, or if a part of it has no
  /// meaning.
  func result(endedBy error: GATTClientError) -> GATTClient.Outcome?
  /// The last request once more, if it changes nothing at the server; otherwise nil.
  var repetition: ClientStep? { get }
  /// What it has found out for the client itself, besides its result; nil if nothing.
  var finding: ClientFinding? { get }
}

/// What a procedure finds out for the client itself.
enum ClientFinding {
  /// The Database Hash, nil if the server has none, and whether the server has Robust Caching for this client.
  case databaseHash([UInt8]?, hasRobustCaching: Bool)
  /// The value handle of Service Changed, and all its handles once the client has subscribed to it.
  case serviceChanged(AttributeHandle, AttributeCache.ServiceChanged?)
}

/// The next step of a procedure.
enum ClientStep {
  case send(ATTPDU)
  case finish(GATTClient.Outcome)
}

extension ClientProcedure {
  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep { throw GATTClientError(error) }
  func result(endedBy error: GATTClientError) -> GATTClient.Outcome? { nil }
  var repetition: ClientStep? { nil }
  var finding: ClientFinding? { nil }

  /// Decodes the response.
  func decode<P: ATTPacket>(_ type: P.Type, _ response: Span<UInt8>) throws(GATTClientError) -> P {
    let octets = [UInt8](copying: response)
    do throws(CodecError) { return try P(decoding: octets.dropFirst()) } catch {
      throw .malformedResponse(P.opcode, reason: error.description)
    }
  }
}

/// A response that is a list of entries of one size, of which the whole ones count: an entry that is cut is the fault
/// of the server, and says nothing about those before it.
struct ListResponse<Packet: ATTPacket> {
  let packet: Packet
  /// Why the end of the response was ignored, if it was.
  let fault: GATTClientError?

  /// - Parameters:
  ///   - header: the octets before the first entry, with the opcode.
  ///   - size: the octets of an entry.
  /// - Throws: if there is no whole entry.
  init(_ response: Span<UInt8>, header: Int, entriesOf size: Int) throws(GATTClientError) {
    let octets = [UInt8](copying: response)
    do throws(CodecError) {
      (packet, fault) = (try Packet(decoding: octets.dropFirst()), nil)
    } catch {
      let reason = GATTClientError.malformedResponse(Packet.opcode, reason: error.description)
      let whole = size > 0 ? max(0, octets.count - header) / size * size : 0
      guard whole > 0, let packet = try? Packet(decoding: octets[1..<(header + whole)]) else { throw reason }
      (self.packet, fault) = (packet, reason)
    }
  }

  /// A list whose entries have the size in the octet after the opcode.
  init(withLength response: Span<UInt8>) throws(GATTClientError) {
    try self.init(response, header: 2, entriesOf: response.count > 1 ? Int(response[1]) : 0)
  }
}

/// A search through a range of handles. Each result must lie after the one before, and the number of results is
/// limited: no server can make a search endless. Results that do not lie in order are left out.
struct HandleSearch: Sendable {
  /// The first handle of the next request.
  private(set) var next: AttributeHandle
  let end: AttributeHandle
  private(set) var isComplete = false
  /// What was left out or corrected so far.
  private(set) var faults: [DiscoveryFault] = []
  /// The lowest handle that the next result may have.
  private var lowest: AttributeHandle
  /// Whether a result has the last handle: none can follow.
  private var isExhausted = false
  private let limit: Int
  private var count = 0
  /// The number of results before the current response.
  private var countBefore = 0

  init(_ range: ClosedRange<AttributeHandle>, limit: Int) {
    next = range.lowerBound
    lowest = range.lowerBound
    end = range.upperBound
    self.limit = limit
  }

  /// A response follows.
  mutating func beginResponse() { countBefore = count }

  /// Takes a result with the attributes from `first` to `last`. The search continues after it.
  ///
  /// - Returns: whether it counts: it lies in order, and within the range.
  /// - Throws: if there are too many results.
  mutating func admit(
    _ first: AttributeHandle, through last: AttributeHandle, of opcode: ATTOpcode
  ) throws(GATTClientError) -> Bool {
    guard !isExhausted, first >= lowest, first != .none, first <= end else {
      note("the handle \(first) does not lie in order within \(lowest) to \(end)", of: opcode, at: first)
      return false
    }
    guard count < limit else { throw .tooManyResults(limit: limit) }
    count += 1
    skip(first, through: last)
    return true
  }

  /// Continues after the attributes from `first` to `last`.
  private mutating func skip(_ first: AttributeHandle, through last: AttributeHandle) {
    let last = max(first, last)
    if first == .last { isExhausted = true } else { lowest = AttributeHandle(first.rawValue + 1) }
    if last >= end { isComplete = true } else { next = max(next, AttributeHandle(last.rawValue + 1)) }
  }

  /// The entries of a response were taken.
  ///
  /// - Throws: if it had none that counts: the same request would have the same response.
  mutating func endResponse(_ fault: GATTClientError?, of opcode: ATTOpcode) throws(GATTClientError) {
    guard count > countBefore || isComplete else {
      throw fault ?? faults.popLast()?.error ?? .malformedResponse(opcode, reason: "no entry lies within the range")
    }
    if let fault { note(fault, at: next) }
  }

  /// Notes a fault of one result.
  mutating func note(_ reason: String, of opcode: ATTOpcode, at handle: AttributeHandle) {
    note(.malformedResponse(opcode, reason: reason), at: handle)
  }

  mutating func note(_ error: GATTClientError, at handle: AttributeHandle) {
    guard faults.count < DiscoveryFault.limit else { return }
    faults.append(DiscoveryFault(handles: handle...handle, error: error))
  }

  /// The outcome of the search: with its faults, if there are any.
  func outcome(_ found: GATTClient.Outcome) -> GATTClient.Outcome {
    faults.isEmpty ? found : .incomplete(found, faults)
  }

  /// The outcome of a search that has ended before the end of its range; nil if it has found nothing.
  func outcome(_ found: GATTClient.Outcome, endedBy error: GATTClientError) -> GATTClient.Outcome? {
    guard count > 0 else { return nil }
    let rest = DiscoveryFault(handles: min(next, end)...end, error: error)
    return .incomplete(found, faults.prefix(DiscoveryFault.limit - 1) + [rest])
  }
}

/// A part of a server's database that a discovery left out or corrected, because the server has described it wrongly.
/// Everything else that it has described is in the outcome (``GATTClient/Outcome/incomplete(_:_:)``).
public struct DiscoveryFault: Hashable, Sendable {
  /// The faults that one operation reports. More are not reported.
  public static let limit = 32

  /// The attributes concerned: those of one declaration, or all from there to the end of the range.
  public var handles: ClosedRange<AttributeHandle>
  /// What the server has sent.
  public var error: GATTClientError

  /// A fault with these fields.
  public init(handles: ClosedRange<AttributeHandle>, error: GATTClientError) {
    self.handles = handles
    self.error = error
  }
}

extension DiscoveryFault: CustomStringConvertible {
  /// The place, and what the server has sent.
  public var description: String {
    let (first, last) = (handles.lowerBound, handles.upperBound)
    return "\(first == last ? "handle \(first)" : "handles \(first) to \(last)"): \(error)"
  }
}
