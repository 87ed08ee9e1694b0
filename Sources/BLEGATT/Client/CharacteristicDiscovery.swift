import BLEATT
import BLEWire

/// Discover All Characteristics of a Service and Discover Characteristics by UUID, with Read By Type Requests (Vol 3,
/// Part G, 4.6.1 and 4.6.2).
struct CharacteristicDiscovery: ClientProcedure {
  private var search: HandleSearch
  private let uuid: BluetoothUUID?
  private var found: [DiscoveredCharacteristic] = []
  /// The value handle of the previous characteristic: the next declaration must be above it.
  private var lastValue = AttributeHandle.none

  init(within range: ClosedRange<AttributeHandle>, uuid: BluetoothUUID? = nil, limit: Int) {
    search = HandleSearch(range, limit: limit)
    self.uuid = uuid
  }

  mutating func begin(mtu: Int) -> ClientStep { next }

  mutating func receive(_ response: Span<UInt8>, mtu: Int) throws(GATTClientError) -> ClientStep {
    for entry in try decode(ReadByTypeResponse.self, response).attributeDataList {
      let characteristic = try declaration(entry)
      try search.advance(
        past: characteristic.declaration, through: characteristic.declaration, of: ReadByTypeResponse.opcode)
      guard characteristic.declaration > lastValue, characteristic.valueHandle > characteristic.declaration,
        characteristic.valueHandle <= search.end
      else {
        throw .malformedResponse(
          ReadByTypeResponse.opcode,
          reason: "the value handle of characteristic \(characteristic.declaration) is \(characteristic.valueHandle)")
      }
      lastValue = characteristic.valueHandle
      if uuid == nil || uuid == characteristic.uuid { found.append(characteristic) }
    }
    return next
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(.characteristics(found))
  }

  /// Decodes the value of a characteristic declaration (Vol 3, Part G, 3.3.1).
  private func declaration(
    _ entry: ReadByTypeResponse.AttributeData
  ) throws(GATTClientError) -> DiscoveredCharacteristic {
    var value = PacketDecoder(entry.value)
    var properties: GATTCharacteristicProperties = []
    var valueHandle = AttributeHandle.none
    var uuid = BluetoothUUID(0)
    do throws(CodecError) {
      try value.value("Characteristic Properties", &properties)
      try value.value("Characteristic Value Handle", &valueHandle)
      try value.rest("Characteristic UUID", &uuid)
    } catch {
      throw .malformedResponse(ReadByTypeResponse.opcode, reason: error.description)
    }
    return DiscoveredCharacteristic(
      declaration: entry.handle, properties: properties, valueHandle: valueHandle, uuid: uuid)
  }

  private var next: ClientStep {
    search.isComplete
      ? .finish(.characteristics(found))
      : .send(
        ReadByTypeRequest(startingHandle: search.next, endingHandle: search.end, attributeType: .characteristic))
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
    for pair in try decode(FindInformationResponse.self, response).informationData {
      try search.advance(past: pair.handle, through: pair.handle, of: FindInformationResponse.opcode)
      switch pair.uuid {
      case .primaryService, .secondaryService, .include, .characteristic: return .finish(.descriptors(found))
      default: found.append(DiscoveredDescriptor(handle: pair.handle, uuid: pair.uuid))
      }
    }
    return next
  }

  mutating func receive(_ error: ErrorResponse) throws(GATTClientError) -> ClientStep {
    guard error.code == .attributeNotFound else { throw GATTClientError(error) }
    return .finish(.descriptors(found))
  }

  private var next: ClientStep {
    search.isComplete
      ? .finish(.descriptors(found))
      : .send(FindInformationRequest(startingHandle: search.next, endingHandle: search.end))
  }
}
