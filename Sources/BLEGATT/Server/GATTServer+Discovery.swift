import BLEATT
import BLEWire

/// Requests that search a range of handles: what is there (Vol 3, Part F, 3.4.3 and 3.4.4.9).
extension GATTServer {
  /// Reads the two handles at the front; answers a malformed or empty range (Vol 3, Part F, 3.4.3.1).
  func handleRange(_ pdu: Span<UInt8>, _ output: inout GATTServer.Output) -> ClosedRange<AttributeHandle>? {
    guard let first = pdu.uint16(at: 1), let last = pdu.uint16(at: 3) else {
      output.refuse(pdu[0], .none, .invalidPDU)
      return nil
    }
    guard first != 0, first <= last else {
      output.refuse(pdu[0], AttributeHandle(first), .invalidHandle)
      return nil
    }
    return AttributeHandle(first)...AttributeHandle(last)
  }

  /// Vol 3, Part F, 3.4.3.1: handles and types, as long as the types have the size of the first.
  func findInformation(_ pdu: Span<UInt8>, _ database: AttributeDatabase, _ output: inout GATTServer.Output) {
    guard pdu.count == 5 else { return output.refuse(pdu[0], .none, .invalidPDU) }
    guard let range = handleRange(pdu, &output) else { return }
    var place = database.firstPlace(from: range.lowerBound)
    guard place < database.attributes.count, database.attributes[place].handle <= range.upperBound else {
      return output.refuse(pdu[0], range.lowerBound, .attributeNotFound)
    }
    let hasShortType = database.attributes[place].hasShortType
    var room = (mtu - 2) / (hasShortType ? 4 : 18)
    output.pdus.append { buffer in
      buffer.append(ATTOpcode.findInformationResponse.rawValue)
      buffer.append(hasShortType ? UInt8(0x01) : UInt8(0x02))
      while room > 0, place < database.attributes.count {
        let attribute = database.attributes[place]
        guard attribute.handle <= range.upperBound, attribute.hasShortType == hasShortType else { break }
        buffer.append(attribute.handle)
        buffer.append(typeOf: attribute)
        place += 1
        room -= 1
      }
    }
  }

  /// Vol 3, Part F, 3.4.4.9: services with their UUIDs, as long as those have the size of the first. Other types group
  /// nothing that this request may ask for (Vol 3, Part G, 2.5.3).
  func readByGroupType(_ pdu: Span<UInt8>, _ database: AttributeDatabase, _ output: inout GATTServer.Output) {
    guard pdu.count == 7 || pdu.count == 21 else { return output.refuse(pdu[0], .none, .invalidPDU) }
    guard let range = handleRange(pdu, &output) else { return }
    let type = pdu.attributeType(at: 5)
    let isPrimary = type == AttributeType.primaryService.value
    guard isPrimary || type == AttributeType.secondaryService.value else {
      return output.refuse(pdu[0], range.lowerBound, .unsupportedGroupType)
    }
    var next = database.firstService(from: range.lowerBound)
    let services = database.services
    while next < services.count, services[next].isPrimary != isPrimary { next += 1 }
    guard next < services.count, services[next].start <= range.upperBound else {
      return output.refuse(pdu[0], range.lowerBound, .attributeNotFound)
    }
    let size = services[next].uuidSize
    let length = 4 + Int(size)
    var room = (mtu - 2) / length
    output.pdus.append { buffer in
      buffer.append(ATTOpcode.readByGroupTypeResponse.rawValue)
      buffer.append(UInt8(truncatingIfNeeded: length))
      while room > 0, next < services.count, services[next].start <= range.upperBound {
        let service = services[next]
        next += 1
        guard service.isPrimary == isPrimary else { continue }
        guard service.uuidSize == size else { break }
        buffer.append(service.start)
        buffer.append(service.end)
        if size == 2 {
          buffer.append(UInt8(truncatingIfNeeded: service.uuid >> 96))
          buffer.append(UInt8(truncatingIfNeeded: service.uuid >> 104))
        } else {
          buffer.append(littleEndian: service.uuid)
        }
        room -= 1
      }
    }
  }

  /// Vol 3, Part F, 3.4.3.3: the groups whose declaration has this type and exactly these octets as its value.
  /// Attributes that this client may not read are passed over.
  func findByTypeValue(
    _ pdu: Span<UInt8>, _ security: SecurityState, _ database: inout AttributeDatabase,
    _ output: inout GATTServer.Output
  ) {
    guard pdu.count >= 7, let shortType = pdu.uint16(at: 5) else {
      return output.refuse(pdu[0], .none, .invalidPDU)
    }
    guard let range = handleRange(pdu, &output) else { return }
    database.bringIndexUpToDate()
    let type = BluetoothUUID(shortType)
    let value = pdu.extracting(7...)
    let room = (mtu - 1) / 4
    let found = output.pdus.appendIf { buffer in
      let start = buffer.count
      buffer.append(ATTOpcode.findByTypeValueResponse.rawValue)
      if type == AttributeType.primaryService || type == AttributeType.secondaryService {
        guard value.count == 2 || value.count == 16 else { return false }
        let isPrimary = type == AttributeType.primaryService
        appendServices(value.uuid, isPrimary: isPrimary, range, room, database, &buffer)
      } else {
        appendGroups(type.value, value, range, room, security, database, &buffer)
      }
      return buffer.count > start + 1
    }
    if !found { output.refuse(pdu[0], range.lowerBound, .attributeNotFound) }
  }

  private func appendServices(
    _ uuid: BluetoothUUID, isPrimary: Bool, _ range: ClosedRange<AttributeHandle>, _ room: Int,
    _ database: AttributeDatabase, _ buffer: inout [UInt8]
  ) {
    var room = room
    var entry = database.firstEntry(ofService: uuid, from: range.lowerBound)
    while room > 0, entry < database.index.servicesByUUID.count {
      let service = database.services[Int(database.index.servicesByUUID[entry])]
      entry += 1
      guard service.uuid == uuid.value, Int(service.uuidSize) == uuid.size.rawValue,
        service.start <= range.upperBound
      else { break }
      guard service.isPrimary == isPrimary else { continue }
      buffer.append(service.start)
      buffer.append(service.end)
      room -= 1
    }
  }

  private func appendGroups(
    _ type: UInt128, _ value: Span<UInt8>, _ range: ClosedRange<AttributeHandle>, _ room: Int,
    _ security: SecurityState, _ database: AttributeDatabase, _ buffer: inout [UInt8]
  ) {
    var room = room
    var entry = database.firstEntry(ofType: type, fromPlace: database.firstPlace(from: range.lowerBound))
    while room > 0, entry < database.index.byType.count {
      let place = Int(database.index.byType[entry])
      let attribute = database.attributes[place]
      guard attribute.type == type, attribute.handle <= range.upperBound else { break }
      entry += 1
      guard attribute.kind != .dynamic, attribute.read.refusal(for: security, otherwise: .readNotPermitted) == nil,
        hasValue(attribute, database, equalTo: value)
      else { continue }
      buffer.append(attribute.handle)
      buffer.append(database.groupEnd(of: place))
      room -= 1
    }
  }

  private func hasValue(
    _ attribute: AttributeEntry, _ database: AttributeDatabase, equalTo value: Span<UInt8>
  ) -> Bool {
    guard valueLength(of: attribute, database) == value.count else { return false }
    var own: [UInt8] = []
    appendValue(of: attribute, database, from: 0, count: value.count, to: &own)
    return own.indices.allSatisfy { own[$0] == value[$0] }
  }
}

extension [UInt8] {
  /// Appends the type of `attribute` in the size it travels in.
  @inline(__always)
  fileprivate mutating func append(typeOf attribute: AttributeEntry) {
    if attribute.hasShortType {
      append(UInt8(truncatingIfNeeded: attribute.type >> 96))
      append(UInt8(truncatingIfNeeded: attribute.type >> 104))
    } else {
      append(littleEndian: attribute.type)
    }
  }
}

extension Span<UInt8> {
  /// The UUID that fills this span of 2 or 16 octets.
  var uuid: BluetoothUUID {
    if count == 2 { return BluetoothUUID(UInt16(self[0]) | UInt16(self[1]) << 8) }
    return BluetoothUUID(uuid128: attributeType(at: 0))
  }

  /// The UUID of 2 or 16 octets from `offset` to the end, as a 128-bit number.
  func attributeType(at offset: Int) -> UInt128 {
    if count == offset + 2, let short = uint16(at: offset) { return BluetoothUUID(short).value }
    var number: UInt128 = 0
    var index = count
    while index > offset {
      index -= 1
      number = number << 8 | UInt128(self[index])
    }
    return number
  }
}
