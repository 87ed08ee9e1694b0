import BLEATT
import BLEHCI
import BLEL2CAP
import BLESMP
package import BLETrace
import BLEWire

/// Keeps what a trace shows of the behaviour of each device: its links with their packets, and its advertisements.
/// ``SeenDevice/twin(orNamed:in:link:address:)`` makes a description of it.
package struct TwinRecorder {
  /// The packets of links that are kept. Those after them are not part of a copy.
  package static let packetLimit = 100_000
  /// The devices whose advertisements are kept.
  package static let advertiserLimit = 256

  /// A packet of a link.
  enum Content {
    case attribute(ATTPDU)
    case security(SMPPDU)
    case signalling(SignallingPDU)
    /// A request of other connection parameters by the link layer.
    case parameters(ConnectionParameterUpdateRequest)
    case encrypted
    /// - Parameter byPeer: whether the other device has ended the link.
    case disconnected(byPeer: Bool)
  }

  struct Packet {
    /// The place in the trace.
    var number: Int
    /// In microseconds.
    var time: Int64
    var direction: HCIPacketDirection
    var content: Content
  }

  struct Session {
    var link: ConnectionHandle
    var peer: DeviceAddress?
    /// When the link came up; nil if the trace begins later.
    var start: Int64?
    var isEndedByHost = false
    var packets: [Packet] = []
  }

  /// The advertisement of a device.
  struct Advertiser {
    var data: [UInt8]?
    var scanResponse: [UInt8]?
    var isExtended = false
    var isConnectable = true
    /// In microseconds.
    var shortestPause: Int64?
    var reports = 0
    fileprivate var last: Int64?
    /// The parts of data that is reported in several events, for data and scan response.
    fileprivate var parts: [Bool: [UInt8]] = [:]
    /// From the parameters that a host has set: in microseconds.
    var interval: Int64?
    var train = Train()
  }

  /// The periodic advertising of a device.
  struct Train {
    /// The last data that came whole.
    var data: [UInt8]?
    /// In units of 1.25 ms; 0 if it is not known.
    var interval: UInt16 = 0
    /// The parts of data that comes in several events; nil after one that is lost.
    fileprivate var parts: [UInt8]? = []
  }

  private(set) var sessions: [Session] = []
  private(set) var advertisers: [DeviceAddress: Advertiser] = [:]
  /// What the host of the trace advertises.
  private(set) var own = Advertiser()
  /// The advertising set of ``own``: the first connectable one, if there is one.
  private var ownSet: (handle: UInt8, isConnectable: Bool)?
  /// The advertisers of the trains that the host receives, by their sync handles.
  private var trains: [UInt16: DeviceAddress] = [:]
  /// Whether the trace has more packets than are kept.
  private(set) var isCut = false
  private var open: [ConnectionHandle: Int] = [:]
  private var count = 0

  package init() {}

  package mutating func add(_ entry: TraceEntry) {
    switch entry.content {
    case .event(let event): add(event, entry)
    case .command(let packet):
      if let command = try? packet.decoded() { add(command, entry) }
    case .attribute(let pdu): keep(.attribute(pdu), entry)
    case .security(let pdu): keep(.security(pdu), entry)
    case .signalling(let pdu): keep(.signalling(pdu), entry)
    // Channels are not part of a copy.
    case .data, .fragment, .other: break
    }
  }

  private mutating func keep(_ content: Content, _ entry: TraceEntry) {
    guard let link = entry.link else { return }
    guard count < Self.packetLimit else {
      isCut = true
      return
    }
    count += 1
    let index = open[link] ?? begin(link, entry.peer, at: nil)
    sessions[index].packets.append(
      Packet(number: entry.number, time: entry.time, direction: entry.direction, content: content))
  }

  @discardableResult
  private mutating func begin(_ link: ConnectionHandle, _ peer: DeviceAddress?, at time: Int64?) -> Int {
    sessions.append(Session(link: link, peer: peer, start: time))
    open[link] = sessions.count - 1
    return sessions.count - 1
  }

  private mutating func add(_ event: HCIEvent, _ entry: TraceEntry) {
    switch event {
    case .leConnectionComplete, .leEnhancedConnectionComplete, .leEnhancedConnectionCompleteV2:
      guard !entry.isFailure, let link = entry.link, count < Self.packetLimit else { return }
      count += 1
      begin(link, entry.peer, at: entry.time)
    case .encryptionChange, .encryptionChangeV2, .encryptionKeyRefreshComplete:
      if let change = event.encryptionChange, change.status == .success, change.isOn { keep(.encrypted, entry) }
    case .disconnectionComplete(let event):
      guard event.status == .success, let index = open[event.connectionHandle] else { return }
      let isByPeer = event.reason == .remoteUserTerminatedConnection && !sessions[index].isEndedByHost
      keep(.disconnected(byPeer: isByPeer), entry)
    case .leAdvertisingReport(let event):
      for report in event.reports { add(report, at: entry.time) }
    case .leExtendedAdvertisingReport(let event):
      for report in event.reports { add(report, at: entry.time) }
    case .leRemoteConnectionParameterRequest(let event):
      var request = ConnectionParameterUpdateRequest()
      (request.intervalMin, request.intervalMax) = (event.intervalMin, event.intervalMax)
      (request.latency, request.timeout) = (event.maxLatency, event.timeout)
      keep(request, on: event.connectionHandle, entry)
    case .lePeriodicAdvertisingSyncEstablished(let event): found(event)
    case .lePeriodicAdvertisingSyncEstablishedV2(let event): found(event.sync)
    case .lePeriodicAdvertisingReport(let event): add(event.data, event.dataStatus, of: event.syncHandle)
    case .lePeriodicAdvertisingReportV2(let event): add(event.data, event.dataStatus, of: event.syncHandle)
    // The others say nothing about a peripheral.
    default: break
    }
  }

  private mutating func found(_ event: HCI.LEPeriodicAdvertisingSyncEstablished) {
    guard event.status == .success else { return }
    change(event.advertiserAddress) { advertiser in
      advertiser.train.interval = event.periodicAdvertisingInterval
      advertiser.train.parts = []
    }
    guard advertisers[event.advertiserAddress] != nil else { return }
    // Sync handles of a controller have 12 bits (Vol 4, Part E, 7.7.65.14); others are not looked up.
    if event.syncHandle <= 0x0EFF { trains[event.syncHandle] = event.advertiserAddress }
  }

  /// - Parameter status: 0 for the end of the data, 1 if more follows; others for data that is lost.
  private mutating func add(_ octets: Bytes, _ status: UInt8, of handle: UInt16) {
    guard let address = trains[handle] else { return }
    change(address) { advertiser in
      let whole = advertiser.train.parts.map { $0 + octets }
      guard status == 1 else {
        if status == 0, let whole { advertiser.train.data = whole }
        return advertiser.train.parts = []
      }
      let fits = (whole?.count ?? 0) <= LinkLayerLimits.extendedAdvertisingData
      advertiser.train.parts = fits ? whole : nil
    }
  }

  private mutating func keep(
    _ request: ConnectionParameterUpdateRequest, on link: ConnectionHandle, _ entry: TraceEntry
  ) {
    var entry = entry
    entry.link = link
    keep(.parameters(request), entry)
  }

  private mutating func change(_ address: DeviceAddress, _ body: (inout Advertiser) -> Void) {
    guard advertisers[address] != nil || advertisers.count < Self.advertiserLimit else { return }
    body(&advertisers[address, default: Advertiser()])
  }

  private mutating func add(_ report: HCI.AdvertisingReport, at time: Int64) {
    change(report.address) { advertiser in
      if report.eventType == .scanResponse {
        advertiser.scanResponse = Array(report.data)
      } else {
        advertiser.isConnectable = report.eventType == .connectable || report.eventType == .directed
        advertiser.received(Array(report.data), at: time)
      }
    }
  }

  private mutating func add(_ report: HCI.ExtendedAdvertisingReport, at time: Int64) {
    let isResponse = report.eventType.contains(.scanResponse)
    change(report.address) { advertiser in
      // The announcement of a train is not the advertisement to which a central connects.
      guard report.periodicAdvertisingInterval == 0 else {
        return advertiser.train.interval = report.periodicAdvertisingInterval
      }
      let octets = advertiser.parts.removeValue(forKey: isResponse) ?? []
      let whole = octets + report.data
      if report.eventType.dataStatus == .moreToCome {
        if whole.count <= LinkLayerLimits.extendedAdvertisingData { advertiser.parts[isResponse] = whole }
        return
      }
      if isResponse {
        advertiser.scanResponse = whole
      } else {
        advertiser.isExtended = !report.eventType.contains(.legacy)
        advertiser.isConnectable = report.eventType.contains(.connectable)
        advertiser.received(whole, at: time)
      }
    }
  }

  /// The commands of a host that is itself the device.
  private mutating func add(_ command: any HCICommand, _ entry: TraceEntry) {
    switch command {
    case let command as HCI.LEConnectionUpdate:
      var request = ConnectionParameterUpdateRequest()
      request.intervalMin = command.parameters.connectionIntervalMin
      request.intervalMax = command.parameters.connectionIntervalMax
      (request.latency, request.timeout) = (command.parameters.maxLatency, command.parameters.supervisionTimeout)
      keep(request, on: command.connectionHandle, entry)
    case let command as HCI.Disconnect:
      if let index = open[command.connectionHandle] { sessions[index].isEndedByHost = true }
    case let command as HCI.LESetAdvertisingData: own.data = Array(command.advertisingData)
    case let command as HCI.LESetScanResponseData: own.scanResponse = Array(command.scanResponseData)
    case let command as HCI.LESetAdvertisingParameters:
      own.interval = Int64(command.advertisingIntervalMin) * 625
      own.isConnectable = command.advertisingType == .connectableUndirected
    case let command as HCI.LESetExtendedAdvertisingData:
      guard isOwnSet(command.advertisingHandle) else { break }
      Self.add(command.advertisingData, command.operation, to: &own.data)
    case let command as HCI.LESetExtendedScanResponseData:
      guard isOwnSet(command.advertisingHandle) else { break }
      Self.add(command.scanResponseData, command.operation, to: &own.scanResponse)
    case let command as HCI.LESetExtendedAdvertisingParameters:
      let isConnectable = command.advertisingEventProperties.contains(.connectable)
      guard isOwnSet(command.advertisingHandle) || isConnectable && ownSet?.isConnectable == false else { break }
      ownSet = (command.advertisingHandle, isConnectable)
      own.interval = Int64(command.primaryAdvertisingIntervalMin) * 625
      own.isExtended = !command.advertisingEventProperties.contains(.legacy)
      own.isConnectable = isConnectable
    case let command as HCI.LESetPeriodicAdvertisingParameters:
      own.train.interval = command.periodicAdvertisingIntervalMin
    case let command as HCI.LESetPeriodicAdvertisingData:
      Self.add(command.advertisingData, command.operation, to: &own.train.data)
    default: break  // The others set nothing that a central sees.
    }
  }

  /// Whether the set is that of ``own``; any set, as long as none is known.
  private func isOwnSet(_ handle: UInt8) -> Bool { ownSet.map { $0.handle == handle } ?? true }

  /// Adds what one command has of an area, whose data can be set by several.
  private static func add(_ octets: Bytes, _ operation: HCI.DataOperation, to area: inout [UInt8]?) {
    let isFirst = operation == .complete || operation == .first
    let joined = (isFirst ? [] : area ?? []) + octets
    if joined.count <= LinkLayerLimits.extendedAdvertisingData { area = joined }
  }
}

extension TwinRecorder.Advertiser {
  /// Two reports of one advertising event, on different channels, are nearer than this: 20 ms is the shortest interval.
  private static let shortestInterval: Int64 = 18_000

  fileprivate mutating func received(_ octets: [UInt8], at time: Int64) {
    data = octets
    reports += 1
    if let last {
      let pause = time &- last
      guard pause >= Self.shortestInterval || pause < 0 else { return }
      if pause > 0 { shortestPause = min(shortestPause ?? pause, pause) }
    }
    last = time
  }

  /// The advertising interval in milliseconds; nil if too few advertisements were seen.
  ///
  /// The pause between two events is the interval and up to 10 ms more (Vol 6, Part B, 4.4.2.2), and longer where a
  /// scanner has missed one: the shortest of several is nearest.
  var milliseconds: UInt16? {
    if let interval { return UInt16(clamping: min(max(interval / 1_000, 20), 10_240)) }
    guard reports >= 4, let shortestPause else { return nil }
    return UInt16(clamping: min(max(shortestPause / 1_000, 20), 10_240))
  }
}
