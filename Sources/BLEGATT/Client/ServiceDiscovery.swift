import BLEATT
import BLEWire

/// Discover All Primary Services, with Read By Group Type Requests (Vol 3, Part G, 4.4.1).
struct PrimaryServiceDiscovery: ClientProcedure {
  private var search: HandleSearch
  private var found = ServiceList()

  init(limit: Int) { search = HandleSearch(.first ... .last, limit: limit) }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let opcode = ReadByGroupTypeResponse.opcode
    let list = try ListResponse<ReadByGroupTypeResponse>(withLength: response)
    search.beginResponse()
    for entry in list.packet.attributeDataList {
      guard try search.admit(entry.handle, through: entry.endGroupHandle, of: opcode) else { continue }
      guard let uuid = BluetoothUUID(attributeValue: entry.value) else {
        search.note("a service declaration of \(entry.value.count) octets", of: opcode, at: entry.handle)
        continue
      }
      found.append(entry.handle, entry.endGroupHandle, uuid, opcode, &search)
    }
    try search.endResponse(list.fault, of: opcode)
    return next
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(search.outcome(found.outcome))
  }

  func result(endedBy error: GATTClientError) -> GATTClient.Outcome? { search.outcome(found.outcome, endedBy: error) }

  var repetition: ClientStep? { next }

  private var next: ClientStep {
    search.isComplete
      ? .finish(search.outcome(found.outcome))
      : .send(
        .readByGroupTypeRequest(
          .init(
            startingHandle: search.next, endingHandle: search.end, attributeGroupType: .primaryService)))
  }
}

/// Discover Primary Service by Service UUID, with Find By Type Value Requests (Vol 3, Part G, 4.4.2).
struct PrimaryServiceSearch: ClientProcedure {
  private let uuid: BluetoothUUID
  private var search: HandleSearch
  private var found = ServiceList()

  init(_ uuid: BluetoothUUID, limit: Int) {
    self.uuid = uuid.attributeType
    search = HandleSearch(.first ... .last, limit: limit)
  }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let opcode = FindByTypeValueResponse.opcode
    let list = try ListResponse<FindByTypeValueResponse>(response, header: 1, entriesOf: 4)
    search.beginResponse()
    for entry in list.packet.handlesInformationList {
      guard try search.admit(entry.foundAttributeHandle, through: entry.groupEndHandle, of: opcode) else { continue }
      found.append(entry.foundAttributeHandle, entry.groupEndHandle, uuid, opcode, &search)
    }
    try search.endResponse(list.fault, of: opcode)
    return next
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(search.outcome(found.outcome))
  }

  func result(endedBy error: GATTClientError) -> GATTClient.Outcome? { search.outcome(found.outcome, endedBy: error) }

  var repetition: ClientStep? { next }

  private var next: ClientStep {
    search.isComplete
      ? .finish(search.outcome(found.outcome))
      : .send(
        .findByTypeValueRequest(
          .init(
            startingHandle: search.next, endingHandle: search.end, attributeType: 0x2800,
            attributeValue: uuid.littleEndian[...])))
  }
}

/// Services in the order of their declarations. A service ends before the next one, whatever end the server gives it:
/// a characteristic then belongs to one service.
private struct ServiceList: Sendable {
  private var services: [DiscoveredService] = []
  /// Whether the last service has no valid end.
  private var isOpen = false

  /// Appends a service whose declaration lies behind those of the others.
  mutating func append(
    _ first: AttributeHandle, _ last: AttributeHandle, _ uuid: BluetoothUUID, _ opcode: ATTOpcode,
    _ search: inout HandleSearch
  ) {
    if let previous = services.last {
      let (start, before) = (previous.handles.lowerBound, AttributeHandle(first.rawValue - 1))
      if previous.handles.upperBound > before, !isOpen {
        search.note("service \(first) begins within service \(start)", of: opcode, at: first)
      }
      if isOpen || previous.handles.upperBound > before { services[services.count - 1].handles = start...before }
    }
    isOpen = last < first
    if isOpen { search.note("service \(first) ends at handle \(last)", of: opcode, at: first) }
    services.append(DiscoveredService(handles: first...max(first, last), uuid: uuid))
  }

  /// A last service without a valid end has all handles to the last one.
  var outcome: GATTClient.Outcome {
    var services = services
    if isOpen, let last = services.popLast() {
      services.append(DiscoveredService(handles: last.handles.lowerBound ... .last, uuid: last.uuid))
    }
    return .services(services)
  }
}

/// Find Included Services, with Read By Type Requests (Vol 3, Part G, 4.5.1). An include declaration contains the UUID
/// only if it has 16 bits; a 128-bit UUID is read from the declaration of the included service.
struct IncludedServiceDiscovery: ClientProcedure {
  private var search: HandleSearch
  private var found: [IncludedService] = []
  /// The included services whose UUID has not been read, the next one last.
  private var withoutUUID: [(declaration: AttributeHandle, handles: ClosedRange<AttributeHandle>)] = []

  init(within range: ClosedRange<AttributeHandle>, limit: Int) { search = HandleSearch(range, limit: limit) }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    if let included = withoutUUID.popLast() {
      let value = try decode(ReadResponse.self, response).value
      if let uuid = BluetoothUUID(attributeValue: value) {
        append(included.declaration, included.handles, uuid)
      } else {
        search.note(
          "a service declaration of \(value.count) octets", of: ReadResponse.opcode, at: included.handles.lowerBound)
      }
      return next
    }
    let opcode = ReadByTypeResponse.opcode
    let list = try ListResponse<ReadByTypeResponse>(withLength: response)
    search.beginResponse()
    for entry in list.packet.attributeDataList {
      guard try search.admit(entry.handle, through: entry.handle, of: opcode) else { continue }
      if let reason = take(entry) { search.note(reason, of: opcode, at: entry.handle) }
    }
    try search.endResponse(list.fault, of: opcode)
    return next
  }

  /// Takes an include declaration (Vol 3, Part G, 3.2).
  ///
  /// - Returns: why it is left out, if it is.
  private mutating func take(_ entry: ReadByTypeResponse.AttributeData) -> String? {
    var value = PacketDecoder(entry.value)
    var (start, end) = (AttributeHandle.none, AttributeHandle.none)
    do throws(CodecError) {
      try value.value("Included Service Attribute Handle", &start)
      try value.value("End Group Handle", &end)
    } catch { return error.description }
    guard start != .none, start <= end else { return "an included service with the handles \(start) to \(end)" }
    switch value.remaining.count {
    case 0: withoutUUID.insert((entry.handle, start...end), at: 0)
    case 2: if let uuid = BluetoothUUID(attributeValue: value.remaining) { append(entry.handle, start...end, uuid) }
    default: return "an include declaration of \(entry.value.count) octets"
    }
    return nil
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    if let included = withoutUUID.popLast() {
      search.note(GATTClientError(error), at: included.handles.lowerBound)
      return next
    }
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(search.outcome(.includedServices(found)))
  }

  func result(endedBy error: GATTClientError) -> GATTClient.Outcome? {
    search.outcome(.includedServices(found), endedBy: error)
  }

  private mutating func append(
    _ declaration: AttributeHandle, _ handles: ClosedRange<AttributeHandle>, _ uuid: BluetoothUUID
  ) {
    found.append(IncludedService(declaration: declaration, service: DiscoveredService(handles: handles, uuid: uuid)))
  }

  var repetition: ClientStep? { next }

  private var next: ClientStep {
    if let included = withoutUUID.last { return .send(.readRequest(.init(handle: included.handles.lowerBound))) }
    if search.isComplete { return .finish(search.outcome(.includedServices(found))) }
    return .send(
      .readByTypeRequest(.init(startingHandle: search.next, endingHandle: search.end, attributeType: .include)))
  }
}

extension BluetoothUUID {
  /// The UUID in an attribute value: 2 or 16 octets, least significant octet first. Nil for any other length.
  init?(attributeValue: Bytes) {
    guard attributeValue.count == 2 || attributeValue.count == 16 else { return nil }
    self.init(littleEndian: attributeValue)
  }
}
