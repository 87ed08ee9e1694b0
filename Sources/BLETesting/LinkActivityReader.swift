import BLEATT
import BLEHCI
import BLESMP
import BLETrace
import BLEWire

/// Reads what happens on the links of a device from its packets.
struct LinkActivityReader {
  /// The attributes of one server at present: types, and the characteristics that they belong to.
  typealias Lookup = (
    _ handle: AttributeHandle, _ isOfPeer: Bool, _ peer: DeviceAddress?
  ) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)?

  private struct LinkState {
    /// The parts of a long write, by the direction of the client.
    var parts: [HCIPacketDirection: (handle: AttributeHandle, value: [UInt8])] = [:]
    var hasPaired = false
  }

  private var reader = TraceReader()
  private var links: [ConnectionHandle: LinkState] = [:]

  /// The packets of ATT, SMP and L2CAP up to now.
  private(set) var frames = 0

  /// What the next packet shows.
  mutating func read(_ record: BTSnoopRecord, _ lookup: Lookup) -> [LinkActivity] {
    let entry = reader.anyEntry(for: record)
    switch entry.content {
    case .attribute, .security, .signalling, .data: frames += 1
    case .command, .event, .fragment, .other: break
    }
    guard let link = entry.link else { return [] }
    var state = links[link] ?? LinkState()
    defer { links[link] = state }
    return actions(of: entry, on: link, &state, lookup).filter { !$0.0.isOfGenericAttributeService }.map {
      action, isOfPeer in
      LinkActivity(
        time: .microseconds(entry.time), action: action, peer: entry.peer, isOfPeer: isOfPeer, packet: entry.number)
    }
  }

  private func actions(
    of entry: TraceEntry, on link: ConnectionHandle, _ state: inout LinkState, _ lookup: Lookup
  ) -> [(LinkAction, isOfPeer: Bool)] {
    let isOfPeer = entry.direction == .controllerToHost
    switch entry.content {
    case .event(let event): return actions(of: event, isFailure: entry.isFailure, &state).map { ($0, false) }
    case .security(let pdu):
      switch pdu {
      case .pairingRequest: state.hasPaired = true
      case .pairingFailed:
        state.hasPaired = false
        return [(.pairingFailed, isOfPeer)]
      default: break  // The others are steps of a pairing.
      }
      return []
    case .attribute(let pdu):
      let client = pdu.client(sentAs: entry.direction)
      let attribute = { (handle: AttributeHandle) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)? in
        reader.attribute(at: handle, of: link, client: client)
          ?? lookup(handle, client == .hostToController, entry.peer)
      }
      return Self.actions(of: pdu, client, &state, attribute).map { ($0, isOfPeer) }
    case .command, .signalling, .data, .fragment, .other: return []
    }
  }

  private func actions(of event: HCIEvent, isFailure: Bool, _ state: inout LinkState) -> [LinkAction] {
    switch event {
    case .leConnectionComplete, .leEnhancedConnectionComplete, .leEnhancedConnectionCompleteV2:
      state = LinkState()
      return isFailure ? [] : [.connected]
    case .disconnectionComplete(let event): return [.disconnected(event.reason)]
    case .encryptionChange, .encryptionChangeV2, .encryptionKeyRefreshComplete:
      guard let change = event.encryptionChange else { return [] }
      guard change.status == .success else { return [.pairingFailed] }
      guard change.isOn else { return [] }
      defer { state.hasPaired = false }
      return [state.hasPaired ? .paired : .encrypted]
    default: return []
    }
  }

  private static func actions(
    of pdu: ATTPDU, _ client: HCIPacketDirection, _ state: inout LinkState,
    _ attribute: (AttributeHandle) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)?
  ) -> [LinkAction] {
    func written(_ handle: AttributeHandle, _ value: [UInt8]) -> LinkAction {
      let found = attribute(handle)
      let characteristic = found?.characteristic
      guard found?.type == "2902" else { return .written(characteristic, value) }
      return (value.first ?? 0) & 3 == 0 ? .unsubscribed(characteristic) : .subscribed(characteristic)
    }
    switch pdu {
    case .readRequest(let packet): return [.read(attribute(packet.handle)?.characteristic)]
    case .writeRequest(let packet): return [written(packet.handle, Array(packet.value))]
    case .writeCommand(let packet): return [written(packet.handle, Array(packet.value))]
    case .signedWriteCommand(let packet): return [written(packet.handle, Array(packet.value))]
    case .prepareWriteRequest(let packet):
      let known = state.parts[client]
      let isNext = known?.handle == packet.handle && known?.value.count == Int(packet.valueOffset)
      let value = (isNext ? known?.value ?? [] : []) + packet.partAttributeValue
      if value.count <= ATT.maximumValueLength { state.parts[client] = (packet.handle, value) }
      return []
    case .executeWriteRequest(let packet):
      guard let parts = state.parts.removeValue(forKey: client), packet.flags != .cancel else { return [] }
      return [written(parts.handle, parts.value)]
    case .handleValueNotification(let packet):
      return [.updated(attribute(packet.handle)?.characteristic, Array(packet.value))]
    case .handleValueIndication(let packet):
      return [.updated(attribute(packet.handle)?.characteristic, Array(packet.value))]
    case .multipleHandleValueNotification(let packet):
      return packet.tuples.map { .updated(attribute($0.handle)?.characteristic, Array($0.value)) }
    case .errorResponse(let packet):
      let requests = [
        ReadRequest.opcode, ReadBlobRequest.opcode, WriteRequest.opcode, PrepareWriteRequest.opcode,
        ExecuteWriteRequest.opcode,
      ]
      guard requests.contains(packet.requestOpcode), !packet.isNormalEnd else { return [] }
      return [.refused(attribute(packet.handle)?.characteristic, packet.code)]
    default: return []
    }
  }
}

extension LinkAction {
  /// Hosts use the Generic Attribute Service by themselves: Service Changed, Client Supported Features, Database Hash.
  fileprivate var isOfGenericAttributeService: Bool {
    let services: [BluetoothUUID?] = ["2A05", "2B29", "2B2A"]
    switch self {
    case .read(let uuid), .written(let uuid, _), .subscribed(let uuid), .unsubscribed(let uuid), .updated(let uuid, _),
      .refused(let uuid, _):
      return services.contains(uuid)
    case .connected, .disconnected, .paired, .encrypted, .pairingFailed: return false
    }
  }
}
