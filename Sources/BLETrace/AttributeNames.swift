import BLEATT
import BLEAssignedNumbers
import BLEHCI
import BLEWire

/// Describes the ATT PDUs of one link, and keeps the UUIDs of handles that the discovery in the trace reveals.
///
/// A link has two servers, one in each device: the learned UUIDs belong to the direction of the requests.
struct AttributeNames {
  private struct Server {
    var database = SeenDatabase()
    /// The request without an answer: its handle, its attribute type, the type of service it looks for, its offset.
    var handle: AttributeHandle?
    var type: BluetoothUUID?
    var service: BluetoothUUID?
    var offset: UInt16 = 0
  }

  /// By the direction of the client's PDUs.
  private var servers: [HCIPacketDirection: Server] = [:]

  /// The server of the other device; that of this host if only that one was discovered; nil without a discovery.
  var discovered: SeenDatabase? {
    [.hostToController, .controllerToHost].lazy.compactMap { servers[$0]?.database }.first { $0.hasServices }
  }

  /// The type of an attribute, and the characteristic that it belongs to.
  ///
  /// - Parameter client: the direction of the requests.
  func attribute(
    at handle: AttributeHandle, client: HCIPacketDirection
  ) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)? {
    servers[client]?.database.attribute(at: handle)
  }

  /// The types of the attributes that a client with this direction of its PDUs has seen.
  func types(seenFrom client: HCIPacketDirection) -> [AttributeHandle: BluetoothUUID] {
    servers[client]?.database.uuids ?? [:]
  }

  /// The device of ``discovered``.
  package var device: SeenDevice? {
    guard var device = discovered?.device else { return nil }
    device.isThisHost = servers[.hostToController]?.database.hasServices != true
    return device
  }

  /// Writes name and parameters of a PDU into `entry`.
  mutating func describe(_ payload: Bytes, in entry: inout TraceEntry) throws(CodecError) {
    let pdu = try ATTPDU(decoding: payload)
    entry.content = .attribute(pdu)
    entry.name = "\(pdu.name)"
    let client = pdu.client(sentAs: entry.direction)
    var server = servers[client] ?? Server()
    defer { servers[client] = server }
    entry.details = details(pdu, &server, in: &entry)
  }

  private func details(_ pdu: ATTPDU, _ server: inout Server, in entry: inout TraceEntry) -> String {
    switch pdu {
    case .exchangeMTURequest(let packet): return "the client receives up to \(packet.clientRxMTU) octets"
    case .readByGroupTypeRequest(let packet):
      server.type = packet.attributeGroupType
      return "\(title(packet.attributeGroupType)) in \(packet.startingHandle)-\(packet.endingHandle)"
    case .readByTypeRequest(let packet):
      server.type = packet.attributeType
      return "\(title(packet.attributeType)) in \(packet.startingHandle)-\(packet.endingHandle)"
    case .findInformationRequest(let packet): return "\(packet.startingHandle)-\(packet.endingHandle)"
    case .findByTypeValueRequest(let packet):
      server.type = BluetoothUUID(packet.attributeType)
      server.service = BluetoothUUID(littleEndian: packet.attributeValue)
      let wanted = server.service.map(title) ?? packet.attributeValue.hexadecimal
      return "\(wanted) in \(packet.startingHandle)-\(packet.endingHandle)"
    case .readRequest(let packet):
      server.handle = packet.handle
      entry.attribute = place(packet.handle, server)
      return place(packet.handle, server)
    case .readBlobRequest(let packet):
      (server.handle, server.offset) = (packet.handle, packet.valueOffset)
      return "\(place(packet.handle, server)) from octet \(packet.valueOffset)"
    case .writeRequest(let packet):
      entry.attribute = place(packet.handle, server)
      return value(packet.value, of: packet.handle, server)
    case .writeCommand(let packet): return value(packet.value, of: packet.handle, server)
    case .signedWriteCommand(let packet): return value(packet.value, of: packet.handle, server)
    case .prepareWriteRequest(let packet):
      return "\(place(packet.handle, server)), \(packet.partAttributeValue.count) octets at \(packet.valueOffset)"
    case .executeWriteRequest(let packet): return packet.flags == .cancel ? "cancel" : "write"
    case .errorResponse(let packet):
      // Attribute Not Found is the normal end of a discovery (Vol 3, Part G, 4.4.1).
      entry.isFailure = packet.code != .attributeNotFound
      server.database.addRefusal(packet.code, of: packet.handle)
      entry.attribute = place(packet.handle, server)
      let name = packet.requestOpcode.name ?? "\(packet.requestOpcode)"
      return "\(packet.code) for \(name) of \(place(packet.handle, server))"
    case .exchangeMTUResponse(let packet): return "the server receives up to \(packet.serverRxMTU) octets"
    case .readByGroupTypeResponse(let packet):
      return packet.attributeDataList.map { group in
        let uuid = BluetoothUUID(littleEndian: group.value)
        if let type = server.type {
          server.database.addService(uuid, at: group.handle, end: group.endGroupHandle, type: type)
        }
        return "\(group.handle)-\(group.endGroupHandle) \(uuid.map(title) ?? group.value.hexadecimal)"
      }.joined(separator: "; ")
    case .readByTypeResponse(let packet): return attributes(packet, &server)
    case .findInformationResponse(let packet):
      return packet.informationData.map { pair in
        server.database.addAttribute(pair.uuid, at: pair.handle)
        return "\(pair.handle) \(title(pair.uuid))"
      }.joined(separator: "; ")
    case .findByTypeValueResponse(let packet):
      return packet.handlesInformationList.map { found in
        if let type = server.type {
          server.database.addService(
            server.service, at: found.foundAttributeHandle, end: found.groupEndHandle, type: type)
        }
        return "\(found.foundAttributeHandle)-\(found.groupEndHandle)"
      }.joined(separator: "; ")
    case .readResponse(let packet):
      if let handle = server.handle { server.database.addValue(packet.value, of: handle) }
      return ValueText.text(packet.value, of: server.handle.flatMap { server.database.uuids[$0] })
    case .readBlobResponse(let packet):
      if let handle = server.handle {
        server.database.addPart(packet.partAttributeValue, of: handle, at: server.offset)
      }
      return "\(packet.partAttributeValue.count) octets"
    case .handleValueNotification(let packet): return sent(packet.value, of: packet.handle, &server)
    case .handleValueIndication(let packet): return sent(packet.value, of: packet.handle, &server)
    case .multipleHandleValueNotification(let packet):
      return packet.tuples.map { sent($0.value, of: $0.handle, &server) }.joined(separator: "; ")
    case .prepareWriteResponse(let packet):
      return "\(place(packet.handle, server)), \(packet.partAttributeValue.count) octets at \(packet.valueOffset)"
    case .readMultipleRequest, .readMultipleVariableRequest, .handleValueConfirmation, .readMultipleResponse,
      .readMultipleVariableResponse, .writeResponse, .executeWriteResponse:
      return FieldSummary.text(of: pdu)
    }
  }

  /// The attributes of a Read By Type Response: characteristic declarations reveal the UUID of a value (Vol 3, Part G,
  /// 3.3.1).
  private func attributes(_ packet: ReadByTypeResponse, _ server: inout Server) -> String {
    packet.attributeDataList.map { attribute in
      guard server.type == "2803", attribute.value.count >= 5, let handle = attribute.value.uint16(at: 1),
        let uuid = BluetoothUUID(littleEndian: attribute.value.dropFirst(3))
      else {
        if server.type == "2802" {
          server.database.addInclude(attribute.value, at: attribute.handle)
        } else {
          server.database.addValue(attribute.value, of: attribute.handle)
        }
        return "\(attribute.handle) \(ValueText.text(attribute.value, of: server.type))"
      }
      server.database.addCharacteristic(
        uuid, at: AttributeHandle(rawValue: handle), properties: attribute.value.first ?? 0,
        declaration: attribute.handle)
      return "\(AttributeHandle(rawValue: handle)) \(title(uuid))"
    }.joined(separator: "; ")
  }

  private func sent(_ octets: Bytes, of handle: AttributeHandle, _ server: inout Server) -> String {
    server.database.addValue(octets, of: handle)
    return value(octets, of: handle, server)
  }

  private func value(_ octets: Bytes, of handle: AttributeHandle, _ server: Server) -> String {
    "\(place(handle, server)) = \(ValueText.text(octets, of: server.database.uuids[handle]))"
  }

  private func place(_ handle: AttributeHandle, _ server: Server) -> String {
    server.database.uuids[handle].map { "\(handle) \(title($0))" } ?? "\(handle)"
  }

  private func title(_ uuid: BluetoothUUID) -> String { AssignedNames.uuid(uuid) ?? uuid.uuidString }
}
