import BLEATT
import BLEWire

/// Discover All Primary Services, with Read By Group Type Requests (Vol 3, Part G, 4.4.1).
struct PrimaryServiceDiscovery: ClientProcedure {
  private var search: HandleSearch
  private var found: [DiscoveredService] = []

  init(limit: Int) { search = HandleSearch(.first ... .last, limit: limit) }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    for entry in try decode(ReadByGroupTypeResponse.self, response).attributeDataList {
      guard let uuid = BluetoothUUID(attributeValue: entry.value) else {
        throw .malformedResponse(
          ReadByGroupTypeResponse.opcode, reason: "a service declaration of \(entry.value.count) octets")
      }
      try search.advance(past: entry.handle, through: entry.endGroupHandle, of: ReadByGroupTypeResponse.opcode)
      found.append(DiscoveredService(handles: entry.handle...entry.endGroupHandle, uuid: uuid))
    }
    return next
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(.services(found))
  }

  private var next: ClientStep {
    search.isComplete
      ? .finish(.services(found))
      : .send(
        ReadByGroupTypeRequest(
          startingHandle: search.next, endingHandle: search.end, attributeGroupType: .primaryService))
  }
}

/// Discover Primary Service by Service UUID, with Find By Type Value Requests (Vol 3, Part G, 4.4.2).
struct PrimaryServiceSearch: ClientProcedure {
  private let uuid: BluetoothUUID
  private var search: HandleSearch
  private var found: [DiscoveredService] = []

  init(_ uuid: BluetoothUUID, limit: Int) {
    self.uuid = uuid.attributeType
    search = HandleSearch(.first ... .last, limit: limit)
  }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    for entry in try decode(FindByTypeValueResponse.self, response).handlesInformationList {
      try search.advance(
        past: entry.foundAttributeHandle, through: entry.groupEndHandle, of: FindByTypeValueResponse.opcode)
      found.append(DiscoveredService(handles: entry.foundAttributeHandle...entry.groupEndHandle, uuid: uuid))
    }
    return next
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(.services(found))
  }

  private var next: ClientStep {
    search.isComplete
      ? .finish(.services(found))
      : .send(
        FindByTypeValueRequest(
          startingHandle: search.next, endingHandle: search.end, attributeType: 0x2800,
          attributeValue: uuid.littleEndian[...]))
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
      guard let uuid = BluetoothUUID(attributeValue: value) else {
        throw .malformedResponse(ReadResponse.opcode, reason: "a service declaration of \(value.count) octets")
      }
      append(included.declaration, included.handles, uuid)
      return next
    }
    for entry in try decode(ReadByTypeResponse.self, response).attributeDataList {
      try search.advance(past: entry.handle, through: entry.handle, of: ReadByTypeResponse.opcode)
      var value = PacketDecoder(entry.value)
      var (start, end) = (AttributeHandle.none, AttributeHandle.none)
      do throws(CodecError) {
        try value.value("Included Service Attribute Handle", &start)
        try value.value("End Group Handle", &end)
      } catch { throw .malformedResponse(ReadByTypeResponse.opcode, reason: error.description) }
      guard start != .none, start <= end else {
        throw .malformedResponse(
          ReadByTypeResponse.opcode, reason: "an included service with the handles \(start) to \(end)")
      }
      switch value.remaining.count {
      case 0: withoutUUID.insert((entry.handle, start...end), at: 0)
      case 2:
        guard let uuid = BluetoothUUID(attributeValue: value.remaining) else { continue }
        append(entry.handle, start...end, uuid)
      default:
        throw .malformedResponse(
          ReadByTypeResponse.opcode, reason: "an include declaration of \(entry.value.count) octets")
      }
    }
    return next
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound, withoutUUID.isEmpty else { throw GATTClientError(error) }
    return .finish(.includedServices(found))
  }

  private mutating func append(
    _ declaration: AttributeHandle, _ handles: ClosedRange<AttributeHandle>, _ uuid: BluetoothUUID
  ) {
    found.append(IncludedService(declaration: declaration, service: DiscoveredService(handles: handles, uuid: uuid)))
  }

  private var next: ClientStep {
    if let included = withoutUUID.last { return .send(ReadRequest(handle: included.handles.lowerBound)) }
    if search.isComplete { return .finish(.includedServices(found)) }
    return .send(
      ReadByTypeRequest(startingHandle: search.next, endingHandle: search.end, attributeType: .include))
  }
}

extension BluetoothUUID {
  /// The UUID in an attribute value: 2 or 16 octets, least significant octet first. Nil for any other length.
  init?(attributeValue: Bytes) {
    guard attributeValue.count == 2 || attributeValue.count == 16 else { return nil }
    self.init(littleEndian: attributeValue)
  }
}
