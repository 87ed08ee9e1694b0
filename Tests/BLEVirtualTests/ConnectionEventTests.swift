import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Connection events with airtime: Vol 6, Part B, 4.5 and 5.1.1.
struct ConnectionEventTests {
  private static func at(_ arrivals: [AirtimeLink.Arrival]) -> [Instant] { arrivals.filter(\.isData).map(\.time) }

  /// PDUs of the central arrive one airtime after an anchor point, at whatever time the host sent them.
  @Test func dataMovesAtAnchorPoints() throws {
    var link = try AirtimeLink(interval: 24)
    link.clear()
    for wait: Int64 in [0, 1, 13, 29, 31, 64, 100, 7] {
      link.run(for: .milliseconds(wait))
      link.send(20, from: link.central)
      link.run(for: link.interval)
    }
    let times = Self.at(link.atPeripheral)
    #expect(times.count == 8)
    let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
    #expect(gaps.allSatisfy { gap in link.interval * Int((gap / link.interval).rounded()) == gap && gap > .zero })
  }

  /// The peripheral's answer acknowledges the central's PDU: T_IFS and an empty PDU of 80 µs later.
  @Test func centralIsAcknowledgedInTheSameEvent() throws {
    var link = try AirtimeLink()
    link.clear()
    link.send(20, from: link.central)
    link.run(for: .seconds(1))
    let arrival = try #require(link.atPeripheral.first)
    let completed = try #require(link.atCentral.first)
    #expect(completed.completed == 1 && completed.time - arrival.time == .microseconds(150 + 80))
  }

  /// The peripheral sends last: its PDU is acknowledged by the central's first packet of the next event.
  @Test func peripheralIsAcknowledgedInTheNextEvent() throws {
    var link = try AirtimeLink()
    link.clear()
    link.send(20, from: link.peripheral)
    link.run(for: .seconds(1))
    let arrival = try #require(link.atCentral.first)
    let completed = try #require(link.atPeripheral.first)
    // Central 80 µs, T_IFS, peripheral 240 µs; then 80 µs behind the next anchor point.
    #expect(completed.completed == 1)
    #expect(completed.time - arrival.time == link.interval - .microseconds(150 + 240))
  }

  /// Without a PDU to send no event is simulated, and the radio has no deadline.
  @Test func quietLinksCostNothing() throws {
    var link = try AirtimeLink()
    #expect(link.stage.radio.deadline == nil)
    link.send(20, from: link.peripheral)
    link.run(for: .seconds(1))
    #expect(link.stage.radio.deadline == nil)
  }

  /// The event continues while an end has data (MD bit), with T_IFS between packets.
  @Test func eventGoesOnWhileThereIsData() throws {
    var link = try AirtimeLink(interval: 24)
    link.clear()
    for _ in 0..<3 { link.send(27, from: link.central) }
    link.send(54, from: link.peripheral)
    link.run(for: .seconds(1))
    let (down, up) = (Self.at(link.atPeripheral), Self.at(link.atCentral))
    #expect(down.count == 3 && up.count == 2)
    // Both directions in the first two exchanges: 296 + 150 + 296 + 150.
    #expect(up[0] - down[0] == .microseconds(150 + 296) && up[1] - up[0] == .microseconds(892))
    #expect(down[1] - down[0] == .microseconds(892) && down[2] - down[1] == .microseconds(892))
  }

  /// An event ends T_IFS before the next anchor point; the other PDUs are sent in the next event.
  @Test func eventEndsBeforeTheNextAnchorPoint() throws {
    var link = try AirtimeLink(interval: 6)
    try link.extendDataLength()
    for _ in 0..<4 { link.send(251, from: link.central) }
    link.run(for: .seconds(1))
    let times = Self.at(link.atPeripheral)
    // 2088 + 150 + 80 + 150 µs: three exchanges fit into 7.5 ms.
    #expect(times[1] - times[0] == .microseconds(2468) && times[2] - times[1] == .microseconds(2468))
    #expect(times[3] - times[0] == .microseconds(7500))
  }

  /// Data from the host after the last packet of an event waits for the next anchor point.
  @Test func closedEventsStayClosed() throws {
    var link = try AirtimeLink(interval: 24)
    link.clear()
    link.send(20, from: link.central)
    var hasAnswered = false
    link.run(for: .seconds(1)) { link in
      guard !hasAnswered, !link.atPeripheral.isEmpty else { return }
      hasAnswered = true
      link.send(20, from: link.peripheral)
    }
    let (down, up) = (Self.at(link.atPeripheral), Self.at(link.atCentral))
    // 240 µs down in the first event; 80 µs, T_IFS, 240 µs behind the second anchor point.
    #expect(up[0] - down[0] == link.interval + .microseconds(80 + 150 + 240 - 240))
  }

  // MARK: Latency

  /// With a latency of 9 the central reaches the peripheral at each tenth event, and the peripheral the central at any.
  @Test func latencySkipsEventsWithoutData() throws {
    var link = try AirtimeLink(interval: 24, latency: 9)
    link.clear()
    var waits: (down: [Duration], up: [Duration]) = ([], [])
    for number in 0..<20 {
      link.run(for: .milliseconds(Int64(617 + number * 7)))
      link.clear()
      let sent = link.stage.now
      link.send(20, from: number % 2 == 0 ? link.central : link.peripheral)
      link.run(for: .seconds(1))
      if let time = Self.at(link.atPeripheral).first { waits.down.append(time - sent) }
      if let time = Self.at(link.atCentral).first { waits.up.append(time - sent) }
    }
    #expect(waits.down.count == 10 && waits.up.count == 10)
    #expect(waits.up.allSatisfy { $0 <= link.interval + .milliseconds(1) })
    #expect(waits.down.allSatisfy { $0 <= link.interval * 10 + .milliseconds(1) })
    #expect(waits.down.contains { $0 > link.interval * 3 })
  }

  /// A peripheral that waits for an acknowledgement listens to the next event.
  @Test func latencyDoesNotDelayAcknowledgements() throws {
    var link = try AirtimeLink(interval: 24, latency: 9)
    link.clear()
    link.send(20, from: link.peripheral)
    link.run(for: .seconds(1))
    let (arrival, completed) = (try #require(link.atCentral.first), try #require(link.atPeripheral.first))
    #expect(completed.completed == 1 && completed.time - arrival.time < link.interval)
  }

  // MARK: Changes with an instant

  /// The new timing takes effect six events after the PDU: both hosts get the event, the next event is one new interval
  /// later.
  @Test func connectionUpdateTakesEffectAtItsInstant() throws {
    var link = try AirtimeLink(interval: 24)
    link.clear()
    link.send(20, from: link.central)
    let command = HCI.LEConnectionUpdate {
      $0.connectionHandle = link.handles.central
      $0.parameters.connectionIntervalMin = 80
      $0.parameters.connectionIntervalMax = 80
      $0.parameters.supervisionTimeout = 500
    }
    try link.stage.expect(.success, for: command, from: link.central)
    link.run(for: .seconds(1))
    let updates = (link.atCentral + link.atPeripheral).filter { $0.packet.starts(with: [0x04, 0x3E, 0x0A, 0x03]) }
    #expect(updates.count == 2 && updates[0].time == updates[1].time)
    // LL_CONNECTION_UPDATE_IND goes before the data: 80 + 12 * 8 µs, T_IFS, 80 µs, T_IFS, data of 240 µs.
    let sent = try #require(Self.at(link.atPeripheral).first)
    let anchor = sent + .microseconds(-(176 + 150 + 80 + 150 + 240))
    #expect(updates[0].time == anchor + .milliseconds(6 * 30))
    link.clear()
    link.send(20, from: link.central)
    link.run(for: .seconds(1))
    let next = try #require(Self.at(link.atPeripheral).first)
    let wait = (next + .microseconds(-240)) - updates[0].time
    #expect(wait > .zero && .milliseconds(100) * Int(wait / .milliseconds(100)) == wait)
  }

  /// A PHY changes at its instant too; packets are shorter from then on.
  @Test func phyUpdateTakesEffectAtItsInstant() throws {
    var link = try AirtimeLink(interval: 24)
    link.clear()
    let begin = link.stage.now
    let command = HCI.LESetPHY {
      $0.connectionHandle = link.handles.central
      $0.txPHYs = .le2M
      $0.rxPHYs = .le2M
    }
    try link.stage.expect(.success, for: command, from: link.central)
    link.clear()
    link.run(for: .seconds(1))
    let updates = (link.atCentral + link.atPeripheral).filter { $0.packet.starts(with: [0x04, 0x3E, 0x06, 0x0C]) }
    #expect(updates.count == 2 && updates[0].time == updates[1].time)
    // LL_PHY_REQ in one event, LL_PHY_RSP in the next, LL_PHY_UPDATE_IND in the third, the instant six later.
    let elapsed = updates[0].time - begin
    #expect(elapsed > .milliseconds(8 * 30) && elapsed <= .milliseconds(9 * 30))
    link.clear()
    link.send(20, from: link.central)
    link.run(for: .seconds(1))
    let (arrival, completed) = (try #require(link.atPeripheral.first), try #require(link.atCentral.first))
    #expect(completed.time - arrival.time == .microseconds(150 + 44))
  }

  // MARK: The end

  /// The supervision timeout counts from the latest event (Vol 6, Part B, 4.5.2).
  @Test(arguments: [true, false]) func supervisionTimeout(byPowerLoss: Bool) throws {
    var link = try AirtimeLink(interval: 80, timeout: 100)
    link.clear()
    link.send(20, from: link.central)
    link.run(for: .milliseconds(370))
    // The data PDU arrived 240 µs behind an anchor point; the latest one lies whole intervals later.
    let anchor = try #require(Self.at(link.atPeripheral).first) + .microseconds(-240)
    let passed = Int((link.stage.now - anchor) / link.interval)
    let expected = anchor + link.interval * passed + .milliseconds(1000)
    link.clear()
    if byPowerLoss {
      link.stage.detach(link.peripheral)
    } else {
      link.stage.radio.cutLinks(of: link.peripheral, now: link.stage.now)
    }
    link.run(for: .seconds(2))
    let end = try #require(link.atCentral.first)
    #expect(end.packet == [0x04, 0x05, 0x04, 0x00] + link.handles.central.octets + [0x08])
    #expect(end.time == expected)
    #expect(link.atPeripheral.count == (byPowerLoss ? 0 : 1))
    #expect(link.stage.radio.deadline == nil)
  }

  /// A link whose first event does not take place fails after six intervals with 0x3E (Vol 6, Part B, 4.5).
  @Test func failureToBeEstablished() throws {
    var stage = RadioStage(pacing: .airtime)
    let (central, peripheral) = (stage.attach(), stage.attach())
    try stage.advertise(peripheral)
    let peer = stage.address(of: peripheral)
    let create = HCI.LECreateConnection {
      $0.peerAddress = peer
      $0.parameters.connectionIntervalMin = 80
      $0.parameters.connectionIntervalMax = 80
      $0.parameters.supervisionTimeout = 500
    }
    try stage.expect(.success, for: create, from: central)
    var isConnected = false
    while !isConnected, stage.step(until: .start + .seconds(10)) {
      isConnected = try !stage.metaEvents(central).isEmpty
    }
    #expect(isConnected)
    stage.detach(peripheral)
    stage.run(for: .milliseconds(599))
    #expect(stage.take(central).isEmpty)
    stage.run(for: .milliseconds(1))
    #expect(stage.take(central).map { $0.last } == [0x3E])
  }

  /// Both ends disconnect when LL_TERMINATE_IND is acknowledged.
  @Test(arguments: [true, false]) func disconnection(byCentral: Bool) throws {
    var link = try AirtimeLink(interval: 80)
    link.clear()
    let begin = link.stage.now
    let (id, handle) = byCentral ? (link.central, link.handles.central) : (link.peripheral, link.handles.peripheral)
    let command = HCI.Disconnect {
      $0.connectionHandle = handle
      $0.reason = .remoteUserTerminatedConnection
    }
    try link.stage.expect(.success, for: command, from: id)
    link.clear()
    link.run(for: .seconds(1))
    let (central, peripheral) = (try #require(link.atCentral.first), try #require(link.atPeripheral.first))
    #expect(central.packet.last == (byCentral ? 0x16 : 0x13) && peripheral.packet.last == (byCentral ? 0x13 : 0x16))
    #expect(central.time == peripheral.time && central.time > begin)
    // The central's LL_TERMINATE_IND is acknowledged in its event, the peripheral's with the next.
    #expect(central.time - begin <= link.interval * (byCentral ? 1 : 2) + .milliseconds(1))
    #expect(link.stage.radio.deadline == nil)
  }

  /// Controller to host flow control: a PDU without a free buffer in the host is not acknowledged, and is sent again.
  @Test func hostWithoutRoom() throws {
    var stage = RadioStage(pacing: .airtime)
    let (central, peripheral) = (stage.attach(), stage.attach())
    try stage.expect(
      .success, for: HCI.SetControllerToHostFlowControl { $0.flowControlEnable = 1 }, from: peripheral)
    let size = HCI.HostBufferSize {
      $0.hostACLDataPacketLength = 27
      $0.hostTotalNumACLDataPackets = 2
    }
    try stage.expect(.success, for: size, from: peripheral)
    let handles = try stage.connect(central, to: peripheral, .init(), within: .seconds(1))
    stage.send([0x02] + handles.central.octets + [100, 0x00] + (0..<100), from: central)
    stage.run(for: .seconds(1))
    var received = stage.take(peripheral)
    #expect(received.map(\.count) == [32, 32] && stage.take(central).isEmpty)
    for expected in [[32], [24]] {
      let credit = HCI.HostNumberOfCompletedPackets {
        $0.links = [
          .init {
            $0.connectionHandle = handles.peripheral
            $0.numCompletedPackets = 1
          }
        ]
      }
      stage.send(credit, from: peripheral)
      stage.run(for: .seconds(1))
      let more = stage.take(peripheral)
      #expect(more.map(\.count) == expected)
      received += more
    }
    #expect(received.flatMap { $0.dropFirst(5) } == (0..<100).map(UInt8.init))
    #expect(stage.take(central).count == 1)
  }

  /// Control PDUs past the limit are dropped; LL_TERMINATE_IND is not.
  @Test func proceduresAreBounded() throws {
    var link = try AirtimeLink(interval: 80)
    link.clear()
    let (id, handle) = (link.central, link.handles.central)
    for _ in 0..<70 {
      try link.stage.expect(.success, for: HCI.LEReadRemoteFeatures { $0.connectionHandle = handle }, from: id)
    }
    try link.stage.expect(.success, for: HCI.Disconnect { $0.connectionHandle = handle }, from: id)
    link.run(for: .seconds(10))
    #expect(link.atCentral.filter { $0.packet.starts(with: [0x04, 0x3E, 0x0C, 0x04]) }.count <= 64)
    #expect(link.atCentral.last?.packet.starts(with: [0x04, 0x05]) == true)
  }

  @Test func sameSeedSameRun() throws {
    func run(_ seed: UInt64) throws -> [Instant] {
      var link = try AirtimeLink(seed: seed)
      link.clear()
      for _ in 0..<10 {
        link.send(200, from: link.peripheral)
        link.run(for: .milliseconds(71))
      }
      return Self.at(link.atCentral)
    }
    #expect(try run(1) == run(1))
    #expect(try run(1) != run(2))
  }
}
