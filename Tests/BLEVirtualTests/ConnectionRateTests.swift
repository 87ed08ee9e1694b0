import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// Shorter connection intervals: Vol 4, Part E, 7.8.128, 7.8.129, 7.8.115 and 7.8.154 to 7.8.156.
@Suite struct ConnectionRateTests {
  /// Two controllers whose hosts support shorter connection intervals, unless a test says otherwise.
  private static func pair(
    _ pacing: VirtualRadio.Pacing = .immediate, accepting: HCI.ConnectionRateParameters = parameters(8...400, 1...20),
    hostSupport: (central: Bool, peripheral: Bool) = (true, true),
    central configureCentral: (inout VirtualControllerConfiguration) -> Void = { _ in },
    peripheral configurePeripheral: (inout VirtualControllerConfiguration) -> Void = { _ in }
  ) throws -> LinkPair {
    let intervals = VirtualConnectionIntervals(minimum: 8)
    return try LinkPair(pacing) {
      $0.connectionIntervals = intervals
      configureCentral(&$0)
    } peripheral: {
      $0.connectionIntervals = intervals
      configurePeripheral(&$0)
    } prepare: { stage, central, peripheral in
      for (id, supports) in [(central, hostSupport.central), (peripheral, hostSupport.peripheral)] where supports {
        try stage.expect(.success, for: Self.hostSupport, from: id)
      }
      try stage.expect(.success, for: HCI.LESetDefaultRateParameters { $0.parameters = accepting }, from: central)
    }
  }

  static let hostSupport = HCI.LESetHostFeatureV2 { ($0.bitNumber, $0.bitValue) = (73, true) }

  static func parameters(
    _ interval: ClosedRange<UInt16>, _ factor: ClosedRange<UInt16> = 1...1, latency: UInt16 = 0,
    continuation: UInt16 = 0, timeout: UInt16 = 500
  ) -> HCI.ConnectionRateParameters {
    HCI.ConnectionRateParameters {
      ($0.connectionIntervalMin, $0.connectionIntervalMax) = (interval.lowerBound, interval.upperBound)
      ($0.subrateMin, $0.subrateMax) = (factor.lowerBound, factor.upperBound)
      ($0.maxLatency, $0.continuationNumber, $0.supervisionTimeout) = (latency, continuation, timeout)
    }
  }

  private func change(
    _ handle: ConnectionHandle, _ interval: UInt16, _ factor: UInt16 = 1, latency: UInt16 = 0, continuation: UInt16 = 0,
    timeout: UInt16 = 500, status: HCIErrorCode = .success
  ) -> HCI.LEConnectionRateChange {
    HCI.LEConnectionRateChange {
      ($0.status, $0.connectionHandle, $0.connectionInterval, $0.subrateFactor) = (status, handle, interval, factor)
      ($0.peripheralLatency, $0.continuationNumber, $0.supervisionTimeout) = (latency, continuation, timeout)
    }
  }

  // MARK: Commands

  @Test(arguments: [
    (parameters(2...8), HCIErrorCode.invalidCommandParameters), (parameters(8...32_001), .invalidCommandParameters),
    (parameters(8...8), .success), (parameters(3...8), .success),
    // The controllers have 1 ms and more.
    (parameters(3...7), .unsupportedFeatureOrParameterValue),
    (parameters(8...8, 0...4), .invalidCommandParameters), (parameters(8...8, 1...501), .invalidCommandParameters),
    (parameters(8...8, 1...100, latency: 4), .success),
    (parameters(8...8, 1...100, latency: 5), .invalidCommandParameters),
    (parameters(8...8, 1...4, continuation: 3), .success),
    (parameters(8...8, 1...4, continuation: 4), .invalidCommandParameters),
    (parameters(8...8, timeout: 9), .invalidCommandParameters),
    (parameters(8...8, timeout: 3201), .invalidCommandParameters),
    // Twice 50 ms are 100 ms.
    (parameters(8...399, timeout: 10), .success), (parameters(8...400, timeout: 10), .invalidCommandParameters),
  ])
  func aRequestIsWithinTheLimits(_ parameters: HCI.ConnectionRateParameters, _ status: HCIErrorCode) throws {
    for role in [HCI.Role.central, .peripheral] {
      var pair = try Self.pair()
      try pair.stage.expect(status, for: pair.request(role, parameters), from: pair.id(role))
    }
  }

  @Test func commandsAreRefusedWithTheErrorsOfTheSpecification() throws {
    var pair = try Self.pair()
    let unknown = HCI.LEConnectionRateRequest { $0.connectionHandle = ConnectionHandle(rawValue: 0x0999) }
    try pair.stage.expect(.unknownConnectionIdentifier, for: unknown, from: pair.central)
    let invalid = HCI.LESetDefaultRateParameters { $0.parameters = Self.parameters(8...8, 1...2, continuation: 2) }
    try pair.stage.expect(.invalidCommandParameters, for: invalid, from: pair.central)
    let short = HCI.LESetDefaultRateParameters { $0.parameters = Self.parameters(3...7) }
    try pair.stage.expect(.unsupportedFeatureOrParameterValue, for: short, from: pair.central)
    // While there is a link.
    try pair.stage.expect(.commandDisallowed, for: Self.hostSupport, from: pair.central)
    let pages = HCI.LEReadAllRemoteFeatures {
      ($0.connectionHandle, $0.pagesRequested) = (pair.handles.central, 11)
    }
    try pair.stage.expect(.invalidCommandParameters, for: pages, from: pair.central)
    // The host has not said that it supports them.
    var silent = try Self.pair(hostSupport: (false, true))
    let request = silent.request(.central, Self.parameters(8...8))
    try silent.stage.expect(.commandDisallowed, for: request, from: silent.central)
  }

  /// A controller without the feature, as all are by default, does not know the commands, and has no further pages.
  @Test func aControllerWithoutTheFeatureHasNoneOfItsCommands() throws {
    var stage = RadioStage()
    let old = stage.attach()
    try stage.expect(.unknownCommand, for: HCI.LEConnectionRateRequest(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LESetDefaultRateParameters(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LEReadMinimumSupportedConnectionInterval(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LEReadAllLocalSupportedFeatures(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LEReadAllRemoteFeatures(), from: old)
    try stage.expect(.unknownCommand, for: Self.hostSupport, from: old)
    let one = HCI.LESetHostFeature { ($0.bitNumber, $0.bitValue) = (73, true) }
    try stage.expect(.unsupportedFeatureOrParameterValue, for: one, from: old)
    #expect(
      try stage.ask(HCI.LEReadLocalSupportedFeatures(), from: old).features.contains(.llExtendedFeatureSet) == false)
  }

  @Test(arguments: [1, 2]) func theHostAddsABitOfTheFurtherFeatures(_ version: Int) throws {
    var stage = RadioStage()
    let id = stage.attach { $0.connectionIntervals = VirtualConnectionIntervals() }
    if version == 1 {
      try stage.expect(.success, for: HCI.LESetHostFeature { ($0.bitNumber, $0.bitValue) = (73, true) }, from: id)
    } else {
      try stage.expect(.success, for: Self.hostSupport, from: id)
    }
    let all = try stage.ask(HCI.LEReadAllLocalSupportedFeatures(), from: id)
    #expect(all.maxPage == 1 && all.features.features.contains(.llExtendedFeatureSet))
    #expect(all.features.furtherFeatures == [.shorterConnectionIntervals, .shorterConnectionIntervalsHostSupport])
    let removal = HCI.LESetHostFeatureV2 { ($0.bitNumber, $0.bitValue) = (73, false) }
    try stage.expect(.success, for: removal, from: id)
    #expect(
      try stage.ask(HCI.LEReadAllLocalSupportedFeatures(), from: id).features.furtherFeatures
        == .shorterConnectionIntervals)
    for bit: UInt16 in [72, 64, 12, 1983] {
      let refused = HCI.LESetHostFeatureV2 { ($0.bitNumber, $0.bitValue) = (bit, true) }
      try stage.expect(.unsupportedFeatureOrParameterValue, for: refused, from: id)
    }
  }

  @Test func theControllerReportsItsIntervals() throws {
    let group = HCI.ConnectionIntervalGroup { ($0.groupMin, $0.groupMax, $0.groupStride) = (10, 40, 10) }
    var stage = RadioStage()
    let id = stage.attach { $0.connectionIntervals = VirtualConnectionIntervals(minimum: 10, groups: [group]) }
    let answer = try stage.ask(HCI.LEReadMinimumSupportedConnectionInterval(), from: id)
    #expect(answer.minimumSupportedConnectionInterval == 10 && answer.groups == [group])
    // Those of the groups, and those of LE Connection Update.
    for (interval, isSupported): (UInt16, Bool) in [
      (9, false), (10, true), (11, false), (40, true), (41, false), (50, false), (60, true), (65, false), (70, true),
      (32_000, true),
    ] {
      #expect(answer.supports(interval) == isSupported, "\(interval)")
    }
    #expect(answer.shortest(in: 11...19) == nil && answer.shortest(in: 11...32_000) == 20)
    #expect(answer.shortest(in: 41...60) == 60)
    // A limit and one past it; a group of one interval.
    let many = VirtualConnectionIntervals(
      minimum: 3,
      groups: (0...UInt16(VirtualConnectionIntervals.maximumGroups)).map { index in
        HCI.ConnectionIntervalGroup { ($0.groupMin, $0.groupMax, $0.groupStride) = (3 + index, 3 + index, 0) }
      })
    #expect(many.groups.count == 42 && many.supported.groups.count == 41)
    #expect(many.supported.supports(43) && !many.supported.supports(44))
    let full = stage.attach { $0.connectionIntervals = many }
    #expect(try stage.ask(HCI.LEReadMinimumSupportedConnectionInterval(), from: full).groups.count == 41)
  }

  // MARK: The features of the peer

  @Test(arguments: LinkTests.pacings, [0, 1, 2]) func theFurtherFeaturesOfThePeerAreRead(
    _ pacing: VirtualRadio.Pacing, _ way: Int
  ) throws {
    var pair = try Self.pair(
      pacing, hostSupport: (true, way == 0), peripheral: { if way == 2 { $0.connectionIntervals = nil } })
    for pages: UInt8 in [0, 1, 10] {
      let command = HCI.LEReadAllRemoteFeatures {
        ($0.connectionHandle, $0.pagesRequested) = (pair.handles.central, pages)
      }
      try pair.stage.expect(.success, for: command, from: pair.central)
      pair.stage.run(for: .seconds(2))
      let event = try #require(
        try pair.stage.metaEvents(pair.central).compactMap { $0 as? HCI.LEReadAllRemoteFeaturesComplete }.last)
      #expect(event.status == .success && event.maxRemotePage == (way == 2 ? 0 : 1))
      #expect(event.maxValidPage == min(pages, event.maxRemotePage))
      #expect(event.features.features.contains(.encryption))
      let expected: HCI.LEFurtherFeatures =
        switch (way, pages) {
        case (2, _), (_, 0): []
        case (1, _): .shorterConnectionIntervals
        default: [.shorterConnectionIntervals, .shorterConnectionIntervalsHostSupport]
        }
      #expect(event.features.furtherFeatures == expected)
    }
  }

  // MARK: The procedure

  @Test(arguments: LinkTests.pacings) func theCentralDecides(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Self.pair(pacing)
    let request = pair.request(.central, Self.parameters(5...20, 2...8, latency: 1, continuation: 3))
    try pair.stage.expect(.success, for: request, from: pair.central)
    let (central, peripheral) = try pair.changes()
    #expect(central == [change(pair.handles.central, 8, 8, latency: 1, continuation: 3)])
    #expect(peripheral == [change(pair.handles.peripheral, 8, 8, latency: 1, continuation: 3)])
    // The same again is reported to the host that requests it.
    try pair.stage.expect(.success, for: request, from: pair.central)
    let (again, unchanged) = try pair.changes()
    #expect(again.count == 1 && unchanged.isEmpty)
  }

  /// The intersection of the request and of what the central accepts: the shortest interval, the smaller latency and
  /// timeout, the greater continuation number, and a factor for which the timeout is long enough.
  @Test(arguments: LinkTests.pacings) func thePeripheralRequests(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Self.pair(
      pacing, accepting: Self.parameters(10...100, 2...20, latency: 1, continuation: 2, timeout: 101))
    let request = pair.request(.peripheral, Self.parameters(80...200, 4...30, latency: 3, timeout: 1600))
    try pair.stage.expect(.success, for: request, from: pair.peripheral)
    let (central, peripheral) = try pair.changes()
    // 1.01 s are longer than 2 x 2 x 20 x 10 ms.
    #expect(central == [change(pair.handles.central, 80, 20, latency: 1, continuation: 2, timeout: 101)])
    #expect(peripheral == [change(pair.handles.peripheral, 80, 20, latency: 1, continuation: 2, timeout: 101)])
  }

  @Test(arguments: LinkTests.pacings) func aRequestBeyondTheAcceptedOnesIsRejected(
    _ pacing: VirtualRadio.Pacing
  ) throws {
    var pair = try Self.pair(pacing, accepting: Self.parameters(20...40, 1...2))
    for wanted in [Self.parameters(8...19), Self.parameters(41...60), Self.parameters(20...40, 3...4)] {
      try pair.stage.expect(.success, for: pair.request(.peripheral, wanted), from: pair.peripheral)
      let (central, peripheral) = try pair.changes()
      #expect(central.isEmpty)
      #expect(peripheral == [change(pair.handles.peripheral, 240, status: .unsupportedLinkLayerParameterValue)])
    }
    // The central's own request widens what it accepts.
    try pair.stage.expect(.success, for: pair.request(.central, Self.parameters(10...60)), from: pair.central)
    _ = try pair.changes()
    try pair.stage.expect(.success, for: pair.request(.peripheral, Self.parameters(8...19)), from: pair.peripheral)
    #expect(try pair.changes().peripheral.isEmpty == false)
  }

  /// Without the feature, without the support of its host, or without the interval.
  @Test(arguments: LinkTests.pacings, [0, 1, 2]) func aPeerWithoutItRejects(
    _ pacing: VirtualRadio.Pacing, _ way: Int
  ) throws {
    var pair = try Self.pair(
      pacing, hostSupport: (true, way == 2),
      peripheral: {
        if way == 0 { $0.connectionIntervals = nil }
        if way == 2 { $0.connectionIntervals = VirtualConnectionIntervals(minimum: 16) }
      })
    let request = pair.request(.central, Self.parameters(8...8))
    try pair.stage.expect(.success, for: request, from: pair.central)
    let (central, peripheral) = try pair.changes()
    let reason: HCIErrorCode = way == 2 ? .unsupportedLinkLayerParameterValue : .unsupportedRemoteFeature
    #expect(central == [change(pair.handles.central, 240, status: reason)] && peripheral.isEmpty)
    // The link goes on as before, and takes another request.
    try pair.stage.expect(.success, for: request, from: pair.central)
    #expect(try pair.changes().central.count == 1)
  }

  @Test func aPeripheralOfACentralWithoutItIsRejected() throws {
    var pair = try Self.pair(hostSupport: (false, true))
    try pair.stage.expect(.success, for: pair.request(.peripheral, Self.parameters(8...8)), from: pair.peripheral)
    #expect(try pair.changes().peripheral == [change(pair.handles.peripheral, 240, status: .unsupportedRemoteFeature)])
  }

  /// LE Connection Update has units of 1.25 ms, and another interval ends subrating.
  @Test(arguments: LinkTests.pacings) func aConnectionUpdateEndsTheRate(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Self.pair(pacing)
    try pair.stage.expect(.success, for: pair.request(.central, Self.parameters(9...9, 4...4)), from: pair.central)
    #expect(try pair.changes().peripheral.last?.connectionInterval == 9)
    let update = HCI.LEConnectionUpdate {
      $0.connectionHandle = pair.handles.central
      $0.parameters = LinkTests.parameters(40)
    }
    try pair.stage.expect(.success, for: update, from: pair.central)
    pair.stage.run(for: .seconds(2))
    for id in [pair.central, pair.peripheral] {
      let event = try #require(
        try pair.stage.metaEvents(id).compactMap { $0 as? HCI.LEConnectionUpdateComplete }.last)
      #expect(event.status == .success && event.connectionInterval == 40)
    }
    try pair.stage.expect(.success, for: pair.request(.central, Self.parameters(8...8)), from: pair.central)
    #expect(try pair.changes().peripheral == [change(pair.handles.peripheral, 8)])
  }

  // MARK: The effect

  /// A link of 30 ms with airtime, whose interval is then changed to one in units of 125 us.
  private static func link(
    rate: UInt16, factor: UInt16 = 1, latency: UInt16 = 0, continuation: UInt16 = 0, isEncrypted: Bool = false
  ) throws -> AirtimeLink {
    var link = try AirtimeLink(
      central: { $0.connectionIntervals = VirtualConnectionIntervals(minimum: 3) },
      peripheral: { $0.connectionIntervals = VirtualConnectionIntervals(minimum: 3) },
      prepare: { try $0.expect(.success, for: hostSupport, from: $1) })
    if isEncrypted { try link.encrypt() }
    try request(rate, factor, latency, continuation, of: &link)
    return link
  }

  private static func request(
    _ rate: UInt16, _ factor: UInt16 = 1, _ latency: UInt16 = 0, _ continuation: UInt16 = 0, of link: inout AirtimeLink
  ) throws {
    let request = HCI.LEConnectionRateRequest {
      $0.connectionHandle = link.handles.central
      $0.parameters = parameters(rate...rate, factor...factor, latency: latency, continuation: continuation)
    }
    try link.stage.expect(.success, for: request, from: link.central)
    link.run(for: .seconds(5))
    link.clear()
  }

  @Test(arguments: [(8, 1000), (10, 800), (9, 889), (3, 2667), (60, 133), (13, 615)] as [(UInt16, Int)])
  func aLinkHasEventsAtItsInterval(_ rate: UInt16, _ eventsOfASecond: Int) throws {
    var link = try Self.link(rate: rate)
    let found = link.events(for: .seconds(1))
    #expect(abs(found.used - eventsOfASecond) <= 1, "\(found)")
    #expect(found.attended == found.used)
  }

  @Test func subratingAndLatencyApplyToTheInterval() throws {
    var subrated = try Self.link(rate: 8, factor: 10, continuation: 9)
    #expect(subrated.events(for: .seconds(10)).used == 1000)
    var latent = try Self.link(rate: 8, latency: 4)
    let found = latent.events(for: .seconds(10))
    #expect(found.used == 10_000 && found.attended == 2000)
    // An update in units of 1.25 ms ends both.
    let update = HCI.LEConnectionUpdate {
      $0.connectionHandle = subrated.handles.central
      $0.parameters = LinkTests.parameters(8)
    }
    try subrated.stage.expect(.success, for: update, from: subrated.central)
    subrated.run(for: .seconds(5))
    #expect(subrated.events(for: .seconds(10)).used == 1000)
  }

  /// Ten questions and answers take two events each.
  @Test(arguments: [false, true]) func aRoundTripTakesTwoIntervals(_ isEncrypted: Bool) throws {
    for rate: UInt16 in [6, 8, 60] {
      var link = try Self.link(rate: rate, isEncrypted: isEncrypted)
      let time = link.burst(of: 10)
      let interval = Duration.microseconds(125 * Int64(rate))
      #expect(time <= interval * 21 && time > interval * 15, "\(rate): \(time)")
    }
  }

  /// Both ends send as much as they can at once: neither keeps the other from its turn, on each PHY, also where an
  /// event holds no data packet of both.
  @Test(arguments: [3, 8] as [UInt16], [HCI.PHYs.le1M, .le2M, .leCoded])
  func bothEndsSendAtShortIntervals(_ rate: UInt16, _ phy: HCI.PHYs) throws {
    // A short event may hold less than the 27 octets of every data length.
    func octets(_ arrivals: [AirtimeLink.Arrival]) -> Int {
      arrivals.filter(\.isData).map { $0.packet.count - 5 }.reduce(0, +)
    }
    var link = try Self.link(rate: 60)
    if phy != .le1M { try link.setPHY(phy) }
    try Self.request(rate, of: &link)
    link.clear()
    for _ in 0..<4 {
      link.send(60, from: link.central)
      link.send(60, from: link.peripheral)
    }
    link.run(for: .seconds(2))
    #expect(octets(link.atPeripheral) == 240 && octets(link.atCentral) == 240)
    // The peripheral's procedures come through as well.
    let features = HCI.LEReadAllRemoteFeatures {
      ($0.connectionHandle, $0.pagesRequested) = (link.handles.peripheral, 1)
    }
    try link.stage.expect(.success, for: features, from: link.peripheral)
    link.run(for: .seconds(1))
    let subevent = HCI.LEReadAllRemoteFeaturesComplete.subeventCode.rawValue
    #expect(link.atPeripheral.contains { $0.packet.starts(with: [0x04, 0x3E]) && $0.packet[3] == subevent })
  }

  /// A link of a short interval that is out of range ends after its supervision timeout.
  @Test func aShortIntervalKeepsTheSupervisionTimeout() throws {
    var link = try Self.link(rate: 8)
    let start = link.stage.now
    link.stage.detach(link.peripheral)
    link.run(for: .seconds(10))
    let end = try #require(link.atCentral.first { $0.packet.starts(with: [0x04, 0x05]) })
    #expect(end.time - start <= .seconds(5) && end.time - start > .milliseconds(4998))
  }
}

extension LinkPair {
  fileprivate func request(
    _ role: HCI.Role, _ parameters: HCI.ConnectionRateParameters
  ) -> HCI.LEConnectionRateRequest {
    HCI.LEConnectionRateRequest { [handle = handle(role)] in
      ($0.connectionHandle, $0.parameters) = (handle, parameters)
    }
  }

  fileprivate mutating func changes() throws -> (
    central: [HCI.LEConnectionRateChange], peripheral: [HCI.LEConnectionRateChange]
  ) { try take(HCI.LEConnectionRateChange.self) }
}
