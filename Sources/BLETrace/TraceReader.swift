package import BLEATT
import BLEGAP
package import BLEHCI
import BLEL2CAP
import BLESMP
package import BLEWire
import ToolCore

/// Turns the packets of a trace into entries: it decodes HCI, reassembles L2CAP frames and keeps what it has learned
/// about each link.
package struct TraceReader {
  private struct LinkState {
    var peer: DeviceAddress?
    var fragments: [HCIPacketDirection: Reassembler] = [:]
    var attributes = AttributeNames()
    var channels: [ChannelID: SPSM] = [:]
  }

  private struct Advertiser {
    var name: String?
    var appearance: UInt16?
    /// In the order of the trace.
    var services: [BluetoothUUID] = []
  }

  /// The devices whose attributes are known after their link has ended, and those whose advertisements are.
  package static let deviceLimit = 256
  /// The advertised services that are kept of a device.
  private static let advertisedServices = 256

  private var links: [ConnectionHandle: LinkState] = [:]
  /// The last link of each device that has ended. It is kept, because packets of it can follow.
  private var ended: [DeviceAddress: ConnectionHandle] = [:]
  private var attributes: [DeviceAddress: AttributeNames] = [:]
  private var advertisers: [DeviceAddress: Advertiser] = [:]
  private var trains = TraceTrains()
  private var firstTime: Int64?
  private var count = 0

  package init() {}

  /// The devices whose services the trace shows, by the links, and their addresses if the trace has them.
  package var devices: [(link: ConnectionHandle?, address: DeviceAddress?, device: SeenDevice)] {
    let current = links.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { handle, link in
      link.attributes.device.map { (link: Optional(handle), address: link.peer, device: $0) }
    }
    let connected = Set(current.compactMap { $0.address })
    let before = attributes.filter { !connected.contains($0.key) }.sorted { $0.key.word < $1.key.word }
      .compactMap { address, names in
        names.device.map { (link: ConnectionHandle?.none, address: Optional(address), device: $0) }
      }
    return (current + before).map { link, address, device in
      var device = device
      if let advertiser = address.flatMap({ advertisers[$0] }) {
        (device.name, device.appearance) = (advertiser.name, advertiser.appearance)
        device.advertised = advertiser.services
      }
      return (link, address, device)
    }
  }

  /// The type of an attribute of a link, and the characteristic that it belongs to; nil if the entries up to now do not
  /// have its discovery.
  ///
  /// - Parameter client: the direction of the requests.
  package func attribute(
    at handle: AttributeHandle, of link: ConnectionHandle, client: HCIPacketDirection
  ) -> (type: BluetoothUUID, characteristic: BluetoothUUID?)? {
    links[link]?.attributes.attribute(at: handle, client: client)
  }

  /// The types of the attributes that the client of a link has seen, whose PDUs have this direction.
  func attributeTypes(
    on link: ConnectionHandle, client: HCIPacketDirection
  ) -> [AttributeHandle: BluetoothUUID] {
    links[link]?.attributes.types(seenFrom: client) ?? [:]
  }

  /// The entry of the next record; nil for a fragment of a frame that is not complete.
  package mutating func entry(for record: BTSnoopRecord) -> TraceEntry? {
    let entry = anyEntry(for: record)
    if case .fragment = entry.content { return nil }
    return entry
  }

  /// The entry of the next record, which can be a fragment of a frame that is not complete.
  package mutating func anyEntry(for record: BTSnoopRecord) -> TraceEntry {
    let start = firstTime ?? record.microseconds
    firstTime = start
    count += 1
    var entry = TraceEntry(
      number: count, time: record.microseconds &- start, direction: record.direction, layer: .hci, name: "",
      details: "")
    guard record.packet.count == record.originalLength else {
      // All 32 bits of the length in the file, also where an `Int` has no more.
      let length = UInt(bitPattern: record.originalLength)
      return entry.malformed("the capture has \(record.packet.count) of \(length) octets of a packet")
    }
    do throws(CodecError) {
      switch try HCIPacket(decoding: record.packet) {
      case .command(let packet): try describe(packet, in: &entry)
      case .event(let packet): try describe(packet, in: &entry)
      case .aclData(let packet):
        (entry.link, entry.dataLength) = (packet.connectionHandle, packet.data.count)
        return try self.entry(for: packet, entry)
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
    guard let command = DeclaredCommand(packet.opcode) else {
      entry.details = packet.parameters.hexadecimal
      return
    }
    let (text, link) = try command.summary(packet.parameters)
    entry.content = .command(packet)
    entry.isRoutine = packet.opcode.group == Self.informationalParameters || Self.setUp.contains(packet.opcode)
    entry.details = Self.commandsWithKeys.contains(packet.opcode) ? "with a key" : text
    entry.link = link
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
    .leReadTransmitPower, .leClearAdvertisingSets, .leSetDefaultPHY, .leSetHostFeature,
    .leSetDefaultSubrate, .leRand,
  ]

  /// Commands whose parameters have keys, which are not shown (Vol 4, Part E, 7.8.22 to 7.8.38).
  private static let commandsWithKeys: Set<HCIOpcode> = [
    .leEncrypt, .leEnableEncryption, .leLongTermKeyRequestReply, .leAddDeviceToResolvingList,
  ]

  private mutating func describe(_ packet: HCIEventPacket, in entry: inout TraceEntry) throws(CodecError) {
    let event = try HCIEvent(packet)
    entry.content = .event(event)
    guard let name = event.name, let fields = FieldSummary.text(of: event) else {
      entry.name = "\(event.eventCode)"
      entry.details = packet.parameters.hexadecimal
      return
    }
    entry.name = "\(name)"
    entry.details = fields
    switch event {
    case .commandComplete(let event): try describe(event, in: &entry)
    case .commandStatus(let event):
      entry.name = "Command Status of \(event.opcode.name ?? "\(event.opcode)")"
      report(event.status, in: &entry)
      entry.isRoutine = event.status == .success
    case .numberOfCompletedPackets: entry.isRoutine = true
    case .leGenerateDHKeyComplete: entry.details = "with a key"
    case .leConnectionComplete(let event):
      open(event.connectionHandle, event.status, event.role, event.peerAddress, event.connectionInterval, in: &entry)
    case .leEnhancedConnectionComplete(let event): open(event, in: &entry)
    case .leEnhancedConnectionCompleteV2(let event): open(event.connection, in: &entry)
    case .disconnectionComplete(let event):
      entry.link = event.connectionHandle
      entry.peer = links[event.connectionHandle]?.peer
      entry.details = "\(entry.peer.map { "\($0), " } ?? "")reason: \(event.reason)"
      // The link is kept: packets that the host sent before it received the event can follow.
      if event.status == .success, let peer = entry.peer { ended[peer] = event.connectionHandle }
      if event.status != .success { report(event.status, in: &entry) }
    case .encryptionChange, .encryptionChangeV2, .encryptionKeyRefreshComplete:
      guard let change = event.encryptionChange else { break }
      (entry.link, entry.peer) = (change.link, links[change.link]?.peer)
      report(change.status, in: &entry)
    case .leAdvertisingReport(let event):
      for report in event.reports { add(report.data, of: report.address) }
      entry.details = event.reports.map { "\($0.address) \($0.rssi) dBm, \(AdvertisementText.line($0.data))" }
        .joined(separator: "; ")
    case .leExtendedAdvertisingReport(let event):
      for report in event.reports { add(report.data, of: report.address) }
      entry.details = event.reports.map { "\($0.address) \($0.rssi) dBm, \(AdvertisementText.line($0.data))" }
        .joined(separator: "; ")
    case .lePeriodicAdvertisingSyncEstablished(let event): found(event, in: &entry)
    case .lePeriodicAdvertisingSyncEstablishedV2(let event): found(event.sync, in: &entry)
    case .lePeriodicAdvertisingSyncTransferReceived(let event): received(event, in: &entry)
    case .lePeriodicAdvertisingSyncTransferReceivedV2(let event): received(event.transfer, in: &entry)
    case .lePeriodicAdvertisingReport(let event):
      entry.details = trains.report(event.syncHandle, event.rssi, event.data, event.dataStatus)
    case .lePeriodicAdvertisingReportV2(let event):
      entry.details = trains.report(event.syncHandle, event.rssi, event.data, event.dataStatus)
    case .lePeriodicAdvertisingSyncLost(let event): entry.details = trains.name(of: event.syncHandle)
    // Every other event is described by its fields alone.
    default: break
    }
  }

  private mutating func found(_ event: HCI.LEPeriodicAdvertisingSyncEstablished, in entry: inout TraceEntry) {
    guard event.status == .success else { return report(event.status, in: &entry) }
    entry.details = trains.open(
      event.syncHandle, event.advertiserAddress, set: event.advertisingSID, interval: event.periodicAdvertisingInterval)
  }

  private mutating func received(
    _ event: HCI.LEPeriodicAdvertisingSyncTransferReceived, in entry: inout TraceEntry
  ) {
    (entry.link, entry.peer) = (event.connectionHandle, links[event.connectionHandle]?.peer)
    guard event.status == .success else { return report(event.status, in: &entry) }
    entry.details = trains.open(
      event.syncHandle, event.advertiserAddress, set: event.advertisingSID, interval: event.periodicAdvertisingInterval)
  }

  private func describe(_ event: HCI.CommandComplete, in entry: inout TraceEntry) throws(CodecError) {
    entry.name = "Command Complete of \(event.opcode.name ?? "\(event.opcode)")"
    let answer = try DeclaredCommand(event.opcode)?.response(event.returnParameters)
    entry.details = event.opcode == .leEncrypt ? "with a key" : answer ?? event.returnParameters.hexadecimal
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
    keepAttributes(of: handle)
    // Another device may have had the handle before: there are no more entries than handles.
    if let before = links[handle]?.peer, ended[before] == handle { ended[before] = nil }
    // A device has one entry in ``devices``, whatever handles its links had.
    if let before = ended.removeValue(forKey: address), before != handle, links[before]?.peer == address {
      keepAttributes(of: before)
      links[before] = nil
    }
    // A client that knows the attributes does not discover them again (Vol 3, Part G, 2.5.2).
    links[handle] = LinkState(peer: address, attributes: attributes[address] ?? AttributeNames())
    entry.link = handle
    entry.peer = address
    let milliseconds = Double(interval) * 1.25
    entry.details = "\(address), this host is the \(role), interval \(milliseconds) ms, handle \(handle)"
  }

  /// Keeps the attributes of a link for the next link of its device.
  private mutating func keepAttributes(of link: ConnectionHandle) {
    guard let last = links[link], let peer = last.peer, attributes[peer] != nil || attributes.count < Self.deviceLimit
    else { return }
    attributes[peer] = last.attributes
  }

  /// Keeps what a device advertises.
  private mutating func add(_ octets: Bytes, of address: DeviceAddress) {
    guard advertisers[address] != nil || advertisers.count < Self.deviceLimit else { return }
    let contents = AdvertisedData(advertisingData: octets)
    var advertiser = advertisers[address] ?? Advertiser()
    advertiser.name = contents.name ?? advertiser.name
    advertiser.appearance = contents.appearance?.rawValue ?? advertiser.appearance
    for uuid in contents.serviceUUIDs
    where advertiser.services.count < Self.advertisedServices && !advertiser.services.contains(uuid) {
      advertiser.services.append(uuid)
    }
    advertisers[address] = advertiser
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
  ) throws(CodecError) -> TraceEntry {
    var entry = template
    let handle = packet.connectionHandle
    var link = links[handle] ?? LinkState()
    defer { links[handle] = link }
    (entry.peer, entry.layer) = (link.peer, .l2cap)
    let outcome = link.fragments[entry.direction, default: Reassembler()]
      .receive(packet.data.span, packetBoundary: UInt8(packet.packetBoundaryFlag.rawValue))
    if let drop = outcome.dropped { return entry.malformed("fragment dropped: \(drop.text)") }
    switch outcome.frame {
    case nil: entry.content = .fragment
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
      entry.content = .security(pdu)
      entry.name = "\(pdu.name)"
      // Keys and the values that they follow from are not shown.
      switch pdu {
      case .pairingFailed(let failure): (entry.details, entry.isFailure) = ("\(failure.reason)", true)
      case .pairingRequest, .pairingResponse, .securityRequest: entry.details = FieldSummary.text(of: pdu)
      case .pairingConfirm, .pairingRandom, .encryptionInformation, .centralIdentification, .identityInformation,
        .identityAddressInformation, .signingInformation, .pairingPublicKey, .pairingDHKeyCheck,
        .pairingKeypressNotification:
        break
      }
    case .signalling:
      let pdu = try SignallingPDU(decoding: payload)
      entry.content = .signalling(pdu)
      entry.name = pdu.command.name.map { "\($0)" } ?? "\(pdu.command.code)"
      entry.details = FieldSummary.text(of: pdu.command) ?? Bytes(pdu.command.data).hexadecimal
      entry.isRoutine = pdu.command.code == .flowControlCredit
      entry.isFailure = pdu.command.code == .commandReject
    default:
      entry.content = .data(channel)
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

extension Reassembler.Drop {
  fileprivate var text: String {
    switch self {
    case .unfinished(let received, let expected):
      "unfinished(received: \(received), expected: \(expected.map { "Optional(\($0))" } ?? "nil"))"
    case .overlong(let received, let expected): "overlong(received: \(received), expected: \(expected))"
    case .aboveLimit(let payload): "aboveLimit(payload: \(payload))"
    case .continuationWithoutStart(let octets): "continuationWithoutStart(octets: \(octets))"
    case .reservedBoundary: "reservedBoundary"
    }
  }
}
