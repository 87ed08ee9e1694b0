import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Links: Vol 4, Part E, 7.8.12, 7.8.13, 7.1.6, and what both hosts are told.
struct ConnectionTests {
  @Test func bothSidesHear() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    try stage.advertise(peripheral)
    let (c, p) = (stage.address(of: central), stage.address(of: peripheral))
    let create = HCI.LECreateConnection {
      $0.peerAddress = p
      $0.parameters.connectionIntervalMin = 24
      $0.parameters.maxLatency = 2
      $0.parameters.supervisionTimeout = 200
    }
    try stage.expect(.success, for: create, from: central)
    try stage.expect(.commandDisallowed, for: create, from: central)
    stage.run(for: .milliseconds(200))
    for (id, peer, role) in [(central, p, HCI.Role.central), (peripheral, c, .peripheral)] {
      let events = try stage.metaEvents(id)
      #expect(events.count == 2)
      guard let event = events.first as? HCI.LEEnhancedConnectionComplete,
        events.last is HCI.LEChannelSelectionAlgorithm
      else {
        Issue.record("Enhanced Connection Complete and Channel Selection Algorithm, but it is \(events)")
        continue
      }
      #expect(event.status == .success && event.role == role && event.peerAddress == peer)
      #expect(event.connectionInterval == 24 && event.peripheralLatency == 2 && event.supervisionTimeout == 200)
    }
    // Connectable advertising ends with the connection; nothing is planned on a quiet link.
    #expect(stage.radio.deadline == nil)
    try stage.expect(.connectionAlreadyExists, for: create, from: central)
  }

  @Test func cancel() throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = .init("00:00:00:00:00:01") }, from: id)
    try stage.expect(.success, for: HCI.LECreateConnectionCancel(), from: id)
    guard let event = try stage.metaEvents(id).first as? HCI.LEEnhancedConnectionComplete else {
      Issue.record("Enhanced Connection Complete")
      return
    }
    #expect(event.status == .unknownConnectionIdentifier)
    try stage.expect(.commandDisallowed, for: HCI.LECreateConnectionCancel(), from: id)
  }

  static let badRequests: [HCI.LECreateConnection] = [
    .init { $0.scanInterval = 3 }, .init { $0.scanWindow = 0x11 },
    .init { $0.initiatorFilterPolicy = .init(rawValue: 2) }, .init { $0.ownAddressType = .random },
    .init { $0.ownAddressType = .init(rawValue: 4) }, .init { $0.peerAddress.kind = .init(rawValue: 9) },
    .init { $0.parameters.connectionIntervalMin = 5 }, .init { $0.parameters.connectionIntervalMax = 0x0C81 },
    .init { $0.parameters.connectionIntervalMin = 41 }, .init { $0.parameters.maxLatency = 0x01F4 },
    .init { $0.parameters.supervisionTimeout = 9 },
    // 30 events of 50 ms, twice, are 3.1 s: a timeout of 3.1 s is too short by nothing.
    .init {
      $0.parameters.maxLatency = 30
      $0.parameters.supervisionTimeout = 310
    },
  ]

  @Test(arguments: badRequests) func refused(_ command: HCI.LECreateConnection) throws {
    var stage = RadioStage()
    let id = stage.attach()
    try stage.expect(.invalidCommandParameters, for: command, from: id)
  }

  @Test func acceptListConnection() throws {
    var stage = RadioStage()
    let (central, wanted, other) = (stage.attach(), stage.attach(), stage.attach())
    let address = stage.address(of: wanted)
    try stage.expect(.success, for: HCI.LEAddDeviceToFilterAcceptList { $0.address = address }, from: central)
    try stage.advertise(other)
    let create = HCI.LECreateConnection { $0.initiatorFilterPolicy = .acceptList }
    try stage.expect(.success, for: create, from: central)
    stage.run(for: .seconds(1))
    #expect(stage.take(central).isEmpty)
    try stage.advertise(wanted)
    stage.run(for: .seconds(1))
    guard let event = try stage.metaEvents(central).first as? HCI.LEEnhancedConnectionComplete else {
      Issue.record("Enhanced Connection Complete")
      return
    }
    #expect(event.peerAddress == address)
  }

  /// Advertising filter policy 2: connections of the accept list only.
  @Test func advertiserTurnsStrangersAway() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    try stage.advertise(peripheral) { $0.advertisingFilterPolicy = .connectionsFromAcceptList }
    let peer = stage.address(of: peripheral)
    try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = peer }, from: central)
    stage.run(for: .seconds(1))
    #expect(stage.take(central).isEmpty)
  }

  @Test func directedConnection() throws {
    var stage = RadioStage()
    let (central, stranger, peripheral) = (stage.attach(), stage.attach(), stage.attach())
    let (c, p) = (stage.address(of: central), stage.address(of: peripheral))
    for id in [stranger, central] {
      try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = p }, from: id)
    }
    try stage.advertise(peripheral, .directedLowDutyCycle) { $0.peerAddress = c }
    stage.run(for: .seconds(1))
    #expect(stage.take(stranger).isEmpty)
    #expect(try stage.metaEvents(central).count == 2)
  }

  @Test func disconnect() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    let command = HCI.Disconnect {
      $0.connectionHandle = handles.central
      $0.reason = .remoteDeviceTerminatedLowResources
    }
    try stage.expect(.success, for: command, from: central)
    #expect(
      stage.take(central) == [[0x04, 0x05, 0x04, 0x00] + handles.central.octets + [0x16]])
    #expect(
      stage.take(peripheral) == [[0x04, 0x05, 0x04, 0x00] + handles.peripheral.octets + [0x14]])
    try stage.expect(.unknownConnectionIdentifier, for: command, from: central)
  }

  @Test(arguments: [0x00, 0x08, 0x16, 0x3D] as [UInt8]) func reasonsThatAHostMayNotGive(_ reason: UInt8) throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    let command = HCI.Disconnect {
      $0.connectionHandle = handles.central
      $0.reason = .init(rawValue: reason)
    }
    try stage.expect(.invalidCommandParameters, for: command, from: central)
  }

  /// Power loss: the peer waits for the supervision timeout (420 ms by default) and hears 0x08.
  @Test(arguments: [true, false]) func powerLoss(byReset: Bool) throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    if byReset { stage.send(HCI.Reset(), from: peripheral) } else { stage.detach(peripheral) }
    _ = stage.take(peripheral)
    stage.run(for: .milliseconds(419))
    #expect(stage.take(central).isEmpty)
    stage.run(for: .milliseconds(1))
    #expect(stage.take(central) == [[0x04, 0x05, 0x04, 0x00] + handles.central.octets + [0x08]])
    #expect(stage.take(peripheral).isEmpty)
    #expect(stage.radio.deadline == nil)
  }

  /// A slot that was given up and taken again is another controller: old names and old links do not reach it.
  @Test func slotsAreNotConfused() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    stage.detach(peripheral)
    let successor = stage.attach()
    #expect(successor != peripheral)
    stage.send(HCI.Reset(), from: peripheral)
    stage.send([0x02] + handles.central.octets + [0x01, 0x00, 0xAA], from: central)
    stage.run(for: .seconds(1))
    #expect(stage.take(peripheral).isEmpty)
    #expect(stage.take(successor).isEmpty)
  }

  @Test func outOfReach() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    let handles = try stage.connect(central, to: peripheral)
    stage.radio.cutLinks(of: central, now: stage.now)
    stage.send([0x02] + handles.central.octets + [0x01, 0x00, 0xAA], from: central)
    stage.run(for: .seconds(1))
    #expect(stage.take(central) == [[0x04, 0x05, 0x04, 0x00] + handles.central.octets + [0x08]])
    #expect(stage.take(peripheral) == [[0x04, 0x05, 0x04, 0x00] + handles.peripheral.octets + [0x08]])
  }

  @Test func limitOfLinks() throws {
    var stage = RadioStage()
    let peripheral = stage.attach { $0.maximumLinks = 2 }
    let centrals = (0..<3).map { _ in stage.attach() }
    for central in centrals.prefix(2) { _ = try stage.connect(central, to: peripheral) }
    try stage.expect(
      .connectionLimitExceeded, for: HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }, from: peripheral)
    try stage.expect(.connectionLimitExceeded, for: HCI.LECreateConnection(), from: peripheral)
  }

  /// A handle is not given out again while others are fresh.
  @Test func handlesAreNotReusedAtOnce() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    var seen: Set<ConnectionHandle> = []
    for _ in 0..<5 {
      let handles = try stage.connect(central, to: peripheral)
      seen.insert(handles.central)
      try stage.expect(.success, for: HCI.Disconnect { $0.connectionHandle = handles.central }, from: central)
      _ = (stage.take(central), stage.take(peripheral))
    }
    #expect(seen.count == 5)
  }
}

extension ConnectionHandle {
  /// The two octets as they travel.
  var octets: [UInt8] { [UInt8(rawValue & 0xFF), UInt8(rawValue >> 8)] }
}

extension DeviceAddress {
  /// A public address, most significant octet first; zero where the text is none.
  init(_ text: String) { self = Self(text, kind: .public) ?? Self(octets: BD_ADDR(), kind: .public) }
}
