import BLEATT
import BLEWire

/// All primary services, by Read By Group Type (Vol 3, Part G, 4.4.1).
struct PrimaryServiceDiscovery: ClientProcedure {
  private var search: HandleSearch
  private var found: [DiscoveredService] = []

  init(limit: Int) { search = HandleSearch(.first ... .last, limit: limit) }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    for entry in try decode(ReadByGroupTypeResponse.self, response).attributeDataList {
      guard let uuid = BluetoothUUID(attributeValue: entry.value) else {
        throw .malformedResponse(
          ReadByGroupTypeResponse.opcode, reason: "a service declaration of \(entry.value.count) octets")
      }
      try search.take(entry.handle, through: entry.endGroupHandle, of: ReadByGroupTypeResponse.opcode)
      found.append(DiscoveredService(handles: entry.handle...entry.endGroupHandle, uuid: uuid))
    }
    return next
  }

  mutating func refused(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(.services(found))
  }

  private var next: ClientStep {
    search.isOver
      ? .finish(.services(found))
      : .send(
        ReadByGroupTypeRequest(
          startingHandle: search.next, endingHandle: search.end, attributeGroupType: .primaryService))
  }
}

/// The primary services of one type, by Find By Type Value (Vol 3, Part G, 4.4.2).
struct PrimaryServiceSearch: ClientProcedure {
  private let uuid: BluetoothUUID
  private var search: HandleSearch
  private var found: [DiscoveredService] = []

  init(_ uuid: BluetoothUUID, limit: Int) {
    self.uuid = uuid.attributeType
    search = HandleSearch(.first ... .last, limit: limit)
  }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    for entry in try decode(FindByTypeValueResponse.self, response).handlesInformationList {
      try search.take(entry.foundAttributeHandle, through: entry.groupEndHandle, of: FindByTypeValueResponse.opcode)
      found.append(DiscoveredService(handles: entry.foundAttributeHandle...entry.groupEndHandle, uuid: uuid))
    }
    return next
  }

  mutating func refused(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(.services(found))
  }

  private var next: ClientStep {
    search.isOver
      ? .finish(.services(found))
      : .send(
        FindByTypeValueRequest(
          startingHandle: search.next, endingHandle: search.end, attributeType: 0x2800,
          attributeValue: uuid.littleEndian[...]))
  }
}

/// The services that one service includes (Vol 3, Part G, 4.5.1): the declaration names a 16-bit UUID itself, one of 128
/// bits is read from the included service's own declaration.
struct IncludedServiceDiscovery: ClientProcedure {
  private var search: HandleSearch
  private var found: [IncludedService] = []
  /// Included services whose UUID is still to be read, the next one last.
  private var unnamed: [(declaration: AttributeHandle, handles: ClosedRange<AttributeHandle>)] = []

  init(within range: ClosedRange<AttributeHandle>, limit: Int) { search = HandleSearch(range, limit: limit) }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func take(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    if let included = unnamed.popLast() {
      let value = try decode(ReadResponse.self, response).value
      guard let uuid = BluetoothUUID(attributeValue: value) else {
        throw .malformedResponse(ReadResponse.opcode, reason: "a service declaration of \(value.count) octets")
      }
      append(included.declaration, included.handles, uuid)
      return next
    }
    for entry in try decode(ReadByTypeResponse.self, response).attributeDataList {
      try search.take(entry.handle, through: entry.handle, of: ReadByTypeResponse.opcode)
      var value = Decoder(entry.value)
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
      case 0: unnamed.insert((entry.handle, start...end), at: 0)
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

  mutating func refused(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound, unnamed.isEmpty else { throw GATTClientError(error) }
    return .finish(.includedServices(found))
  }

  private mutating func append(
    _ declaration: AttributeHandle, _ handles: ClosedRange<AttributeHandle>, _ uuid: BluetoothUUID
  ) {
    found.append(IncludedService(declaration: declaration, service: DiscoveredService(handles: handles, uuid: uuid)))
  }

  private var next: ClientStep {
    if let included = unnamed.last { return .send(ReadRequest(handle: included.handles.lowerBound)) }
    if search.isOver { return .finish(.includedServices(found)) }
    return .send(
      ReadByTypeRequest(startingHandle: search.next, endingHandle: search.end, attributeType: .include))
  }
}

extension BluetoothUUID {
  /// 0x2800, 0x2801, 0x2802, 0x2803, 0x2902: what a client looks for (Vol 3, Part G, 3.4).
  static let primaryService = Self(0x2800)
  static let secondaryService = Self(0x2801)
  static let include = Self(0x2802)
  static let characteristic = Self(0x2803)
  static let clientCharacteristicConfiguration = Self(0x2902)
  static let genericAttribute = Self(0x1801)
  static let serviceChanged = Self(0x2A05)

  /// A UUID as attribute values carry it: 2 or 16 octets.
  init?(attributeValue: Bytes) {
    guard attributeValue.count == 2 || attributeValue.count == 16 else { return nil }
    self.init(littleEndian: attributeValue)
  }
}
