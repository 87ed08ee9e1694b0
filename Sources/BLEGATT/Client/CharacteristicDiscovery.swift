import BLEATT
import BLEWire

/// Discover All Characteristics of a Service and Discover Characteristics by UUID, with Read By Type Requests (Vol 3,
/// Part G, 4.6.1 and 4.6.2).
///
/// The value of a characteristic is read where its declaration says, even outside of the service: other clients do the
/// same, and devices are used with them. Two characteristics never have one value, because a notification could not be
/// attributed.
struct CharacteristicDiscovery: ClientProcedure {
  private var search: HandleSearch
  private let uuid: BluetoothUUID?
  private var found: [DiscoveredCharacteristic] = []
  /// The value handles of all characteristics so far.
  private var values: Set<AttributeHandle> = []

  init(within range: ClosedRange<AttributeHandle>, uuid: BluetoothUUID? = nil, limit: Int) {
    search = HandleSearch(range, limit: limit)
    self.uuid = uuid
  }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let opcode = ReadByTypeResponse.opcode
    let list = try ListResponse<ReadByTypeResponse>(withLength: response)
    search.beginResponse()
    for entry in list.packet.attributeDataList {
      guard try search.admit(entry.handle, through: entry.handle, of: opcode) else { continue }
      do throws(CodecError) { take(try declaration(entry), opcode) } catch {
        search.note(error.description, of: opcode, at: entry.handle)
      }
    }
    try search.endResponse(list.fault, of: opcode)
    return next
  }

  private mutating func take(_ characteristic: DiscoveredCharacteristic, _ opcode: ATTOpcode) {
    let (declaration, value) = (characteristic.declaration, characteristic.valueHandle)
    let isUsable = value > declaration && !values.contains(value)
    if !isUsable || value > search.end {
      search.note("the value handle of characteristic \(declaration) is \(value)", of: opcode, at: declaration)
    }
    guard isUsable else { return }
    values.insert(value)
    if uuid == nil || uuid == characteristic.uuid { found.append(characteristic) }
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(search.outcome(.characteristics(found)))
  }

  func result(endedBy error: GATTClientError) -> GATTClient.Outcome? {
    search.outcome(.characteristics(found), endedBy: error)
  }

  /// Decodes the value of a characteristic declaration (Vol 3, Part G, 3.3.1).
  private func declaration(
    _ entry: ReadByTypeResponse.AttributeData
  ) throws(CodecError) -> DiscoveredCharacteristic {
    var value = PacketDecoder(entry.value)
    var properties: GATTCharacteristicProperties = []
    var valueHandle = AttributeHandle.none
    var uuid = BluetoothUUID(0)
    try value.value("Characteristic Properties", &properties)
    try value.value("Characteristic Value Handle", &valueHandle)
    try value.rest("Characteristic UUID", &uuid)
    return DiscoveredCharacteristic(
      declaration: entry.handle, properties: properties, valueHandle: valueHandle, uuid: uuid)
  }

  var repetition: ClientStep? { next }

  private var next: ClientStep {
    search.isComplete
      ? .finish(search.outcome(.characteristics(found)))
      : .send(
        .readByTypeRequest(.init(startingHandle: search.next, endingHandle: search.end, attributeType: .characteristic))
      )
  }
}

/// Discover All Characteristic Descriptors, with Find Information Requests (Vol 3, Part G, 4.7.1).
///
/// A declaration ends the search, even within the range: the characteristic ends before it.
struct DescriptorDiscovery: ClientProcedure {
  private var search: HandleSearch
  private(set) var found: [DiscoveredDescriptor] = []

  init(within range: ClosedRange<AttributeHandle>, limit: Int) { search = HandleSearch(range, limit: limit) }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    let opcode = FindInformationResponse.opcode
    let isLong = response.count > 1 && response[1] == FindInformationResponse.Format.uuid128.rawValue
    let list = try ListResponse<FindInformationResponse>(response, header: 2, entriesOf: isLong ? 18 : 4)
    search.beginResponse()
    for pair in list.packet.informationData {
      guard try search.admit(pair.handle, through: pair.handle, of: opcode) else { continue }
      switch pair.uuid {
      case .primaryService, .secondaryService, .include, .characteristic:
        return .finish(search.outcome(.descriptors(found)))
      default: found.append(DiscoveredDescriptor(handle: pair.handle, uuid: pair.uuid))
      }
    }
    try search.endResponse(list.fault, of: opcode)
    return next
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(search.outcome(.descriptors(found)))
  }

  func result(endedBy error: GATTClientError) -> GATTClient.Outcome? {
    search.outcome(.descriptors(found), endedBy: error)
  }

  var repetition: ClientStep? { next }

  private var next: ClientStep {
    search.isComplete
      ? .finish(search.outcome(.descriptors(found)))
      : .send(.findInformationRequest(.init(startingHandle: search.next, endingHandle: search.end)))
  }
}
