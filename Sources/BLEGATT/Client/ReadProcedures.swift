import BLEATT
import BLEWire

/// One value, as much of it as a PDU holds (Vol 3, Part G, 4.8.1 and 4.12.1).
struct ValueRead: ClientProcedure {
  let handle: AttributeHandle

  func begin(mtu: Int) -> ClientStep { .send(ReadRequest(handle: handle)) }

  func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    .finish(.value([UInt8](copying: response.extracting(1...))))
  }
}

/// A whole value: Read, then Read Blob for as long as the PDUs come full (Vol 3, Part G, 4.8.3 and 4.12.2).
struct LongValueRead: ClientProcedure {
  let handle: AttributeHandle
  private var value: [UInt8] = []
  /// The ATT_MTU when the last part was asked for: a part shorter than it allows is the last one.
  private var mtuAsked = ATT.defaultMTU

  init(handle: AttributeHandle) { self.handle = handle }

  mutating func begin(mtu: Int) -> ClientStep {
    mtuAsked = mtu
    return .send(ReadRequest(handle: handle))
  }

  mutating func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let part = response.extracting(1...)
    value.append(copying: part)
    guard value.count <= ATT.maximumValueLength else {
      throw .malformedResponse(
        ATTOpcode(rawValue: response[0]), reason: "the value is longer than \(ATT.maximumValueLength) octets")
    }
    guard part.count >= mtuAsked - 1, value.count < ATT.maximumValueLength else { return .finish(.value(value)) }
    mtuAsked = mtu
    return .send(ReadBlobRequest(handle: handle, valueOffset: UInt16(truncatingIfNeeded: value.count)))
  }

  /// Attribute Not Long says of a value that exactly filled the first PDU that there is no more of it.
  func refused(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotLong, error.requestOpcode == .readBlobRequest else { throw GATTClientError(error) }
    return .finish(.value(value))
  }
}

/// Every value of one type in a range, by Read By Type (Vol 3, Part G, 4.8.2).
struct ValueSearch: ClientProcedure {
  private let type: BluetoothUUID
  private var search: HandleSearch
  private var found: [AttributeValue] = []

  init(_ type: BluetoothUUID, within range: ClosedRange<AttributeHandle>, limit: Int) {
    self.type = type
    search = HandleSearch(range, limit: limit)
  }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    for entry in try decode(ReadByTypeResponse.self, response).attributeDataList {
      try search.take(entry.handle, through: entry.handle, of: ReadByTypeResponse.opcode)
      found.append(AttributeValue(handle: entry.handle, value: Array(entry.value)))
    }
    return next
  }

  /// Attribute Not Found ends the search; it is the answer only where there was nothing at all.
  mutating func refused(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound, !found.isEmpty else { throw GATTClientError(error) }
    return .finish(.values(found))
  }

  private var next: ClientStep {
    search.isOver
      ? .finish(.values(found))
      : .send(ReadByTypeRequest(startingHandle: search.next, endingHandle: search.end, attributeType: type))
  }
}

/// Several values, one behind the other (Vol 3, Part G, 4.8.4); only a caller who knows their lengths can part them.
struct MultipleRead: ClientProcedure {
  let handles: [AttributeHandle]

  func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    guard handles.count >= 2 else { throw .needsTwoHandles }
    return .send(ReadMultipleRequest(setOfHandles: handles))
  }

  func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    .finish(.value([UInt8](copying: response.extracting(1...))))
  }
}

/// Several values with their lengths (Vol 3, Part G, 4.8.5). A server cuts what does not fit its PDU; values that are
/// not whole are left out, so the caller gets fewer than were asked for, in their order.
struct MultipleVariableRead: ClientProcedure {
  let handles: [AttributeHandle]

  func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    guard handles.count >= 2 else { throw .needsTwoHandles }
    return .send(ReadMultipleVariableRequest(setOfHandles: handles))
  }

  func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
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
  fileprivate static let needsTwoHandles = Self.invalidParameters("reading several values takes two handles or more")
}
