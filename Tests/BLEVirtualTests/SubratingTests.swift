import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// Connection subrating: Vol 6, Part B, 4.5.1, 5.1.19 and 5.1.20; Vol 4, Part E, 7.8.123 and 7.8.124.
@Suite struct SubratingTests {
  /// Two controllers whose hosts support subrating, unless a test says otherwise.
  private static func pair(
    _ pacing: VirtualRadio.Pacing = .immediate, accepting: HCI.SubrateParameters = parameters(1...100),
    hostSupport: (central: Bool, peripheral: Bool) = (true, true),
    peripheral configure: (inout VirtualControllerConfiguration) -> Void = { _ in }
  ) throws -> LinkPair {
    try LinkPair(pacing, peripheral: configure) { stage, central, peripheral in
      for (id, supports) in [(central, hostSupport.central), (peripheral, hostSupport.peripheral)] where supports {
        try stage.expect(.success, for: HCI.LESetHostFeature { ($0.bitNumber, $0.bitValue) = (38, true) }, from: id)
      }
      try stage.expect(.success, for: HCI.LESetDefaultSubrate { $0.parameters = accepting }, from: central)
    }
  }

  static func parameters(
    _ factor: ClosedRange<UInt16>, latency: UInt16 = 0, continuation: UInt16 = 0, timeout: UInt16 = 500
  ) -> HCI.SubrateParameters {
    HCI.SubrateParameters {
      ($0.subrateMin, $0.subrateMax) = (factor.lowerBound, factor.upperBound)
      ($0.maxLatency, $0.continuationNumber, $0.supervisionTimeout) = (latency, continuation, timeout)
    }
  }

  private func change(
    _ handle: ConnectionHandle, _ factor: UInt16, latency: UInt16 = 0, continuation: UInt16 = 0, timeout: UInt16 = 500,
    _ status: HCIErrorCode = .success
  ) -> HCI.LESubrateChange {
    HCI.LESubrateChange {
      ($0.status, $0.connectionHandle, $0.subrateFactor) = (status, handle, factor)
      ($0.peripheralLatency, $0.continuationNumber, $0.supervisionTimeout) = (latency, continuation, timeout)
    }
  }

  @Test(arguments: [
    (parameters(0...4), HCIErrorCode.invalidCommandParameters), (parameters(1...501), .invalidCommandParameters),
    // At the limit of 500, and past it.
    (parameters(1...100, latency: 4, timeout: 3200), .success),
    (parameters(1...100, latency: 5, timeout: 3200), .invalidCommandParameters),
    (parameters(1...4, continuation: 3), .success), (parameters(1...4, continuation: 4), .invalidCommandParameters),
    (parameters(1...4, timeout: 9), .invalidCommandParameters),
    (parameters(1...4, timeout: 3201), .invalidCommandParameters),
    // Twice 10 events of 30 ms are 600 ms.
    (parameters(1...10, timeout: 61), .success), (parameters(1...10, timeout: 60), .invalidCommandParameters),
  ])
  func aRequestIsWithinTheLimits(_ parameters: HCI.SubrateParameters, _ status: HCIErrorCode) throws {
    for role in [HCI.Role.central, .peripheral] {
      var pair = try Self.pair()
      try pair.stage.expect(status, for: pair.request(role, parameters), from: pair.id(role))
    }
  }

  @Test func commandsAreRefusedWithTheErrorsOfTheSpecification() throws {
    var pair = try Self.pair()
    let unknown = HCI.LESubrateRequest { $0.connectionHandle = ConnectionHandle(rawValue: 0x0999) }
    try pair.stage.expect(.unknownConnectionIdentifier, for: unknown, from: pair.central)
    let invalid = HCI.LESetDefaultSubrate { $0.parameters = Self.parameters(1...2, continuation: 2) }
    try pair.stage.expect(.invalidCommandParameters, for: invalid, from: pair.central)
    // The host has not said that it supports subrating.
    var silent = try Self.pair(hostSupport: (false, true))
    let request = silent.request(.central, Self.parameters(4...4))
    try silent.stage.expect(.commandDisallowed, for: request, from: silent.central)
    // A controller without the feature does not know the commands.
    var stage = RadioStage()
    let old = stage.attach { $0.features.remove(.connectionSubrating) }
    try stage.expect(.unknownCommand, for: HCI.LESetDefaultSubrate(), from: old)
    try stage.expect(.unknownCommand, for: HCI.LESubrateRequest(), from: old)
  }

  @Test(arguments: LinkTests.pacings) func theCentralDecides(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Self.pair(pacing)
    _ = try pair.changes()
    let request = pair.request(.central, Self.parameters(2...8, latency: 1, continuation: 3))
    try pair.stage.expect(.success, for: request, from: pair.central)
    let (central, peripheral) = try pair.changes()
    #expect(central == [change(pair.handles.central, 8, latency: 1, continuation: 3)])
    #expect(peripheral == [change(pair.handles.peripheral, 8, latency: 1, continuation: 3)])
    // The same again is reported to the host that requests it.
    try pair.stage.expect(.success, for: request, from: pair.central)
    let (again, unchanged) = try pair.changes()
    #expect(again.count == 1 && unchanged.isEmpty)
  }

  /// The intersection of the request and of what the central accepts: the smaller latency and timeout, the greater
  /// continuation number, and a factor for which the timeout is long enough.
  @Test(arguments: LinkTests.pacings) func thePeripheralRequests(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Self.pair(pacing, accepting: Self.parameters(2...20, latency: 1, continuation: 2, timeout: 100))
    _ = try pair.changes()
    let request = pair.request(.peripheral, Self.parameters(4...30, latency: 3, timeout: 1600))
    try pair.stage.expect(.success, for: request, from: pair.peripheral)
    let (central, peripheral) = try pair.changes()
    // 1 s is longer than 2 x 2 x 8 x 30 ms, and not than 2 x 2 x 9 x 30 ms.
    #expect(central == [change(pair.handles.central, 8, latency: 1, continuation: 2, timeout: 100)])
    #expect(peripheral == [change(pair.handles.peripheral, 8, latency: 1, continuation: 2, timeout: 100)])
  }

  @Test(arguments: LinkTests.pacings) func aRequestBeyondTheAcceptedOnesIsRejected(
    _ pacing: VirtualRadio.Pacing
  ) throws {
    var pair = try Self.pair(pacing, accepting: Self.parameters(1...2))
    _ = try pair.changes()
    let request = pair.request(.peripheral, Self.parameters(4...8))
    try pair.stage.expect(.success, for: request, from: pair.peripheral)
    let (central, peripheral) = try pair.changes()
    #expect(central.isEmpty)
    #expect(peripheral == [change(pair.handles.peripheral, 1, .unsupportedLinkLayerParameterValue)])
    // The central's own request widens what it accepts.
    try pair.stage.expect(.success, for: pair.request(.central, Self.parameters(1...8)), from: pair.central)
    _ = try pair.changes()
    try pair.stage.expect(.success, for: request, from: pair.peripheral)
    #expect(try pair.changes().peripheral.last?.subrateFactor == 8)
  }

  @Test(arguments: LinkTests.pacings, [false, true]) func aPeerWithoutItRejects(
    _ pacing: VirtualRadio.Pacing, hasController: Bool
  ) throws {
    var pair = try Self.pair(
      pacing, hostSupport: (true, false), peripheral: { if !hasController { $0.features.remove(.connectionSubrating) } }
    )
    _ = try pair.changes()
    try pair.stage.expect(.success, for: pair.request(.central, Self.parameters(4...4)), from: pair.central)
    let (central, peripheral) = try pair.changes()
    #expect(central == [change(pair.handles.central, 1, .unsupportedRemoteFeature)] && peripheral.isEmpty)
  }

  /// Another interval ends subrating; another latency does not (Vol 6, Part B, 5.1.1).
  @Test func anotherIntervalEndsSubrating() throws {
    var link = try Self.link(interval: 24, factor: 4, continuation: 3)
    #expect(link.events(for: link.interval * 400).used == 100)
    let update = HCI.LEConnectionUpdate {
      $0.connectionHandle = link.handles.central
      $0.parameters = LinkTests.parameters(40)
    }
    try link.stage.expect(.success, for: update, from: link.central)
    link.run(for: .seconds(5))
    #expect(link.events(for: .milliseconds(50) * 400).used == 400)
  }

  /// Used events and continuation events of a factor of 4.
  @Test func aSubratedLinkUsesSubratedAndContinuationEvents() {
    let timing = LinkLayerTiming(interval: 8, latency: 0, timeout: 100)
    var schedule = ConnectionSchedule(timing: timing, firstAnchor: .start)
    schedule.begin(0)
    schedule.begin(2)
    schedule.apply(LinkLayerSubrating(factor: 4, latency: 1, continuation: 2, timeout: 200))
    // Subrated events are 2, 6, 10, 14; the peripheral must listen in 2, 10, 18.
    func next(_ milliseconds: Int64, _ role: HCI.Role) -> Int {
      schedule.nextEvent(after: .start + .milliseconds(milliseconds), for: role)
    }
    #expect(next(20, .peripheral) == 6 && next(20, .central) == 10)
    #expect(next(60, .peripheral) == 10 && next(100, .central) == 18)
    schedule.begin(6)
    schedule.exchangedData()
    #expect(next(60, .peripheral) == 7 && next(70, .central) == 8)
    #expect(next(80, .peripheral) == 10 && next(80, .central) == 14)
    // Events 0 to 2; 6, the continuation events 7 and 8, and 10.
    let counts = schedule.counts(at: .start + .milliseconds(110))
    #expect(counts.used == 3 + 4 && counts.withData == 1 && counts.empty == 6)
  }

  // MARK: The effect

  /// A link with subrating, on which nothing has been sent for a while.
  private static func link(interval: UInt16, factor: UInt16, continuation: UInt16) throws -> AirtimeLink {
    var link = try AirtimeLink(
      interval: interval, central: { $0.features.insert(.connectionSubratingHostSupport) },
      peripheral: { $0.features.insert(.connectionSubratingHostSupport) })
    if factor > 1 {
      let request = HCI.LESubrateRequest {
        $0.connectionHandle = link.handles.central
        $0.parameters = parameters(factor...factor, continuation: continuation)
      }
      try link.stage.expect(.success, for: request, from: link.central)
    }
    link.run(for: .seconds(5))
    link.clear()
    return link
  }

  /// Low power by subrating takes as few connection events as a long interval, and a burst is as fast as with a short
  /// one.
  @Test func subratingSavesEventsAndKeepsBurstsFast() throws {
    var short = try Self.link(interval: 12, factor: 1, continuation: 0)
    var long = try Self.link(interval: 96, factor: 1, continuation: 0)
    var subrated = try Self.link(interval: 12, factor: 8, continuation: 7)
    var withoutContinuation = try Self.link(interval: 12, factor: 8, continuation: 0)

    let minute = Duration.seconds(60)
    #expect(short.events(for: minute).used == 4000 && long.events(for: minute).used == 500)
    #expect(subrated.events(for: minute).used == 500 && withoutContinuation.events(for: minute).used == 500)

    let times = (
      short: short.burst(of: 20), long: long.burst(of: 20), subrated: subrated.burst(of: 20),
      withoutContinuation: withoutContinuation.burst(of: 20)
    )
    // Ten questions and answers take two events each, but the first may wait for a subrated event.
    #expect(times.short <= .milliseconds(15 * 21))
    #expect(times.subrated <= .milliseconds(15 * 20 + 120))
    #expect(times.long > .milliseconds(1200) && times.withoutContinuation > .milliseconds(1200))
    #expect(times.subrated * 3 < times.long)
  }
}

extension LinkPair {
  fileprivate func request(_ role: HCI.Role, _ parameters: HCI.SubrateParameters) -> HCI.LESubrateRequest {
    HCI.LESubrateRequest { [handle = handle(role)] in
      ($0.connectionHandle, $0.parameters) = (handle, parameters)
    }
  }

  fileprivate mutating func changes() throws -> (central: [HCI.LESubrateChange], peripheral: [HCI.LESubrateChange]) {
    try take(HCI.LESubrateChange.self)
  }
}
