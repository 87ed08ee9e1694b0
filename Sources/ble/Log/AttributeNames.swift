import BLEATT
import BLEAssignedNumbers
import BLEHCI
import BLEWire

/// Describes the ATT PDUs of one link, and keeps the UUIDs of handles that the discovery in the trace reveals.
///
/// A link has two servers, one in each device: the learned UUIDs belong to the direction of the requests.
struct AttributeNames {
  private struct Server {
    var uuids: [AttributeHandle: BluetoothUUID] = [:]
    /// The request without an answer: its handle or its attribute type.
    var handle: AttributeHandle?
    var type: BluetoothUUID?
  }

  /// By the direction of the client's PDUs.
  private var servers: [HCIPacketDirection: Server] = [:]

  /// Writes name and parameters of a PDU into `entry`.
  mutating func describe(_ payload: Bytes, in entry: inout TraceEntry) throws(CodecError) {
    let pdu = try ATTPDU(decoding: payload)
    entry.name = pdu.opcode.name ?? "\(pdu.opcode)"
    let isFromClient =
      switch type(of: pdu.packet).pduType {
      case .command, .request, .confirmation: true
      case .response, .notification, .indication: false
      }
    let client: HCIPacketDirection =
      isFromClient == (entry.direction == .hostToController) ? .hostToController : .controllerToHost
    var server = servers[client] ?? Server()
    defer { servers[client] = server }
    if isFromClient {
      entry.details = request(pdu.packet, &server)
    } else {
      entry.details = answer(pdu.packet, &server)
      if let error = pdu.packet as? ErrorResponse {
        // Attribute Not Found is the normal end of a discovery (Vol 3, Part G, 4.4.1).
        entry.isFailure = error.code != .attributeNotFound
      }
    }
  }

  private func request(_ packet: any ATTPacket, _ server: inout Server) -> String {
    switch packet {
    case let packet as ExchangeMTURequest: return "the client receives up to \(packet.clientRxMTU) octets"
    case let packet as ReadByGroupTypeRequest:
      server.type = packet.attributeGroupType
      return "\(title(packet.attributeGroupType)) in \(packet.startingHandle)-\(packet.endingHandle)"
    case let packet as ReadByTypeRequest:
      server.type = packet.attributeType
      return "\(title(packet.attributeType)) in \(packet.startingHandle)-\(packet.endingHandle)"
    case let packet as FindInformationRequest: return "\(packet.startingHandle)-\(packet.endingHandle)"
    case let packet as FindByTypeValueRequest:
      let wanted = BluetoothUUID(littleEndian: packet.attributeValue).map(title) ?? packet.attributeValue.hexadecimal
      return "\(wanted) in \(packet.startingHandle)-\(packet.endingHandle)"
    case let packet as ReadRequest:
      server.handle = packet.handle
      return place(packet.handle, server)
    case let packet as ReadBlobRequest:
      server.handle = packet.handle
      return "\(place(packet.handle, server)) from octet \(packet.valueOffset)"
    case let packet as WriteRequest: return value(packet.value, of: packet.handle, server)
    case let packet as WriteCommand: return value(packet.value, of: packet.handle, server)
    case let packet as SignedWriteCommand: return value(packet.value, of: packet.handle, server)
    case let packet as PrepareWriteRequest:
      return "\(place(packet.handle, server)), \(packet.partAttributeValue.count) octets at \(packet.valueOffset)"
    case let packet as ExecuteWriteRequest: return packet.flags == .cancel ? "cancel" : "write"
    default: return FieldSummary.text(of: packet)
    }
  }

  private func answer(_ packet: any ATTPacket, _ server: inout Server) -> String {
    switch packet {
    case let packet as ErrorResponse:
      let name = packet.requestOpcode.name ?? "\(packet.requestOpcode)"
      return "\(packet.code) for \(name) of \(place(packet.handle, server))"
    case let packet as ExchangeMTUResponse: return "the server receives up to \(packet.serverRxMTU) octets"
    case let packet as ReadByGroupTypeResponse:
      return packet.attributeDataList.map { group in
        let uuid = BluetoothUUID(littleEndian: group.value)
        if let type = server.type { server.uuids[group.handle] = type }
        return "\(group.handle)-\(group.endGroupHandle) \(uuid.map(title) ?? group.value.hexadecimal)"
      }.joined(separator: "; ")
    case let packet as ReadByTypeResponse: return attributes(packet, &server)
    case let packet as FindInformationResponse:
      return packet.informationData.map { pair in
        server.uuids[pair.handle] = pair.uuid
        return "\(pair.handle) \(title(pair.uuid))"
      }.joined(separator: "; ")
    case let packet as FindByTypeValueResponse:
      return packet.handlesInformationList.map { "\($0.foundAttributeHandle)-\($0.groupEndHandle)" }
        .joined(separator: "; ")
    case let packet as ReadResponse: return ValueText.text(packet.value, of: server.handle.flatMap { server.uuids[$0] })
    case let packet as ReadBlobResponse: return "\(packet.partAttributeValue.count) octets"
    case let packet as HandleValueNotification: return value(packet.value, of: packet.handle, server)
    case let packet as HandleValueIndication: return value(packet.value, of: packet.handle, server)
    case let packet as MultipleHandleValueNotification:
      return packet.tuples.map { value($0.value, of: $0.handle, server) }.joined(separator: "; ")
    case let packet as PrepareWriteResponse:
      return "\(place(packet.handle, server)), \(packet.partAttributeValue.count) octets at \(packet.valueOffset)"
    default: return FieldSummary.text(of: packet)
    }
  }

  /// The attributes of a Read By Type Response: characteristic declarations reveal the UUID of a value (Vol 3, Part G,
  /// 3.3.1).
  private func attributes(_ packet: ReadByTypeResponse, _ server: inout Server) -> String {
    packet.attributeDataList.map { attribute in
      guard server.type == "2803", attribute.value.count >= 5, let handle = attribute.value.uint16(at: 1),
        let uuid = BluetoothUUID(littleEndian: attribute.value.dropFirst(3))
      else {
        return "\(attribute.handle) \(ValueText.text(attribute.value, of: server.type))"
      }
      server.uuids[attribute.handle] = "2803"
      server.uuids[AttributeHandle(rawValue: handle)] = uuid
      return "\(AttributeHandle(rawValue: handle)) \(title(uuid))"
    }.joined(separator: "; ")
  }

  private func value(_ octets: Bytes, of handle: AttributeHandle, _ server: Server) -> String {
    "\(place(handle, server)) = \(ValueText.text(octets, of: server.uuids[handle]))"
  }

  private func place(_ handle: AttributeHandle, _ server: Server) -> String {
    server.uuids[handle].map { "\(handle) \(title($0))" } ?? "\(handle)"
  }

  private func title(_ uuid: BluetoothUUID) -> String { AssignedNames.uuid(uuid) ?? uuid.uuidString }
}
