import BLEATT
import BLEGATT
import BLEHCI
import BLESMP
import BLEVirtual
import BLEWire
import Testing

@testable import BLEHost

/// A session of a central and a peripheral in virtual time, with one fault of the controller of one of them, for every
/// command that the host sends in it and every event that it receives.
@Suite("A controller that errs") struct ErringControllerTests {
  /// The longest time that a call waits for its answer: that of a procedure of the link layer, and what follows it.
  static let limit = Duration.seconds(75)

  /// What a controller does to one command, or to its answer.
  enum CommandFault: CaseIterable {
    case unknown, disallowed, unsupported, invalid, unspecified
    case disallowedOnce, unspecifiedOnce
    case neverAnswered, acceptedAndNeverCompleted, answeredTwice, answeredLate

    func faults(_ opcode: HCIOpcode) -> [VirtualFault] {
      let commands = VirtualFault.Commands.only([opcode])
      return switch self {
      case .unknown: [.refuses(commands, .unknownCommand)]
      case .disallowed: [.refuses(commands, .commandDisallowed)]
      case .unsupported: [.refuses(commands, .unsupportedFeatureOrParameterValue)]
      case .invalid: [.refuses(commands, .invalidCommandParameters)]
      case .unspecified: [.refuses(commands, .unspecifiedError)]
      case .disallowedOnce: [.refusesFirst(commands, .commandDisallowed, times: 1)]
      case .unspecifiedOnce: [.refusesFirst(commands, .unspecifiedError, times: 1)]
      case .neverAnswered: [.neverAnswers(commands)]
      case .acceptedAndNeverCompleted: [.answers(commands, with: Self.accepted(opcode))]
      case .answeredTwice: [.answersTwice(commands)]
      case .answeredLate: [.packets(PacketFault(.late(.milliseconds(1_900)), .answers(commands), .toHost))]
      }
    }

    private static func accepted(_ opcode: HCIOpcode) -> [UInt8] {
      var packet: [UInt8] = []
      packet.append(
        hci: HCI.CommandStatus { ($0.opcode, $0.status, $0.numHCICommandPackets) = (opcode, .success, 1) })
      return packet
    }
  }

  /// What a controller does to the events of one kind.
  static let eventFaults: [PacketFault.Effect] =
    [.drop, .duplicate] + [1, 10, 100, 1_000, 10_000, 60_000].map { .late(.milliseconds($0)) }
    + [.overtake(.milliseconds(5)), .overtake(.milliseconds(30))]

  /// What is known of a session without a fault.
  private struct Sound {
    /// The commands of each host.
    var opcodes: [[HCIOpcode]]
    /// The events that each host receives.
    var events: [[[UInt8]]]
    var outcomes: [String]
  }

  /// The commands and events of each kind of session, without those of the kinds before it.
  private static let sound: [ErringSession.Kind: Sound] = {
    var all: [ErringSession.Kind: Sound] = [:]
    for kind in ErringSession.Kind.allCases {
      var sound = sound(kind)
      for other in all.values {
        for host in 0...1 {
          sound.opcodes[host].removeAll { other.opcodes[host].contains($0) }
          sound.events[host].removeAll { other.events[host].contains($0) }
        }
      }
      all[kind] = sound
    }
    return all
  }()

  private static func sound(_ kind: ErringSession.Kind) -> Sound {
    var session = ErringSession(kind, [:])
    session.run()
    let opcodes = (0...1).map { host -> [HCIOpcode] in
      let all = session.couple.world.sent[host].filter { $0[0] == 1 }.map {
        HCIOpcode(rawValue: UInt16($0[1]) | UInt16($0[2]) << 8)
      }
      return Set(all).sorted { $0.rawValue < $1.rawValue }
    }
    let events = (0...1).map { session.couple.world.receivedEvents[$0].sorted { $0.lexicographicallyPrecedes($1) } }
    return Sound(opcodes: opcodes, events: events, outcomes: session.outcomes)
  }

  @Test(arguments: [(ErringSession.Kind.attributes, 25, 8), (.trains, 5, 1), (.rates, 8, 2)])
  func aSoundSessionEndsWell(kind: ErringSession.Kind, commands: Int, events: Int) throws {
    let sound = try #require(Self.sound[kind])
    #expect(sound.outcomes.allSatisfy { $0.hasSuffix(": done") }, "\(sound.outcomes)")
    #expect(sound.opcodes.allSatisfy { $0.count >= commands }, "\(sound.opcodes)")
    #expect(sound.events.allSatisfy { $0.count >= events }, "\(sound.events)")
  }

  /// - Parameter isKnown: whether a host can know of the fault.
  private func check(
    _ kind: ErringSession.Kind, _ host: Int, _ faults: [VirtualFault], isKnown: Bool = true, _ comment: String
  ) -> Duration {
    var session = ErringSession(kind, [host: faults])
    session.run()
    for fault in session.broken { Issue.record("\(comment): \(fault)") }
    let isUnexplained = !session.outcomes.allSatisfy { $0.hasSuffix(": done") } && !session.isExplained(host)
    #expect(!isKnown || !isUnexplained, "\(comment): no line explains \(session.outcomes)")
    if let fault = session.expectService(host) { Issue.record("\(comment): \(fault)") }
    return session.slowest
  }

  @Test(arguments: [0, 1], CommandFault.allCases) func commands(host: Int, fault: CommandFault) {
    var slowest = (Duration.zero, "")
    for (kind, sound) in Self.sound {
      for opcode in sound.opcodes[host] {
        let comment = "host \(host), \(opcode), \(fault)"
        let time = check(kind, host, fault.faults(opcode), comment)
        slowest = max(slowest, (time, comment)) { $0.0 < $1.0 }
      }
    }
    #expect(slowest.0 < Self.limit, "\(slowest)")
  }

  @Test(arguments: [0, 1], Self.eventFaults) func events(host: Int, effect: PacketFault.Effect) {
    var slowest = (Duration.zero, "")
    for (kind, sound) in Self.sound {
      for event in sound.events[host] {
        let isMeta = event.count > 1
        let packets: PacketFault.Packets =
          isMeta ? .leEvent(LESubeventCode(rawValue: event[1])) : .event(HCIEventCode(rawValue: event[0]))
        for occurrences in [nil, 1...1] as [ClosedRange<Int>?] {
          let comment = "host \(host), event \(event.hexadecimal), \(effect)\(occurrences == nil ? "" : " once")"
          let time = check(
            kind, host, [.packets(PacketFault(effect, packets, .toHost, occurrences: occurrences))],
            isKnown: Self.isKnown(effect, packets), comment)
          slowest = max(slowest, (time, comment)) { $0.0 < $1.0 }
        }
      }
    }
    #expect(slowest.0 < Self.limit, "\(slowest)")
  }

  /// Whether a host can know of a fault. It does not know of a report that it has not received, of a train that it has
  /// not found, of a transfer that it waits for, of a path loss that does not change, or that a link which comes up
  /// while its attempt is cancelled has been up before.
  private static func isKnown(_ effect: PacketFault.Effect, _ packets: PacketFault.Packets) -> Bool {
    let unexpected: [LESubeventCode] = [
      .advertisingReport, .extendedAdvertisingReport, .periodicAdvertisingReport,
      .periodicAdvertisingSyncEstablished, .periodicAdvertisingSyncTransferReceived, .pathLossThreshold,
    ]
    if unexpected.contains(where: { packets == .leEvent($0) }) { return false }
    return packets != .leEvent(.enhancedConnectionComplete) || effect != .late(.seconds(10))
  }
}

private func max<Value>(_ first: Value, _ second: Value, by areInOrder: (Value, Value) -> Bool) -> Value {
  areInOrder(first, second) ? second : first
}

/// One session: what is asked of both hosts, and what becomes of it.
struct ErringSession {
  /// What is asked for.
  enum Kind: CaseIterable {
    /// Attributes, security and timing of a link.
    case attributes
    /// Periodic advertising, its transfer over a link, and subrating.
    case trains
    /// Transmit powers, path loss and connection rates of a link.
    case rates
  }

  let kind: Kind
  var couple: Couple
  /// Each call, and how it has ended.
  private(set) var outcomes: [String] = []
  /// What must not happen.
  private(set) var broken: [String] = []
  /// The longest time that a call has taken.
  private(set) var slowest = Duration.zero
  private var number: UInt32 = 100
  private var link: LinkID?

  init(_ kind: Kind, _ faults: [Int: [VirtualFault]]) {
    self.kind = kind
    var controller = VirtualControllerConfiguration()
    controller.features.insert(.le2MPHY)
    if kind == .rates { controller.connectionIntervals = VirtualConnectionIntervals() }
    couple = Couple(controller: controller, faults: faults)
  }

  /// Waits for an answer.
  private mutating func wait(
    _ name: String, of host: Int, limit: Duration = ErringControllerTests.limit, from start: Int,
    _ answer: (HostEvent) -> String?
  ) -> Bool {
    let began = couple.world.now
    while true {
      for event in couple.world.heard[host].dropFirst(start) {
        guard let outcome = answer(event) else { continue }
        outcomes.append("\(name): \(outcome)")
        slowest = Swift.max(slowest, couple.world.now - began)
        return outcome == "done"
      }
      guard couple.world.now - began < limit else { break }
      couple.world.run(for: couple.world.now - began < .seconds(1) ? .milliseconds(20) : .milliseconds(500))
    }
    outcomes.append("\(name): no answer")
    broken.append("no answer to \(name) in \(limit)")
    return false
  }

  private mutating func call(
    _ name: String, _ host: Int, _ command: HostCommand, _ answer: (HostEvent) -> String?
  ) -> Bool {
    if host == 1, let link, hasEnded(link, of: 1) {
      outcomes.append("\(name): the link has ended")
      return false
    }
    let start = couple.world.heard[host].count
    couple.world.ask(host, command)
    return wait(name, of: host, from: start, answer)
  }

  private func hasEnded(_ link: LinkID, of host: Int) -> Bool {
    couple.world.heard[host].contains { if case .link(link, .disconnected(_)) = $0 { true } else { false } }
  }

  private mutating func client(_ name: String, _ kind: GATTClient.Operation.Kind, _ link: LinkID) -> Bool {
    number += 1
    let id = GATTClient.OperationID(rawValue: number)
    return call(name, 1, .link(link, .client(GATTClient.Operation(id: id, kind)))) {
      switch $0 {
      case .client(link, .finished(id, .success)): "done"
      case .client(link, .finished(id, .failure(let error))): "\(error)"
      default: nil
      }
    }
  }

  mutating func run() {
    let isUp = state(of: 1, "state of the central")
    guard state(of: 0, "state of the peripheral"), isUp, advertise() else { return }
    switch kind {
    case .attributes: scan()
    case .trains: synchronize()
    case .rates: break
    }
    link = connect()
    guard let link else { return couple.world.run(for: .seconds(5)) }
    switch kind {
    case .attributes: converse(link)
    case .trains: transfer(link)
    case .rates: measure(link)
    }
    _ = call("disconnect", 1, .link(link, .disconnect(.remoteUserTerminatedConnection))) {
      if case .link(link, .disconnected(_)) = $0 { "done" } else { nil }
    }
    couple.world.run(for: .seconds(5))
  }

  private mutating func state(of host: Int, _ name: String) -> Bool {
    let began = couple.world.now
    func isDecided(_ state: AdapterState) -> Bool { state == .poweredOn || state == .unsupported }
    while !isDecided(couple.world.hosts[host].state), couple.world.now - began < ErringControllerTests.limit {
      couple.world.run(for: .milliseconds(500))
    }
    let state = couple.world.hosts[host].state
    outcomes.append("\(name): \(state == .poweredOn ? "done" : "\(state)")")
    if !isDecided(state) { broken.append("\(name): \(state)") }
    return state == .poweredOn
  }

  /// Couple has started an advertisement; a host that was not up then has refused it.
  private mutating func advertise() -> Bool {
    if isAdvertising { return true }
    let id = AdvertisingID(rawValue: 7)
    return call("start of advertising", 0, .advertising(.start(id, Self.intent))) {
      switch $0 {
      case .advertising(id, .started(.success)): "done"
      case .advertising(id, .started(.failure(let error))): "\(error)"
      default: nil
      }
    }
  }

  /// A scan promises no report, only its end.
  private mutating func scan() {
    let start = couple.world.heard[1].count
    couple.world.ask(1, .scanning(.start(ScanParameters())))
    for _ in 0..<20 {
      couple.world.run(for: .milliseconds(500))
      for event in couple.world.heard[1].dropFirst(start) {
        switch event {
        case .scanning(.discovered):
          outcomes.append("scan: done")
          return couple.world.ask(1, .scanning(.stop))
        case .scanning(.stopped(let error?)): return outcomes.append("scan: \(error)")
        default: break
        }
      }
    }
    outcomes.append("scan: nothing")
    couple.world.ask(1, .scanning(.stop))
  }

  private static let train = AdvertisingID(rawValue: 5)
  private static let sync = SyncID(rawValue: 5)
  private static let received = SyncID(rawValue: 6)

  /// The peripheral starts a train and changes its data. A synchronization promises no report, only its end.
  private mutating func synchronize() {
    var intent = AdvertisingIntent(data: [], scanResponse: [])
    (intent.usesExtendedPDUs, intent.isConnectable) = (true, false)
    intent.periodic = PeriodicIntent(data: [5])
    let isOn = call("start of a train", 0, .advertising(.start(Self.train, intent))) {
      switch $0 {
      case .advertising(Self.train, .started(.success)): "done"
      case .advertising(Self.train, .started(.failure(let error))), .advertising(Self.train, .ended(let error)):
        "\(error)"
      default: nil
      }
    }
    let source = SyncSource.train(TrainID(couple.world.hosts[0].ownAddress, set: trainSet))
    let start = couple.world.heard[1].count
    couple.world.ask(1, .synchronizing(.start(Self.sync, source, SyncParameters())))
    outcomes.append("synchronization: \(isSynchronized(since: start) ? "done" : "nothing")")
    guard isOn else { return }
    let token = UpdateToken(rawValue: 9)
    _ = call("change of a train", 0, .advertising(.updateTrain(Self.train, [6, 6], token))) {
      switch $0 {
      case .advertising(Self.train, .trainUpdated(token, .success)): "done"
      case .advertising(Self.train, .trainUpdated(token, .failure(let error))),
        .advertising(Self.train, .ended(let error)):
        "\(error)"
      default: nil
      }
    }
  }

  /// The set of the train, from the last command about it.
  private var trainSet: UInt8 {
    let command = HCI.LESetPeriodicAdvertisingParameters.opcode.rawValue
    let packet = couple.world.sent[0].last {
      $0.count > 4 && $0[0] == 1 && UInt16($0[1]) | UInt16($0[2]) << 8 == command
    }
    return packet.map { $0[4] } ?? 1
  }

  /// Whether the central receives a report of the train, or is told that it will not.
  private mutating func isSynchronized(since start: Int) -> Bool {
    for _ in 0..<20 {
      couple.world.run(for: .milliseconds(500))
      for event in couple.world.heard[1].dropFirst(start) {
        if case .synchronizing(Self.sync, .report) = event { return true }
        if case .synchronizing(Self.sync, .ended) = event { return false }
      }
    }
    return false
  }

  /// Each side transfers the train to the other, and each subrates the link.
  private mutating func transfer(_ link: LinkID) {
    var peer: LinkID?
    for event in couple.world.heard[0] { if case .connected(let connection) = event { peer = connection.peer } }
    guard let peer else { return outcomes.append("transfer: no link") }
    _ = call("transfer by the scanner", 1, .synchronizing(.transfer(Self.sync, to: link, serviceData: 2))) {
      switch $0 {
      case .synchronizing(Self.sync, .transferred(link, .success)): "done"
      case .synchronizing(Self.sync, .transferred(link, .failure(let error))): "\(error)"
      default: nil
      }
    }
    couple.world.ask(1, .synchronizing(.stop(Self.sync)))
    couple.world.ask(1, .synchronizing(.start(Self.received, .transfer(from: link), SyncParameters())))
    // Until the controller has answered both commands, if it is late.
    couple.world.run(for: .seconds(5))
    _ = call("transfer by the advertiser", 0, .advertising(.transfer(Self.train, to: peer, serviceData: 1))) {
      switch $0 {
      case .advertising(Self.train, .transferred(peer, .success)): "done"
      case .advertising(Self.train, .transferred(peer, .failure(let error))): "\(error)"
      default: nil
      }
    }
    couple.world.run(for: .seconds(1))
    let isReceived = couple.world.heard[1].contains {
      if case .synchronizing(Self.received, .synchronized) = $0 { true } else { false }
    }
    outcomes.append("reception by transfer: \(isReceived ? "done" : "nothing")")
    couple.world.ask(1, .synchronizing(.stop(Self.received)))
    let subrating = SubratingParameters(factor: 4...4, continuation: 1)
    for (host, link) in [(1, link), (0, peer)] {
      _ = call("subrating by host \(host)", host, .link(link, .requestSubrating(subrating))) {
        switch $0 {
        case .link(link, .subrating(.success)): "done"
        case .link(link, .subrating(.failure(let error))): "\(error)"
        case .link(link, .disconnected(let reason)): "ended: \(reason)"
        default: nil
        }
      }
    }
  }

  /// Each side reads the powers and changes the connection rate. The central monitors the path loss.
  private mutating func measure(_ link: LinkID) {
    var peer: LinkID?
    for event in couple.world.heard[0] { if case .connected(let connection) = event { peer = connection.peer } }
    guard let peer else { return outcomes.append("power: no link") }
    for (host, link) in [(1, link), (0, peer)] {
      couple.world.ask(host, .link(link, .power(.report(true))))
      for end in [LinkPowerEnd.local, .remote] {
        _ = call("\(end) power by host \(host)", host, .link(link, .power(.read(end)))) {
          switch $0 {
          case .link(link, .power(.level(end, .success(let level)))): level == nil ? "not known" : "done"
          case .link(link, .power(.level(end, .failure(let error)))): "\(error)"
          case .link(link, .disconnected(let reason)): "ended: \(reason)"
          default: nil
          }
        }
      }
    }
    couple.world.ask(1, .link(link, .power(.monitorPathLoss(PathLossParameters(low: 30, high: 60)))))
    couple.world.run(for: .seconds(2))
    let isMonitored = couple.world.heard[1].contains {
      if case .link(link, .power(.pathLoss(.success))) = $0 { true } else { false }
    }
    outcomes.append("path loss: \(isMonitored ? "done" : "nothing")")
    couple.world.ask(1, .link(link, .power(.monitorPathLoss(nil))))
    // Of its peripheral, a central accepts what it has requested itself.
    for (host, link, interval) in [(1, link, 40...80), (0, peer, 80...80)] as [(Int, LinkID, ClosedRange<UInt16>)] {
      let rate = LinkRateParameters(interval: interval)
      _ = call("rate by host \(host)", host, .link(link, .requestConnectionRate(rate))) {
        switch $0 {
        case .link(link, .connectionRate(.success)): "done"
        case .link(link, .connectionRate(.failure(let error))): "\(error)"
        case .link(link, .disconnected(let reason)): "ended: \(reason)"
        default: nil
        }
      }
    }
  }

  /// As a program with a timeout connects.
  private mutating func connect() -> LinkID? {
    let (id, start) = (ConnectID(rawValue: 99), couple.world.heard[1].count)
    var link: LinkID?
    func answer(_ event: HostEvent) -> String? {
      switch event {
      case .connected(let connection) where connection.request == id:
        link = connection.peer
        return "done"
      case .connectionFailed(id, let error): return "\(error)"
      default: return nil
      }
    }
    couple.world.ask(1, .initiating(.connect(id, couple.world.hosts[0].addressOnAir, ConnectionParameters())))
    for _ in 0..<20 where !couple.world.heard[1].dropFirst(start).contains(where: { answer($0) != nil }) {
      couple.world.run(for: .milliseconds(500))
    }
    if !couple.world.heard[1].dropFirst(start).contains(where: { answer($0) != nil }) {
      couple.world.ask(1, .initiating(.cancel(id)))
    }
    _ = wait("connect", of: 1, from: start, answer)
    return link
  }

  private mutating func converse(_ link: LinkID) {
    let handle = { [handles = couple.handles] in handles[$0] ?? .first }
    func ended(_ event: HostEvent) -> String? {
      if case .link(link, .disconnected(let reason)) = event { "ended: \(reason)" } else { nil }
    }
    _ = client("services", .discoverPrimaryServices, link)
    _ = client("read", .read(handle(Couple.plain)), link)
    _ = client("write", .write(handle(Couple.plain), [7]), link)
    _ = call("security", 1, .link(link, .requestSecurity)) {
      switch $0 {
      case .link(link, .security(let security)) where security.level != .none: "done"
      case .pairing(link, .failed(let failure)): "\(failure)"
      case .bonds(.lost(link, _, let loss)): "\(loss)"
      case .refused(let error): "\(error)"
      default: ended($0)
      }
    }
    couple.world.run(for: .milliseconds(500))
    _ = client("encrypted read", .read(handle(Couple.encrypted)), link)
    let value = handle(Couple.stream).rawValue
    let range = AttributeHandle(rawValue: value + 1)...AttributeHandle(rawValue: value + 1)
    _ = client("subscribe", .configure(.notify, in: range), link)
    notify()
    _ = call("timing", 1, .link(link, .updateConnection(ConnectionParameters(interval: 12...12)))) {
      switch $0 {
      case .link(link, .connectionUpdated(_)): "done"
      case .link(link, .connectionUpdateRefused(let error)): "\(error)"
      default: ended($0)
      }
    }
    for (name, command) in [
      ("set PHY", HostCommand.link(link, .setPHY(PHYPreference(transmit: .le2M, receive: .le2M)))),
      ("PHY", .link(link, .readPHY)),
    ] {
      _ = call(name, 1, command) {
        switch $0 {
        case .link(link, .phy(.success)): "done"
        case .link(link, .phy(.failure(let error))): "\(error)"
        default: ended($0)
        }
      }
    }
    _ = call("RSSI", 1, .link(link, .readRSSI)) {
      switch $0 {
      case .link(link, .rssi(.success)): "done"
      case .link(link, .rssi(.failure(let error))): "\(error)"
      default: ended($0)
      }
    }
    couple.world.ask(1, .link(link, .prioritize(.throughput)))
    couple.world.run(for: .seconds(1))
  }

  /// The peripheral notifies its client.
  private mutating func notify() {
    var peer: LinkID?
    for event in couple.world.heard[0] { if case .connected(let connection) = event { peer = connection.peer } }
    guard let peer, !hasEnded(peer, of: 0) else { return outcomes.append("notify: no link") }
    let token = UpdateToken(rawValue: 1)
    _ = call("notify", 0, .update(token, Couple.stream, [9], to: [peer])) {
      switch $0 {
      case .server(peer, .updateFinished(token)): "done"
      case .link(peer, .disconnected(let reason)): "ended: \(reason)"
      default: nil
      }
    }
  }

  /// Whether an event of a host says what is wrong with its controller.
  func isExplained(_ host: Int) -> Bool {
    couple.world.heard[host].contains { event in
      switch event {
      case .diagnostic, .state(_, .some), .advertising(_, .started(.failure)), .advertising(_, .ended),
        .scanning(.stopped(.some)),
        .connectionFailed(_, .controller), .refused, .link(_, .connectionUpdateRefused), .link(_, .phy(.failure)),
        .link(_, .rssi(.failure)), .advertising(_, .trainUpdated(_, .failure)),
        .advertising(_, .transferred(_, .failure)), .synchronizing(_, .ended),
        .synchronizing(_, .transferred(_, .failure)), .link(_, .subrating(.failure)),
        .link(_, .connectionRate(.failure)), .link(_, .power(.level(_, .failure))), .link(_, .power(.notReported)),
        .link(_, .power(.pathLoss(.failure))):
        true
      default: false
      }
    }
  }

  /// The fault is over: another link is served.
  ///
  /// - Returns: why it is not.
  mutating func expectService(_ host: Int) -> String? {
    for host in 0...1 { couple.world.setFaults([], of: host) }
    for event in couple.world.heard[1] {
      guard case .connected(let connection) = event else { continue }
      couple.world.ask(1, .link(connection.peer, .disconnect(.remoteUserTerminatedConnection)))
    }
    couple.world.run(for: .seconds(75))
    for host in 0...1 where couple.world.hosts[host].state != .poweredOn {
      // The owner was told why, and opens the transport again.
      couple.world.reconnectTransport(of: host)
      couple.world.run(for: .seconds(5))
    }
    if !isAdvertising { couple.world.ask(0, .advertising(.start(AdvertisingID(rawValue: 7), Self.intent))) }
    couple.world.ask(1, .security(.removeBond(couple.world.hosts[0].ownAddress)))
    let isKnown = isExplained(host)
    if kind == .trains, let fault = expectTrain(isKnown) { return fault }
    couple.forget()
    if !isConnected() {
      // A controller that was not given what it needs is reset with its transport.
      guard isKnown else { return "no further link" }
      for host in 0...1 { couple.world.reconnectTransport(of: host) }
      guard isConnected() else { return "no further link after a reset" }
    }
    let value = couple.read(Couple.plain)
    return value == .success([7]) ? nil : "the further link reads \(value.map { "\($0)" } ?? "nothing")"
  }

  /// A train that is declared now is received.
  private mutating func expectTrain(_ isKnown: Bool) -> String? {
    for attempt in 0...1 {
      couple.world.ask(0, .advertising(.stop(Self.train)))
      couple.world.ask(1, .synchronizing(.stop(Self.sync)))
      couple.world.run(for: .seconds(5))
      outcomes = []
      synchronize()
      let failure = outcomes.first { !$0.hasSuffix(": done") }
      couple.world.ask(0, .advertising(.stop(Self.train)))
      couple.world.ask(1, .synchronizing(.stop(Self.sync)))
      guard let failure else { return nil }
      // A controller that has not forgotten what it was told is reset with its transport.
      guard isKnown, attempt == 0 else { return "a further train, attempt \(attempt): \(failure)" }
      for host in 0...1 { couple.world.reconnectTransport(of: host) }
      couple.world.run(for: .seconds(5))
    }
    return nil
  }

  /// Connects. The peer of a link that the controller has lost needs its supervision timeout.
  private mutating func isConnected() -> Bool {
    if couple.attemptConnection() { return true }
    couple.world.run(for: .seconds(10))
    return couple.attemptConnection()
  }

  private static let intent = AdvertisingIntent(data: [2, 1, 6], scanResponse: [])

  /// Whether the peripheral's owner takes the advertisement to be on.
  private var isAdvertising: Bool {
    var isOn = false
    for event in couple.world.heard[0] {
      switch event {
      case .advertising(_, .started(let result)): isOn = (try? result.get()) != nil
      case .advertising(_, .ended): isOn = false
      default: break
      }
    }
    return isOn
  }
}
