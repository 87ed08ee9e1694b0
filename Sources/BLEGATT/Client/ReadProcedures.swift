import BLEATT
import BLEWire

/// Read Characteristic Value and Read Characteristic Descriptors (Vol 3, Part G, 4.8.1 and 4.12.1).
struct ValueRead: ClientProcedure {
  let handle: AttributeHandle

  func begin(mtu: Int) -> ClientStep { .send(.readRequest(.init(handle: handle))) }

  func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let value = [UInt8](copying: response.extracting(1...))
    try checkLength(of: value, in: response)
    return .finish(.value(value))
  }
}

/// - Throws: if the value is longer than that of any attribute (Vol 3, Part F, 3.2.9): with an ATT_MTU of 517 it can
///   have 516 octets.
private func checkLength(of value: [UInt8], in response: Span<UInt8>) throws(GATTClientError) {
  guard value.count > ATT.maximumValueLength else { return }
  throw .malformedResponse(
    ATTOpcode(rawValue: response[0]), reason: "the value is longer than \(ATT.maximumValueLength) octets")
}

/// Read Long Characteristic Value and Read Long Characteristic Descriptors (Vol 3, Part G, 4.8.3 and 4.12.2): a Read
/// Request, then Read Blob Requests until a response is shorter than the ATT_MTU.
struct LongValueRead: ClientProcedure {
  let handle: AttributeHandle
  private var value: [UInt8] = []
  /// The ATT_MTU at the last request. A response that is shorter contains the last part.
  private var requestMTU = ATT.defaultMTU
  /// Whether a Read Blob Response has had octets: the value is longer than one part.
  private var isLong = false

  init(handle: AttributeHandle) { self.handle = handle }

  mutating func begin(mtu: Int) -> ClientStep {
    requestMTU = mtu
    return .send(.readRequest(.init(handle: handle)))
  }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let part = response.extracting(1...)
    isLong = isLong || !value.isEmpty && !part.isEmpty
    value.append(copying: part)
    try checkLength(of: value, in: response)
    guard part.count >= requestMTU - 1, value.count < ATT.maximumValueLength else { return .finish(.value(value)) }
    requestMTU = mtu
    return .send(.readBlobRequest(.init(handle: handle, valueOffset: UInt16(truncatingIfNeeded: value.count))))
  }

  /// The value may end where the last part ends. Attribute Not Long (0x0B) and Invalid Offset (0x07) say so; servers
  /// without Read Blob answer with other errors. A value that a Read Blob Response has continued, and another error
  /// cuts, is not whole.
  func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    let isEnd = error.code == .attributeNotLong || error.code == .invalidOffset
    guard error.requestOpcode == .readBlobRequest, isEnd || !isLong else { throw GATTClientError(error) }
    return .finish(.value(value))
  }
}

/// Read Using Characteristic UUID, with Read By Type Requests (Vol 3, Part G, 4.8.2).
struct ValueSearch: ClientProcedure {
  private let type: BluetoothUUID
  private var search: HandleSearch
  private var found: [AttributeValue] = []

  init(_ type: BluetoothUUID, within range: ClosedRange<AttributeHandle>, limit: Int) {
    self.type = type
    search = HandleSearch(range, limit: limit)
  }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let opcode = ReadByTypeResponse.opcode
    let list = try ListResponse<ReadByTypeResponse>(withLength: response)
    search.beginResponse()
    for entry in list.packet.attributeDataList {
      guard try search.admit(entry.handle, through: entry.handle, of: opcode) else { continue }
      found.append(AttributeValue(handle: entry.handle, value: Array(entry.value)))
    }
    try search.endResponse(list.fault, of: opcode)
    return next
  }

  /// Attribute Not Found ends the search. It is an error only if no value was found.
  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound, !found.isEmpty else { throw GATTClientError(error) }
    return .finish(search.outcome(.values(found)))
  }

  func result(endedBy error: GATTClientError) -> GATTClient.Outcome? { search.outcome(.values(found), endedBy: error) }

  var repetition: ClientStep? { next }

  private var next: ClientStep {
    search.isComplete
      ? .finish(search.outcome(.values(found)))
      : .send(.readByTypeRequest(.init(startingHandle: search.next, endingHandle: search.end, attributeType: type)))
  }
}

/// Read Multiple Characteristic Values (Vol 3, Part G, 4.8.4). The response does not contain the lengths of the values.
struct MultipleRead: ClientProcedure {
  let handles: [AttributeHandle]

  func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    guard handles.count >= 2 else { throw .needsTwoHandles }
    return .send(.readMultipleRequest(.init(setOfHandles: handles)))
  }

  func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    .finish(.value([UInt8](copying: response.extracting(1...))))
  }
}

/// Read Multiple Variable Length Characteristic Values (Vol 3, Part G, 4.8.5). The server cuts the list after
/// ATT_MTU - 1 octets; a value that is cut is omitted.
struct MultipleVariableRead: ClientProcedure {
  let handles: [AttributeHandle]

  func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    guard handles.count >= 2 else { throw .needsTwoHandles }
    return .send(.readMultipleVariableRequest(.init(setOfHandles: handles)))
  }

  func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let tuples = try decode(ReadMultipleVariableResponse.self, response).values
    guard tuples.count <= handles.count else {
      throw .malformedResponse(
        ReadMultipleVariableResponse.opcode, reason: "\(tuples.count) values for \(handles.count) handles")
    }
    return .finish(
      .values(
        zip(handles, tuples).filter { $1.value.count == Int($1.length) }.map {
          AttributeValue(handle: $0, value: Array($1.value))
        }))
  }
}

extension GATTClientError {
  fileprivate static let needsTwoHandles = Self.invalidParameters(
    "read of multiple values failed: fewer than two handles. Use a read of one value")
}
