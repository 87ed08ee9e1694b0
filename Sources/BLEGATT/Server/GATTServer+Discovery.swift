import BLEATT
import BLEWire

/// Discovery: the requests that search a range of handles (Vol 3, Part F, 3.4.3 and 3.4.4.9).
///
/// The requests are decoded as declared packets. The responses are encoded in place: `make bench` measures them.
extension GATTServer {
  /// The range of handles of a request; nil if it was rejected, because it is empty or begins with 0x0000 (Vol 3, Part
  /// F, 3.4.3.1).
  func range(
    _ first: AttributeHandle, _ last: AttributeHandle, for opcode: ATTOpcode, into output: inout Output
  ) -> ClosedRange<AttributeHandle>? {
    guard first != .none, first <= last else {
      output.reject(opcode, handle: first, .invalidHandle)
      return nil
    }
    return first...last
  }

  /// Find Information (Vol 3, Part F, 3.4.3.1). The list ends before a type whose size differs from that of the first.
  mutating func findInformation(_ pdu: Span<UInt8>, database: AttributeDatabase, into output: inout Output) {
    guard let request: FindInformationRequest = decode(pdu, into: &output),
      let range = range(request.startingHandle, request.endingHandle, for: .findInformationRequest, into: &output)
    else { return }
    var place = database.firstPlace(from: range.lowerBound)
    guard place < database.attributes.count, database.attributes[place].handle <= range.upperBound else {
      return output.reject(.findInformationRequest, handle: range.lowerBound, .attributeNotFound)
    }
    let hasShortType = database.attributes[place].hasShortType
    let format = hasShortType ? FindInformationResponse.Format.uuid16 : .uuid128
    var capacity = (mtu - 2) / (hasShortType ? 4 : 18)
    output.pdus.append { buffer in
      buffer.append(ATTOpcode.findInformationResponse.rawValue)
      buffer.append(format.rawValue)
      while capacity > 0, place < database.attributes.count {
        let attribute = database.attributes[place]
        guard attribute.handle <= range.upperBound, attribute.hasShortType == hasShortType else { break }
        buffer.append(attribute.handle)
        database.uuid(of: attribute).append(to: &buffer)
        place += 1
        capacity -= 1
      }
    }
  }

  /// Read By Group Type (Vol 3, Part F, 3.4.4.9). The list ends before a UUID whose size differs from that of the
  /// first. The group types are Primary Service and Secondary Service (Vol 3, Part G, 2.5.3).
  mutating func readByGroupType(_ pdu: Span<UInt8>, database: AttributeDatabase, into output: inout Output) {
    guard let request: ReadByGroupTypeRequest = decode(pdu, into: &output),
      let range = range(request.startingHandle, request.endingHandle, for: .readByGroupTypeRequest, into: &output)
    else { return }
    let isPrimary = request.attributeGroupType == .primaryService
    guard isPrimary || request.attributeGroupType == .secondaryService else {
      return output.reject(.readByGroupTypeRequest, handle: range.lowerBound, .unsupportedGroupType)
    }
    var next = database.firstService(from: range.lowerBound)
    let services = database.services
    while next < services.count, services[next].isPrimary != isPrimary { next += 1 }
    guard next < services.count, services[next].start <= range.upperBound else {
      return output.reject(.readByGroupTypeRequest, handle: range.lowerBound, .attributeNotFound)
    }
    let size = services[next].uuidSize
    let length = 4 + Int(size)
    var capacity = (mtu - 2) / length
    output.pdus.append { buffer in
      buffer.append(ATTOpcode.readByGroupTypeResponse.rawValue)
      buffer.append(UInt8(truncatingIfNeeded: length))
      while capacity > 0, next < services.count, services[next].start <= range.upperBound {
        let service = services[next]
        next += 1
        guard service.isPrimary == isPrimary else { continue }
        guard service.uuidSize == size else { break }
        buffer.append(service.start)
        buffer.append(service.end)
        if size == 2 {
          buffer.append(littleEndian: UInt16(truncatingIfNeeded: service.uuid >> 96))
        } else {
          buffer.append(littleEndian: service.uuid)
        }
        capacity -= 1
      }
    }
  }

  /// Find By Type Value (Vol 3, Part F, 3.4.3.3): the groups whose declaration has this type and this value. Attributes
  /// that the client may not read are omitted.
  mutating func findByTypeValue(
    _ pdu: Span<UInt8>, security: SecurityState, database: inout AttributeDatabase, into output: inout Output
  ) {
    guard let request: FindByTypeValueRequest = decode(pdu, into: &output),
      let range = range(request.startingHandle, request.endingHandle, for: .findByTypeValueRequest, into: &output)
    else { return }
    database.updateIndex()
    let type = BluetoothUUID(request.attributeType)
    let capacity = (mtu - 1) / 4
    let isFound = output.pdus.appendIf { buffer in
      let start = buffer.count
      buffer.append(ATTOpcode.findByTypeValueResponse.rawValue)
      if type == .primaryService || type == .secondaryService {
        guard let uuid = BluetoothUUID(attributeValue: request.attributeValue) else { return false }
        let search = GroupSearch(range: range, capacity: capacity, database: database)
        search.appendServices(uuid, isPrimary: type == .primaryService, to: &buffer)
      } else {
        let search = GroupSearch(range: range, capacity: capacity, database: database)
        search.appendGroups(ofType: type.value, to: &buffer) { attribute in
          attribute.kind != .dynamic && attribute.read.error(for: security, otherwise: .readNotPermitted) == nil
            && value(of: attribute, in: database, equals: request.attributeValue)
        }
      }
      return buffer.count > start + 1
    }
    if !isFound { output.reject(.findByTypeValueRequest, handle: range.lowerBound, .attributeNotFound) }
  }

  private func value(of attribute: AttributeEntry, in database: AttributeDatabase, equals value: Bytes) -> Bool {
    guard valueLength(of: attribute) == value.count else { return false }
    var octets: [UInt8] = []
    appendValue(of: attribute, in: database, from: 0, count: value.count, to: &octets)
    return octets.elementsEqual(value)
  }
}

/// A search for groups of attributes: a range of handles, and the number of groups that fit in the response.
private struct GroupSearch {
  let range: ClosedRange<AttributeHandle>
  let capacity: Int
  let database: AttributeDatabase

  /// Appends the handles of the services with this UUID.
  func appendServices(_ uuid: BluetoothUUID, isPrimary: Bool, to buffer: inout [UInt8]) {
    var capacity = capacity
    var entry = database.firstEntry(ofService: uuid, from: range.lowerBound)
    while capacity > 0, entry < database.index.servicesByUUID.count {
      let service = database.services[Int(database.index.servicesByUUID[entry])]
      entry += 1
      guard service.uuid == uuid.value, Int(service.uuidSize) == uuid.size.rawValue,
        service.start <= range.upperBound
      else { break }
      guard service.isPrimary == isPrimary else { continue }
      buffer.append(service.start)
      buffer.append(service.end)
      capacity -= 1
    }
  }

  /// Appends the handles of the groups that begin with an attribute of this type and for which `isFound` returns true.
  func appendGroups(
    ofType type: UInt128, to buffer: inout [UInt8], where isFound: (AttributeEntry) -> Bool
  ) {
    var capacity = capacity
    var entry = database.firstEntry(ofType: type, fromPlace: database.firstPlace(from: range.lowerBound))
    while capacity > 0, entry < database.index.byType.count {
      let place = Int(database.index.byType[entry])
      let attribute = database.attributes[place]
      guard database.type(of: attribute) == type, attribute.handle <= range.upperBound else { break }
      entry += 1
      guard isFound(attribute) else { continue }
      buffer.append(attribute.handle)
      buffer.append(database.groupEnd(of: place))
      capacity -= 1
    }
  }
}
