import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Periodic advertising trains, and controllers that are synchronized with them.
extension RadioStage {
  static let pacings: [VirtualRadio.Pacing] = [.immediate, .connectionEvents(packetsPerEvent: 1), .airtime]

  /// A set that is neither connectable nor scannable, with the parameters of a train: every 100 ms.
  mutating func configureTrain(
    _ id: ControllerID, set handle: UInt8 = 0, sid: UInt8 = 3, interval: UInt16 = 80,
    properties: UInt16 = 0, _ configure: (inout HCI.LESetExtendedAdvertisingParameters) -> Void = { _ in }
  ) throws {
    var set = HCI.LESetExtendedAdvertisingParameters {
      $0.advertisingHandle = handle
      $0.advertisingSID = sid
    }
    configure(&set)
    try expect(.success, for: set, from: id)
    let train = HCI.LESetPeriodicAdvertisingParameters {
      $0.advertisingHandle = handle
      $0.periodicAdvertisingIntervalMin = interval
      $0.periodicAdvertisingIntervalMax = interval
      $0.periodicAdvertisingProperties = properties
    }
    try expect(.success, for: train, from: id)
  }

  /// Sets the data of a train, in fragments of 250 octets if it is longer.
  mutating func setTrainData(_ octets: Bytes, of id: ControllerID, set handle: UInt8 = 0) throws {
    var rest = octets
    repeat {
      let piece = rest.prefix(250)
      let isFirst = rest.count == octets.count
      rest = rest.dropFirst(250)
      let command = HCI.LESetPeriodicAdvertisingData {
        $0.advertisingHandle = handle
        $0.operation = isFirst ? (rest.isEmpty ? .complete : .first) : (rest.isEmpty ? .last : .intermediate)
        $0.advertisingData = piece
      }
      try expect(.success, for: command, from: id)
    } while !rest.isEmpty
  }

  mutating func enableTrain(
    _ id: ControllerID, set handle: UInt8 = 0, _ enable: UInt8 = 0x01, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let command = HCI.LESetPeriodicAdvertisingEnable {
      $0.enable = enable
      $0.advertisingHandle = handle
    }
    try expect(.success, for: command, from: id, sourceLocation: sourceLocation)
  }

  mutating func enableSet(_ id: ControllerID, set handle: UInt8 = 0, _ isEnabled: Bool = true) throws {
    let command = HCI.LESetExtendedAdvertisingEnable {
      $0.enable = isEnabled
      $0.sets = [.init { $0.advertisingHandle = handle }]
    }
    try expect(.success, for: command, from: id)
  }

  /// A train that is transmitting.
  mutating func advertisePeriodically(
    _ id: ControllerID, set handle: UInt8 = 0, sid: UInt8 = 3, interval: UInt16 = 80, data: Bytes = [0x02, 0x0A, 0x00],
    enable: UInt8 = 0x01
  ) throws {
    try configureTrain(id, set: handle, sid: sid, interval: interval)
    try setTrainData(data, of: id, set: handle)
    try enableTrain(id, set: handle, enable)
    try enableSet(id, set: handle)
  }

  mutating func scanExtended(_ id: ControllerID) throws {
    let parameters = HCI.LESetExtendedScanParameters {
      $0.scanningPHYs = .le1M
      $0.scans = [.init { $0.scanType = .passive }]
    }
    try expect(.success, for: parameters, from: id)
    let enable = HCI.LESetExtendedScanEnable {
      $0.enable = true
      $0.filterDuplicates = .enabled
    }
    try expect(.success, for: enable, from: id)
  }

  mutating func stopScan(_ id: ControllerID) throws {
    try expect(.success, for: HCI.LESetExtendedScanEnable(), from: id)
  }

  /// LE Periodic Advertising Create Sync with a timeout of 1 s.
  mutating func createSync(
    to advertiser: ControllerID, sid: UInt8 = 3,
    _ configure: (inout HCI.LEPeriodicAdvertisingCreateSync) -> Void = { _ in }
  ) -> HCI.LEPeriodicAdvertisingCreateSync {
    let peer = address(of: advertiser)
    var command = HCI.LEPeriodicAdvertisingCreateSync {
      $0.advertisingSID = sid
      $0.advertiserAddress = peer
      $0.syncTimeout = 100
    }
    configure(&command)
    return command
  }

  /// Synchronizes a controller with a train, and stops its scan.
  ///
  /// - Returns: Sync_Handle. Reports since then are in the inbox.
  mutating func synchronize(
    _ id: ControllerID, with advertiser: ControllerID, sid: UInt8 = 3,
    _ configure: (inout HCI.LEPeriodicAdvertisingCreateSync) -> Void = { _ in }
  ) throws -> UInt16 {
    try expect(.success, for: createSync(to: advertiser, sid: sid, configure), from: id)
    try scanExtended(id)
    for _ in 0..<100 {
      run(for: .milliseconds(50))
      let events = try metaEvents(id)
      guard let event = events.lazy.compactMap({ $0 as? HCI.LEPeriodicAdvertisingSyncEstablished }).first else {
        continue
      }
      try #require(event.status == .success)
      try stopScan(id)
      return event.syncHandle
    }
    Issue.record("LE Periodic Advertising Sync Established")
    return 0
  }

  /// The reports of trains that a host has received since the last call.
  mutating func periodicReports(_ id: ControllerID) throws -> [HCI.LEPeriodicAdvertisingReport] {
    try metaEvents(id).compactMap { $0 as? HCI.LEPeriodicAdvertisingReport }
  }

  /// The events of a kind that a host has received since the last call.
  mutating func events<Event: LEEventParameters>(_ type: Event.Type, _ id: ControllerID) throws -> [Event] {
    try metaEvents(id).compactMap { $0 as? Event }
  }

  /// Goes on from deadline to deadline until the host has received an event of a kind.
  ///
  /// - Returns: the time, and the event.
  mutating func next<Event: LEEventParameters>(
    _ type: Event.Type, at id: ControllerID, within limit: Duration = .seconds(60)
  ) throws -> (time: Instant, event: Event) {
    let end = now + limit
    while step(until: end) {
      if let event = try events(type, id).first { return (now, event) }
    }
    let none: Event? = nil
    return (now, try #require(none, "no \(type)"))
  }

  /// A link between two controllers that use the extended commands, with nothing in their inboxes.
  mutating func connectExtended(
    _ central: ControllerID, to peripheral: ControllerID
  ) throws -> (central: ConnectionHandle, peripheral: ConnectionHandle) {
    let set = HCI.LESetExtendedAdvertisingParameters {
      $0.advertisingHandle = 0xE0
      $0.advertisingEventProperties = .connectable
    }
    try expect(.success, for: set, from: peripheral)
    try enableSet(peripheral, set: 0xE0)
    let peer = address(of: peripheral)
    let create = HCI.LEExtendedCreateConnection {
      $0.peerAddress = peer
      $0.initiatingPHYs = .le1M
      $0.initiations = [.init()]
    }
    try expect(.success, for: create, from: central)
    run(for: .seconds(2))
    let atCentral = try events(HCI.LEEnhancedConnectionComplete.self, central)
    let atPeripheral = try events(HCI.LEEnhancedConnectionComplete.self, peripheral)
    return (try #require(atCentral.last).connectionHandle, try #require(atPeripheral.last).connectionHandle)
  }
}
