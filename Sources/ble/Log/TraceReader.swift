import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// Turns the packets of a trace into entries: it decodes HCI, reassembles L2CAP frames and keeps what it has learned
/// about each link.
struct TraceReader {
  private struct LinkState {
    var peer: DeviceAddress?
    var fragments: [HCIPacketDirection: Reassembler] = [:]
    var attributes = AttributeNames()
    var channels: [ChannelID: SPSM] = [:]
  }

  private var links: [ConnectionHandle: LinkState] = [:]
  private var firstTime: Int64?

  init() {}

  /// The entry of the next record; nil for a fragment of a frame that is not complete.
  mutating func entry(for record: BTSnoopRecord) -> TraceEntry? {
    let start = firstTime ?? record.microseconds
    firstTime = start
    var entry = TraceEntry(
      time: record.microseconds &- start, direction: record.direction, layer: .hci, name: "", details: "")
    guard record.packet.count == record.originalLength else {
      return entry.malformed("the capture has \(record.packet.count) of \(record.originalLength) octets of a packet")
    }
    do throws(CodecError) {
      switch try HCIPacket(decoding: record.packet) {
      case .command(let packet): try describe(packet, in: &entry)
      case .event(let packet): try describe(packet, in: &entry)
      case .aclData(let packet): return try self.entry(for: packet, entry)
      case .synchronousData: entry.name = "Synchronous data"
      case .isoData: entry.name = "Isochronous data"
      }
    } catch {
      return entry.malformed("\(error): \(record.packet.hexadecimal)")
    }
    return entry
  }
}

// MARK: - HCI

extension TraceReader {
  private mutating func describe(_ packet: HCICommandPacket, in entry: inout TraceEntry) throws(CodecError) {
    entry.name = packet.opcode.name ?? "\(packet.opcode)"
    guard let command = try packet.decoded() else {
      entry.details = packet.parameters.hexadecimal
      return
    }
    entry.isRoutine = packet.opcode.group == Self.informationalParameters || Self.setUp.contains(packet.opcode)
    entry.details = Self.commandsWithKeys.contains(packet.opcode) ? "with a key" : FieldSummary.text(of: command)
    if let command = command as? any LinkCommand { entry.link = command.connectionHandle }
    entry.peer = entry.link.flatMap { links[$0]?.peer }
  }

  /// The group of the commands that read properties of the controller (Vol 4, Part E, 7.4).
  private static let informationalParameters: UInt8 = 0x04

  /// Other commands with which a host sets up a controller each time it starts.
  private static let setUp: Set<HCIOpcode> = [
    .reset, .setEventMask, .setEventMaskPage2, .leSetEventMask, .readLEHostSupport, .writeLEHostSupport,
    .hostBufferSize,
    .setControllerToHostFlowControl, .leReadBufferSize, .leReadBufferSizeV2, .leReadLocalSupportedFeatures,
    .leReadSupportedStates, .leReadFilterAcceptListSize, .leClearFilterAcceptList, .leReadResolvingListSize,
    .leClearResolvingList, .leAddDeviceToResolvingList, .leSetPrivacyMode, .leSetAddressResolutionEnable,
    .leSetResolvablePrivateAddressTimeout, .leReadMaximumDataLength, .leReadSuggestedDefaultDataLength,
    .leWriteSuggestedDefaultDataLength, .leReadNumberOfSupportedAdvertisingSets, .leReadMaximumAdvertisingDataLength,
    .leReadTransmitPower, .leClearAdvertisingSets, .leSetDefaultPHY, .leSetHostFeature, .leRand,
  ]

  /// Commands whose parameters have keys, which are not shown (Vol 4, Part E, 7.8.22 to 7.8.38).
  private static let commandsWithKeys: Set<HCIOpcode> = [
    .leEncrypt, .leEnableEncryption, .leLongTermKeyRequestReply, .leAddDeviceToResolvingList,
  ]

  private mutating func describe(_ packet: HCIEventPacket, in entry: inout TraceEntry) throws(CodecError) {
    let event = try HCIEvent(packet)
    guard let parameters = event.parameters else {
      entry.name = "\(event.eventCode)"
      entry.details = packet.parameters.hexadecimal
      return
    }
    entry.name = "\(type(of: parameters).name)"
    entry.details = FieldSummary.text(of: parameters)
    switch parameters {
    case let event as HCI.CommandComplete: try describe(event, in: &entry)
    case let event as HCI.CommandStatus:
      entry.name = "Command Status of \(event.opcode.name ?? "\(event.opcode)")"
      report(event.status, in: &entry)
      entry.isRoutine = event.status == .success
    case is HCI.NumberOfCompletedPackets: entry.isRoutine = true
    case is HCI.LEGenerateDHKeyComplete: entry.details = "with a key"
    case let event as HCI.LEConnectionComplete:
      open(event.connectionHandle, event.status, event.role, event.peerAddress, event.connectionInterval, in: &entry)
    case let event as HCI.LEEnhancedConnectionComplete: open(event, in: &entry)
    case let event as HCI.LEEnhancedConnectionCompleteV2: open(event.connection, in: &entry)
    case let event as HCI.DisconnectionComplete:
      entry.link = event.connectionHandle
      entry.peer = links[event.connectionHandle]?.peer
      entry.details = "\(entry.peer.map { "\($0), " } ?? "")reason: \(event.reason)"
      // The link is kept: packets that the host sent before it received the event can follow.
      if event.status != .success { report(event.status, in: &entry) }
    case let event as HCI.EncryptionChange:
      entry.link = event.connectionHandle
      report(event.status, in: &entry)
    case let event as HCI.LEAdvertisingReport:
      entry.details = event.reports.map { "\($0.address) \($0.rssi) dBm, \(AdvertisementText.line($0.data))" }
        .joined(separator: "; ")
    case let event as HCI.LEExtendedAdvertisingReport:
      entry.details = event.reports.map { "\($0.address) \($0.rssi) dBm, \(AdvertisementText.line($0.data))" }
        .joined(separator: "; ")
    default: break
    }
  }

  private func describe(_ event: HCI.CommandComplete, in entry: inout TraceEntry) throws(CodecError) {
    entry.name = "Command Complete of \(event.opcode.name ?? "\(event.opcode)")"
    let answer = try event.decodedResponse()
    entry.details =
      event.opcode == .leEncrypt
      ? "with a key" : answer.map { FieldSummary.text(of: $0) } ?? event.returnParameters.hexadecimal
    // Every answer begins with the status (Vol 4, Part E, 7.7.14), except that of a vendor's command.
    let status = HCIErrorCode(rawValue: event.returnParameters.first ?? 0)
    if answer != nil { report(status, in: &entry, keepingDetails: true) }
    entry.isRoutine = status == .success
  }

  private mutating func open(_ event: HCI.LEEnhancedConnectionComplete, in entry: inout TraceEntry) {
    open(event.connectionHandle, event.status, event.role, event.peerAddress, event.connectionInterval, in: &entry)
  }

  private mutating func open(
    _ handle: ConnectionHandle, _ status: HCIErrorCode, _ role: HCI.Role, _ address: DeviceAddress, _ interval: UInt16,
    in entry: inout TraceEntry
  ) {
    guard status == .success else { return report(status, in: &entry) }
    links[handle] = LinkState(peer: address)
    entry.link = handle
    entry.peer = address
    let milliseconds = Double(interval) * 1.25
    entry.details = "\(address), this host is the \(role), interval \(milliseconds) ms, handle \(handle)"
  }

  private func report(_ status: HCIErrorCode, in entry: inout TraceEntry, keepingDetails: Bool = false) {
    entry.isFailure = status != .success
    if entry.isFailure || !keepingDetails { entry.details = "\(status)" }
  }
}

// MARK: - L2CAP and above

extension TraceReader {
  private mutating func entry(
    for packet: HCIACLDataPacket, _ template: TraceEntry
  ) throws(CodecError) -> TraceEntry? {
    var entry = template
    let handle = packet.connectionHandle
    var link = links[handle] ?? LinkState()
    defer { links[handle] = link }
    (entry.link, entry.peer, entry.layer) = (handle, link.peer, .l2cap)
    let outcome = link.fragments[entry.direction, default: Reassembler()]
      .receive(packet.data.span, packetBoundary: UInt8(packet.packetBoundaryFlag.rawValue))
    if let drop = outcome.dropped { return entry.malformed("fragment dropped: \(drop)") }
    switch outcome.frame {
    case nil: return nil
    case .inFragment(let channel, let payload):
      let start = packet.data.startIndex
      try describe(packet.data[start + payload.lowerBound..<start + payload.upperBound], on: channel, &link, &entry)
    case .assembled(let channel):
      let frame = link.fragments[entry.direction]?.takeFrame() ?? []
      try describe(frame.dropFirst(BasicFrame.headerLength), on: channel, &link, &entry)
    }
    return entry
  }

  private func describe(
    _ payload: Bytes, on channel: ChannelID, _ link: inout LinkState, _ entry: inout TraceEntry
  ) throws(CodecError) {
    switch channel {
    case .attributeProtocol:
      entry.layer = .att
      try link.attributes.describe(payload, in: &entry)
    case .securityManager:
      entry.layer = .smp
      let pdu = try SMPPDU(decoding: payload)
      entry.name = pdu.code.name ?? "\(pdu.code)"
      // Keys and the values that they follow from are not shown.
      if let failure = pdu.packet as? PairingFailed {
        (entry.details, entry.isFailure) = ("\(failure.reason)", true)
      } else if pdu.packet is PairingRequest || pdu.packet is PairingResponse || pdu.packet is SecurityRequest {
        entry.details = FieldSummary.text(of: pdu.packet)
      }
    case .signalling:
      let pdu = try SignallingPDU(decoding: payload)
      entry.name = pdu.command.code.name ?? "\(pdu.command.code)"
      entry.details = pdu.command.packet.map { FieldSummary.text(of: $0) } ?? Bytes(pdu.command.data).hexadecimal
      entry.isRoutine = pdu.command.packet is FlowControlCredit
      entry.isFailure = pdu.command.packet is CommandReject
    default:
      entry.name = "Data"
      entry.details = "\(payload.count) octets on channel \(channel)"
    }
  }
}

extension TraceEntry {
  fileprivate func malformed(_ text: String) -> TraceEntry {
    var entry = self
    entry.name = "Malformed packet"
    entry.details = text
    entry.isFailure = true
    return entry
  }
}
