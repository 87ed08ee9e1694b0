import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// Power control and path loss: Vol 6, Part B, 4.5.16, 5.1.17 and 5.1.18; Vol 4, Part E, 7.8.117 to 7.8.121.
@Suite struct LinkPowerTests {
  private static func thresholds(
    low: UInt8, _ lowHysteresis: UInt8 = 0, high: UInt8, _ highHysteresis: UInt8 = 0, time: UInt16 = 0
  ) -> HCI.LESetPathLossReportingParameters {
    HCI.LESetPathLossReportingParameters {
      ($0.lowThreshold, $0.lowHysteresis) = (low, lowHysteresis)
      ($0.highThreshold, $0.highHysteresis, $0.minTimeSpent) = (high, highHysteresis, time)
    }
  }

  private static let roles = [HCI.Role.central, .peripheral]

  // MARK: Errors

  @Test func aCommandForAnUnknownLinkIsRejected() throws {
    var stage = RadioStage()
    let id = stage.attach()
    let unknown = ConnectionHandle(rawValue: 0x0999)
    let status = HCIErrorCode.unknownConnectionIdentifier
    try stage.expect(status, for: HCI.LEEnhancedReadTransmitPowerLevel { $0.connectionHandle = unknown }, from: id)
    try stage.expect(status, for: HCI.LEReadRemoteTransmitPowerLevel { $0.connectionHandle = unknown }, from: id)
    try stage.expect(status, for: HCI.LESetPathLossReportingParameters { $0.connectionHandle = unknown }, from: id)
    try stage.expect(status, for: HCI.LESetPathLossReportingEnable { $0.connectionHandle = unknown }, from: id)
    try stage.expect(status, for: HCI.LESetTransmitPowerReportingEnable { $0.connectionHandle = unknown }, from: id)
  }

  @Test(arguments: [
    (UInt8(0), HCIErrorCode.invalidCommandParameters), (1, .success), (2, .unsupportedFeatureOrParameterValue),
    (3, .success), (4, .success), (5, .invalidCommandParameters),
  ]) func aPHYIsOneOfTheController(_ phy: UInt8, _ status: HCIErrorCode) throws {
    for role in Self.roles {
      var pair = try LinkPair(central: { $0.features.remove(.le2MPHY) }, peripheral: { $0.features.remove(.le2MPHY) })
      let handle = pair.handle(role)
      let own = HCI.LEEnhancedReadTransmitPowerLevel { ($0.connectionHandle, $0.phy) = (handle, phy) }
      try pair.stage.expect(status, for: own, from: pair.id(role))
      let remote = HCI.LEReadRemoteTransmitPowerLevel { ($0.connectionHandle, $0.phy) = (handle, phy) }
      try pair.stage.expect(status, for: remote, from: pair.id(role))
    }
  }

  @Test(arguments: [
    (thresholds(low: 50, 5, high: 60, 5), HCIErrorCode.success),
    // The ranges around the thresholds overlap.
    (thresholds(low: 50, 6, high: 60, 5), .invalidCommandParameters),
    (thresholds(low: 50, 5, high: 60, 6), .invalidCommandParameters),
    (thresholds(low: 61, high: 60), .invalidCommandParameters), (thresholds(low: 60, high: 60), .success),
    (thresholds(low: 5, 5, high: 60), .success), (thresholds(low: 5, 6, high: 60), .invalidCommandParameters),
    (thresholds(low: 5, high: 250, 5), .success), (thresholds(low: 5, high: 250, 6), .invalidCommandParameters),
    (thresholds(low: 0, high: 255, time: .max), .success),
  ]) func thresholdsDoNotOverlap(_ parameters: HCI.LESetPathLossReportingParameters, _ status: HCIErrorCode) throws {
    var pair = try LinkPair()
    var parameters = parameters
    parameters.connectionHandle = pair.handles.central
    try pair.stage.expect(status, for: parameters, from: pair.central)
  }

  @Test func monitoringNeedsThresholds() throws {
    var pair = try LinkPair()
    let handle = pair.handles.central
    let enable = HCI.LESetPathLossReportingEnable { ($0.connectionHandle, $0.enable) = (handle, true) }
    try pair.stage.expect(.commandDisallowed, for: enable, from: pair.central)
    // There is nothing to disable, and nothing against it.
    let disable = HCI.LESetPathLossReportingEnable { $0.connectionHandle = handle }
    try pair.stage.expect(.success, for: disable, from: pair.central)
  }

  @Test func aControllerWithoutTheFeaturesKnowsNoCommand() throws {
    var stage = RadioStage()
    let old = stage.attach { $0.features.remove(.powerControlRequest) }
    // Without the power of the peer there is no path loss either.
    let features = try stage.ask(HCI.LEReadLocalSupportedFeatures(), from: old).features
    #expect(features.isDisjoint(with: [.powerControlRequest, .powerChangeIndication, .pathLossMonitoring]))
    try stage.expect(.unknownCommand, for: HCI.LEEnhancedReadTransmitPowerLevel(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LEReadRemoteTransmitPowerLevel(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LESetTransmitPowerReportingEnable(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LESetPathLossReportingParameters(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LESetPathLossReportingEnable(), from: old)
    let some = stage.attach { $0.features.remove(.pathLossMonitoring) }
    try stage.expect(.unknownCommand, for: HCI.LESetPathLossReportingEnable(), from: some)
    let commands = try stage.ask(HCI.ReadLocalSupportedCommands(), from: some).supportedCommands
    #expect(commands.contains(HCI.LEReadRemoteTransmitPowerLevel.self))
    #expect(!commands.contains(HCI.LESetPathLossReportingParameters.self))
  }

  // MARK: Transmit power

  @Test(arguments: LinkTests.pacings, roles) func bothPowersAreRead(
    _ pacing: VirtualRadio.Pacing, _ role: HCI.Role
  ) throws {
    var pair = try LinkPair(pacing, central: { $0.txPower = 4 }, peripheral: { $0.txPower = -20 })
    let (own, peer): (Int8, Int8) = role == .central ? (4, -20) : (-20, 4)
    let handle = pair.handle(role)
    let read = HCI.LEEnhancedReadTransmitPowerLevel { ($0.connectionHandle, $0.phy) = (handle, 1) }
    let response = try pair.stage.ask(read, from: pair.id(role))
    #expect(response.currentTXPowerLevel == own && response.maxTXPowerLevel == 20 && response.phy == 1)
    let request = HCI.LEReadRemoteTransmitPowerLevel { ($0.connectionHandle, $0.phy) = (handle, 1) }
    try pair.stage.expect(.success, for: request, from: pair.id(role))
    if pacing == .airtime { try pair.stage.expect(.commandDisallowed, for: request, from: pair.id(role)) }
    let (powers, _) = try pair.reports(role)
    #expect(
      powers == [
        HCI.LETransmitPowerReporting {
          ($0.connectionHandle, $0.reason, $0.phy, $0.txPowerLevel) = (handle, 2, 1, peer)
          // -20 dBm is the least power.
          $0.txPowerLevelFlag = peer == -20 ? 1 : 0
        }
      ])
    try pair.stage.expect(.success, for: request, from: pair.id(role))
    #expect(try pair.reports(role).powers.count == 1)
  }

  /// The peer has no LE Coded: its power on that is not known.
  @Test func thePowerOnAPHYThatThePeerLacksIsNotKnown() throws {
    var pair = try LinkPair(peripheral: { $0.features.remove(.leCodedPHY) })
    let handle = pair.handles.central
    let request = HCI.LEReadRemoteTransmitPowerLevel { ($0.connectionHandle, $0.phy) = (handle, 4) }
    try pair.stage.expect(.success, for: request, from: pair.central)
    let power = try #require(try pair.reports(.central).powers.first)
    #expect(power.status == .success && power.phy == 4 && power.txPowerLevel == 127)
  }

  @Test(arguments: LinkTests.pacings, roles) func aPeerWithoutPowerControlIsAnErrorOfTheEvent(
    _ pacing: VirtualRadio.Pacing, _ role: HCI.Role
  ) throws {
    let remove: (inout VirtualControllerConfiguration) -> Void = { $0.features.remove(.powerControlRequest) }
    let keep: (inout VirtualControllerConfiguration) -> Void = { _ in }
    var pair = try LinkPair(
      pacing, central: role == .central ? keep : remove, peripheral: role == .central ? remove : keep)
    let handle = pair.handle(role)
    let request = HCI.LEReadRemoteTransmitPowerLevel { $0.connectionHandle = handle }
    try pair.stage.expect(.success, for: request, from: pair.id(role))
    let powers = try pair.reports(role).powers
    #expect(powers.map(\.status) == [.unsupportedRemoteFeature] && powers.first?.reason == 2)
    // Its path loss is not available.
    try pair.monitor(role, Self.thresholds(low: 40, high: 60))
    #expect(try pair.reports(role).zones.map(\.currentPathLoss) == [0xFF])
  }

  @Test(arguments: LinkTests.pacings, roles) func changesAreReportedToBothHosts(
    _ pacing: VirtualRadio.Pacing, _ role: HCI.Role
  ) throws {
    var pair = try LinkPair(pacing)
    let other: HCI.Role = role == .central ? .peripheral : .central
    for (role, isLocal) in [(role, true), (other, false)] {
      let handle = pair.handle(role)
      let enable = HCI.LESetTransmitPowerReportingEnable {
        ($0.connectionHandle, $0.localEnable, $0.remoteEnable) = (handle, isLocal, !isLocal)
      }
      try pair.stage.expect(.success, for: enable, from: pair.id(role))
    }
    #expect(try pair.reports(other).powers.isEmpty)
    pair.setTransmitPower(8, role)
    // The same power again, and one beyond the greatest.
    pair.setTransmitPower(8, role)
    pair.setTransmitPower(30, role)
    let expected: (UInt8, HCI.Role) -> [HCI.LETransmitPowerReporting] = { [pair] reason, role in
      [(Int8(8), UInt8(0), Int8(8)), (20, 2, 12)].map { level, flag, delta in
        HCI.LETransmitPowerReporting {
          ($0.connectionHandle, $0.reason, $0.phy) = (pair.handle(role), reason, 1)
          ($0.txPowerLevel, $0.txPowerLevelFlag, $0.delta) = (level, flag, delta)
        }
      }
    }
    #expect(try pair.reports(role).powers == expected(0, role))
    #expect(
      try pair.stage.metaEvents(pair.id(other)).compactMap { $0 as? HCI.LETransmitPowerReporting } == expected(1, other)
    )
    // The RSSI follows the power: 20 dBm less 50 dB.
    #expect(try pair.rssi(other) == -30 && pair.rssi(role) == -50)
    let handle = pair.handle(role)
    let read = HCI.ReadTransmitPowerLevel { ($0.connectionHandle, $0.kind) = (handle, 0) }
    #expect(try pair.stage.ask(read, from: pair.id(role)).txPowerLevel == 20)
    // Not enabled any more.
    for role in Self.roles {
      let handle = pair.handle(role)
      let disable = HCI.LESetTransmitPowerReportingEnable { $0.connectionHandle = handle }
      try pair.stage.expect(.success, for: disable, from: pair.id(role))
    }
    pair.setTransmitPower(0, role)
    pair.stage.run(for: .seconds(2))
    for id in [pair.central, pair.peripheral] { #expect(try pair.stage.metaEvents(id).isEmpty) }
  }

  /// A new link has the power that was set, and a controller of another slot not.
  @Test func thePowerIsThatOfNewLinks() throws {
    var stage = RadioStage()
    let (central, peripheral) = (stage.attach(), stage.attach())
    stage.radio.setTransmitPower(-7, of: central, now: stage.now)
    stage.radio.setPathLoss(70, between: central, and: peripheral, now: stage.now)
    let handles = try stage.connect(central, to: peripheral)
    let rssi = HCI.ReadRSSI { $0.connectionHandle = handles.peripheral }
    #expect(try stage.ask(rssi, from: peripheral).rssi == -77)
    let own = HCI.LEEnhancedReadTransmitPowerLevel { $0.connectionHandle = handles.central }
    #expect(try stage.ask(own, from: central).currentTXPowerLevel == -7)
    stage.detach(central)
    let next = stage.attach()
    stage.run(for: .seconds(60))
    _ = try stage.metaEvents(peripheral)
    let again = try stage.connect(next, to: peripheral)
    #expect(try stage.ask(HCI.ReadRSSI { $0.connectionHandle = again.peripheral }, from: peripheral).rssi == -50)
  }

  // MARK: Path loss

  @Test(arguments: RangeTests.pacings) func advertisementsAreReceivedByThePath(_ pacing: VirtualRadio.Pacing) throws {
    var stage = RadioStage(pacing: pacing)
    let (advertiser, scanner) = (stage.attach { $0.txPower = 4 }, stage.attach())
    func reports(_ stage: inout RadioStage) throws -> Set<Int8> {
      stage.run(for: .seconds(2))
      let events = try stage.metaEvents(scanner).compactMap { $0 as? HCI.LEAdvertisingReport }
      return Set(events.flatMap(\.reports).map(\.rssi))
    }
    try stage.advertise(advertiser, .scannableUndirected)
    try stage.scan(scanner)
    #expect(try reports(&stage) == [-50])
    stage.radio.setPathLoss(90, between: scanner, and: advertiser, now: stage.now)
    #expect(try reports(&stage) == [-86])
    stage.radio.setPathLoss(nil, between: scanner, and: advertiser, now: stage.now)
    #expect(try reports(&stage) == [-50])
  }

  @Test(arguments: LinkTests.pacings, roles) func theZoneIsReportedAtOnceAndWhenItChanges(
    _ pacing: VirtualRadio.Pacing, _ role: HCI.Role
  ) throws {
    var pair = try LinkPair(pacing)
    try pair.monitor(role, Self.thresholds(low: 40, 3, high: 60, 5))
    func zones(_ pair: inout LinkPair) throws -> [[UInt8]] {
      try pair.reports(role).zones.map { [$0.zoneEntered, $0.currentPathLoss] }
    }
    #expect(try zones(&pair) == [[1, 50]])
    // Within the hysteresis of each threshold, and beyond it.
    for (loss, expected) in [
      (37, []), (36, [[0, 36]]), (43, []), (44, [[1, 44]]), (65, []), (66, [[2, 66]]), (55, []), (54, [[1, 54]]),
      (255, [[2, 127]]), (0, [[0, 0]]), (100, [[2, 100]]),
    ] as [(UInt8, [[UInt8]])] {
      pair.setPathLoss(loss)
      #expect(try zones(&pair) == expected, "\(loss) dB")
    }
    // More power is not less path loss.
    pair.setTransmitPower(10, role == .central ? .peripheral : .central)
    #expect(try zones(&pair).isEmpty && pair.rssi(role) == -90)
    // Other thresholds put the same path loss into another zone.
    var other = Self.thresholds(low: 110, high: 120)
    other.connectionHandle = pair.handle(role)
    try pair.stage.expect(.success, for: other, from: pair.id(role))
    #expect(try zones(&pair) == [[0, 100]])
    let handle = pair.handle(role)
    let disable = HCI.LESetPathLossReportingEnable { $0.connectionHandle = handle }
    try pair.stage.expect(.success, for: disable, from: pair.id(role))
    pair.setPathLoss(115)
    #expect(try zones(&pair).isEmpty)
  }

  /// 10 connection events of 30 ms.
  @Test(arguments: LinkTests.pacings) func aZoneIsReportedAfterTheMinimumTime(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try LinkPair(pacing)
    try pair.monitor(.central, Self.thresholds(low: 40, high: 60, time: 10))
    // The first one is reported at once.
    #expect(try pair.reports(.central).zones.map(\.zoneEntered) == [1])
    func zones(_ milliseconds: Int64, _ pair: inout LinkPair) throws -> [UInt8] {
      pair.stage.run(for: .milliseconds(milliseconds))
      return try pair.stage.metaEvents(pair.central).compactMap { ($0 as? HCI.LEPathLossThreshold)?.zoneEntered }
    }
    pair.setPathLoss(80)
    #expect(try zones(299, &pair).isEmpty)
    #expect(try zones(1, &pair) == [2])
    // A zone that is left before is not reported, and another one begins its own time.
    pair.setPathLoss(50)
    #expect(try zones(200, &pair).isEmpty)
    pair.setPathLoss(80)
    #expect(try zones(1000, &pair).isEmpty)
    pair.setPathLoss(50)
    #expect(try zones(200, &pair).isEmpty)
    pair.setPathLoss(20)
    #expect(try zones(299, &pair).isEmpty)
    pair.setPathLoss(21)
    #expect(try zones(1, &pair) == [0])
  }
}

/// Both send with 0 dBm, and are received with -50 dBm.
extension LinkPair {
  /// The reports of powers and of zones that one host gets within two seconds.
  fileprivate mutating func reports(
    _ role: HCI.Role
  ) throws -> (powers: [HCI.LETransmitPowerReporting], zones: [HCI.LEPathLossThreshold]) {
    stage.run(for: .seconds(2))
    let events = try stage.metaEvents(id(role))
    return (
      events.compactMap { $0 as? HCI.LETransmitPowerReporting }, events.compactMap { $0 as? HCI.LEPathLossThreshold }
    )
  }

  fileprivate mutating func setPathLoss(_ loss: UInt8?) {
    stage.radio.setPathLoss(loss, between: central, and: peripheral, now: stage.now)
  }

  fileprivate mutating func setTransmitPower(_ level: Int8, _ role: HCI.Role) {
    stage.radio.setTransmitPower(level, of: id(role), now: stage.now)
  }

  fileprivate mutating func rssi(_ role: HCI.Role) throws -> Int8 {
    let handle = handle(role)
    return try stage.ask(HCI.ReadRSSI { $0.connectionHandle = handle }, from: id(role)).rssi
  }

  fileprivate mutating func monitor(_ role: HCI.Role, _ parameters: HCI.LESetPathLossReportingParameters) throws {
    var parameters = parameters
    parameters.connectionHandle = handle(role)
    let enable = HCI.LESetPathLossReportingEnable { [handle = handle(role)] in
      ($0.connectionHandle, $0.enable) = (handle, true)
    }
    try stage.expect(.success, for: parameters, from: id(role))
    try stage.expect(.success, for: enable, from: id(role))
  }
}
