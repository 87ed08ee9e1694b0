import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// The procedures of a link: Vol 4, Part E, 7.8.18 to 7.8.21, 7.8.31 to 7.8.33 and 7.8.47 to 7.8.49.
@Suite struct LinkTests {
  /// Every procedure works at once, at connection events, and with airtime.
  static let pacings: [VirtualRadio.Pacing] = wholePackets + [.airtime]
  /// Those that carry an ACL packet as a whole.
  static let wholePackets: [VirtualRadio.Pacing] = [.immediate, .connectionEvents(packetsPerEvent: 4)]

  struct Pair {
    var stage: RadioStage
    let central: ControllerID
    let peripheral: ControllerID
    let handles: (central: ConnectionHandle, peripheral: ConnectionHandle)

    init(
      _ pacing: VirtualRadio.Pacing = .immediate,
      peripheral configure: (inout VirtualControllerConfiguration) -> Void = { _ in }
    ) throws {
      var stage = RadioStage(pacing: pacing)
      central = stage.attach()
      peripheral = stage.attach(configure)
      handles = try stage.connect(central, to: peripheral)
      self.stage = stage
    }

    /// What both hosts hear within a second.
    mutating func events() throws -> (central: [HCIEvent], peripheral: [HCIEvent]) {
      stage.run(for: .seconds(1))
      return (try stage.events(central), try stage.events(peripheral))
    }
  }

  static func parameters(_ interval: UInt16) -> HCI.ConnectionParameters {
    .init {
      $0.connectionIntervalMin = interval
      $0.connectionIntervalMax = interval
      $0.supervisionTimeout = 500
    }
  }

  func updateComplete(_ handle: ConnectionHandle, _ interval: UInt16, _ status: HCIErrorCode = .success) -> HCIEvent {
    HCIEvent.leConnectionUpdateComplete(
      HCI.LEConnectionUpdateComplete {
        $0.status = status
        $0.connectionHandle = handle
        $0.connectionInterval = interval
        $0.supervisionTimeout = status.isSuccess ? 500 : 42
      })
  }

  @Test(arguments: pacings) func centralUpdates(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing)
    let command = HCI.LEConnectionUpdate {
      $0.connectionHandle = pair.handles.central
      $0.parameters = Self.parameters(100)
    }
    try pair.stage.expect(.success, for: command, from: pair.central)
    let events = try pair.events()
    #expect(events.central == [updateComplete(pair.handles.central, 100)])
    #expect(events.peripheral == [updateComplete(pair.handles.peripheral, 100)])
    var bad = command
    bad.parameters.connectionIntervalMin = 101
    try pair.stage.expect(.invalidCommandParameters, for: bad, from: pair.central)
    bad.connectionHandle = .greatest
    try pair.stage.expect(.unknownConnectionIdentifier, for: bad, from: pair.central)
  }

  /// The central's host is asked; it says yes.
  @Test(arguments: pacings) func peripheralAsksAndGets(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing)
    let command = HCI.LEConnectionUpdate {
      $0.connectionHandle = pair.handles.peripheral
      $0.parameters = Self.parameters(80)
    }
    try pair.stage.expect(.success, for: command, from: pair.peripheral)
    let question = try pair.events()
    guard let request = question.central.first?.parameters as? HCI.LERemoteConnectionParameterRequest else {
      Issue.record("Remote Connection Parameter Request")
      return
    }
    #expect(request.intervalMin == 80 && request.timeout == 500 && question.peripheral.isEmpty)
    let reply = HCI.LERemoteConnectionParameterRequestReply {
      $0.connectionHandle = pair.handles.central
      $0.parameters = Self.parameters(80)
    }
    try pair.stage.expect(.success, for: reply, from: pair.central)
    let events = try pair.events()
    #expect(events.central == [updateComplete(pair.handles.central, 80)])
    #expect(events.peripheral == [updateComplete(pair.handles.peripheral, 80)])
    try pair.stage.expect(.commandDisallowed, for: reply, from: pair.central)
  }

  @Test(arguments: [true, false]) func peripheralAsksInVain(isMasked: Bool) throws {
    var pair = try Pair()
    if isMasked {
      pair.stage.send(HCI.LESetEventMask { $0.eventMask = .standard }, from: pair.central)
      _ = pair.stage.take(pair.central)
    }
    let command = HCI.LEConnectionUpdate {
      $0.connectionHandle = pair.handles.peripheral
      $0.parameters = Self.parameters(80)
    }
    try pair.stage.expect(.success, for: command, from: pair.peripheral)
    if !isMasked {
      try pair.stage.expect(.commandDisallowed, for: command, from: pair.peripheral)
      let reply = HCI.LERemoteConnectionParameterRequestNegativeReply { $0.connectionHandle = pair.handles.central }
      try pair.stage.expect(.success, for: reply, from: pair.central)
    }
    let status: HCIErrorCode = isMasked ? .unsupportedRemoteFeature : .unacceptableConnectionParameters
    #expect(try pair.events().peripheral == [updateComplete(pair.handles.peripheral, 24, status)])
  }

  @Test(arguments: pacings) func featuresAndVersion(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing) {
      $0.features = [.encryption, .ping]
      $0.version = 9
      $0.companyIdentifier = 0x004C
      $0.subversion = 0x1234
    }
    let (central, handle) = (pair.central, pair.handles.central)
    try pair.stage.expect(.success, for: HCI.LEReadRemoteFeatures { $0.connectionHandle = handle }, from: central)
    try pair.stage.expect(
      .success, for: HCI.ReadRemoteVersionInformation { $0.connectionHandle = handle }, from: central)
    try pair.stage.expect(.success, for: HCI.LERequestPeerSCA { $0.connectionHandle = handle }, from: central)
    let events = try pair.events().central
    #expect(
      events == [
        HCIEvent.leReadRemoteFeaturesComplete(
          HCI.LEReadRemoteFeaturesComplete {
            $0.connectionHandle = handle
            $0.features = [.encryption, .ping]
          }),
        HCIEvent.readRemoteVersionInformationComplete(
          HCI.ReadRemoteVersionInformationComplete {
            $0.connectionHandle = handle
            $0.version = 9
            $0.companyIdentifier = 0x004C
            $0.subversion = 0x1234
          }),
        HCIEvent.leRequestPeerSCAComplete(HCI.LERequestPeerSCAComplete { $0.connectionHandle = handle }),
      ])
    // A peripheral without the feature may not ask.
    let question = HCI.LEReadRemoteFeatures { $0.connectionHandle = pair.handles.peripheral }
    try pair.stage.expect(.commandDisallowed, for: question, from: pair.peripheral)
  }

  @Test(arguments: pacings) func dataLength(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing)
    let command = HCI.LESetDataLength {
      $0.connectionHandle = pair.handles.central
      $0.txOctets = 251
      $0.txTime = 2120
    }
    try pair.stage.expect(.success, for: command, from: pair.central)
    let events = try pair.events()
    func change(_ handle: ConnectionHandle, _ transmit: UInt16, _ receive: UInt16) -> HCIEvent {
      HCIEvent.leDataLengthChange(
        HCI.LEDataLengthChange {
          $0.connectionHandle = handle
          $0.maxTXOctets = transmit
          $0.maxTXTime = transmit == 251 ? 2120 : 328
          $0.maxRXOctets = receive
          $0.maxRXTime = receive == 251 ? 2120 : 328
        })
    }
    #expect(events.central == [change(pair.handles.central, 251, 27)])
    #expect(events.peripheral == [change(pair.handles.peripheral, 27, 251)])
    var bad = command
    bad.txOctets = 252
    try pair.stage.expect(.invalidCommandParameters, for: bad, from: pair.central)
    bad.txOctets = 26
    try pair.stage.expect(.invalidCommandParameters, for: bad, from: pair.central)
  }

  /// A suggested length longer than 27 is negotiated with every new link.
  @Test func suggestedDataLength() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    for id in [central, peripheral] {
      let suggestion = HCI.LEWriteSuggestedDefaultDataLength {
        $0.suggestedMaxTXOctets = 100
        $0.suggestedMaxTXTime = 1000
      }
      try stage.expect(.success, for: suggestion, from: id)
    }
    #expect(try stage.ask(HCI.LEReadSuggestedDefaultDataLength(), from: central).suggestedMaxTXOctets == 100)
    try stage.advertise(peripheral)
    let peer = stage.address(of: peripheral)
    try stage.expect(.success, for: HCI.LECreateConnection { $0.peerAddress = peer }, from: central)
    stage.run(for: .seconds(1))
    for id in [central, peripheral] {
      guard let event = try stage.metaEvents(id).last as? HCI.LEDataLengthChange else {
        Issue.record("Data Length Change")
        return
      }
      #expect(event.maxTXOctets == 100 && event.maxRXOctets == 100)
    }
  }

  @Test(arguments: pacings) func phy(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing)
    let (central, handle) = (pair.central, pair.handles.central)
    let command = HCI.LESetPHY {
      $0.connectionHandle = handle
      $0.txPHYs = .le2M
      $0.rxPHYs = [.le1M, .le2M]
    }
    try pair.stage.expect(.success, for: command, from: central)
    func complete(_ handle: ConnectionHandle, _ phy: HCI.PHY) -> HCIEvent {
      HCIEvent.lePHYUpdateComplete(
        HCI.LEPHYUpdateComplete {
          $0.connectionHandle = handle
          $0.txPHY = phy
          $0.rxPHY = phy
        })
    }
    let events = try pair.events()
    #expect(events.central == [complete(handle, .le2M)])
    #expect(events.peripheral == [complete(pair.handles.peripheral, .le2M)])
    // The same once more: whoever asked is answered, the other hears nothing.
    try pair.stage.expect(.success, for: command, from: central)
    let again = try pair.events()
    #expect(again.central == [complete(handle, .le2M)] && again.peripheral.isEmpty)
    let read = try pair.stage.ask(HCI.LEReadPHY { $0.connectionHandle = handle }, from: central)
    #expect(read.txPHY == .le2M && read.rxPHY == .le2M)
    var bad = command
    bad.txPHYs = []
    try pair.stage.expect(.unsupportedFeatureOrParameterValue, for: bad, from: central)
    bad.allPHYs = .transmitter
    try pair.stage.expect(.success, for: bad, from: central)
  }

  /// A peer without LE 2M keeps the link on LE 1M.
  @Test func phyThatThePeerLacks() throws {
    var pair = try Pair { $0.features = [.encryption] }
    let handle = pair.handles.central
    let command = HCI.LESetPHY {
      $0.connectionHandle = handle
      $0.txPHYs = .le2M
      $0.rxPHYs = .le2M
    }
    try pair.stage.expect(.success, for: command, from: pair.central)
    let expected = HCI.LEPHYUpdateComplete { $0.connectionHandle = handle }
    #expect(try pair.events().central == [.lePHYUpdateComplete(expected)])
  }

  @Test func channelMap() throws {
    var pair = try Pair()
    let classification = HCI.LESetHostChannelClassification { $0.channelMap = [0xFF, 0x00, 0x00, 0x00, 0x10] }
    try pair.stage.expect(.success, for: classification, from: pair.central)
    for (id, handle) in [(pair.central, pair.handles.central), (pair.peripheral, pair.handles.peripheral)] {
      let read = try pair.stage.ask(HCI.LEReadChannelMap { $0.connectionHandle = handle }, from: id)
      #expect(read.status == .success && read.channelMap.elementsEqual([0xFF, 0x00, 0x00, 0x00, 0x10]))
    }
    for map: Bytes in [[1, 0, 0, 0, 0], [0xFF, 0, 0, 0, 0x20]] {
      let bad = HCI.LESetHostChannelClassification { $0.channelMap = map }
      try pair.stage.expect(.invalidCommandParameters, for: bad, from: pair.central)
    }
  }

  @Test func readings() throws {
    var pair = try Pair { $0.rssi = -77 }
    let (central, handle) = (pair.central, pair.handles.central)
    #expect(try pair.stage.ask(HCI.ReadRSSI { $0.connectionHandle = handle }, from: central).rssi == -77)
    #expect(
      try pair.stage.ask(HCI.ReadTransmitPowerLevel { $0.connectionHandle = handle }, from: central).txPowerLevel == 0)
    let write = HCI.WriteAuthenticatedPayloadTimeout {
      $0.connectionHandle = handle
      $0.authenticatedPayloadTimeout = 500
    }
    try pair.stage.expect(.success, for: write, from: central)
    let timeout = try pair.stage.ask(
      HCI.ReadAuthenticatedPayloadTimeout { $0.connectionHandle = handle }, from: central)
    #expect(timeout.authenticatedPayloadTimeout == 500)
  }
}
