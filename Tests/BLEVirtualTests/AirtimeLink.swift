import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// A link on a radio with airtime, and the time at which each packet reached a host.
struct AirtimeLink {
  struct Arrival {
    let time: Instant
    let packet: [UInt8]
    var isData: Bool { packet.first == 0x02 }
    /// How many packets a Number Of Completed Packets event of one link returns; 0 for another packet.
    var completed: Int { packet.starts(with: [0x04, 0x13]) ? Int(packet[6]) : 0 }
  }

  var stage: RadioStage
  let central: ControllerID
  let peripheral: ControllerID
  let handles: (central: ConnectionHandle, peripheral: ConnectionHandle)
  let interval: Duration
  private(set) var atCentral: [Arrival] = []
  private(set) var atPeripheral: [Arrival] = []

  /// - Parameters:
  ///   - interval: in units of 1.25 ms; `timeout` in units of 10 ms.
  ///   - prepare: what the hosts do before the link begins.
  init(
    interval: UInt16 = 24, latency: UInt16 = 0, timeout: UInt16 = 500, seed: UInt64 = 1,
    central configureCentral: (inout VirtualControllerConfiguration) -> Void = { _ in },
    peripheral configurePeripheral: (inout VirtualControllerConfiguration) -> Void = { _ in },
    prepare: (inout RadioStage, ControllerID) throws -> Void = { _, _ in }
  ) throws {
    var stage = RadioStage(seed: seed, pacing: .airtime)
    central = stage.attach(configureCentral)
    peripheral = stage.attach(configurePeripheral)
    for id in [central, peripheral] { try prepare(&stage, id) }
    let parameters = HCI.ConnectionParameters {
      $0.connectionIntervalMin = interval
      $0.connectionIntervalMax = interval
      $0.maxLatency = latency
      $0.supervisionTimeout = timeout
    }
    handles = try stage.connect(central, to: peripheral, parameters, within: .seconds(1))
    // Longer than the transmit window of any interval in these tests.
    stage.run(for: .seconds(5))
    self.stage = stage
    self.interval = .microseconds(1250 * Int64(interval))
  }

  /// Runs step by step and collects the packets for the hosts; calls `host` after each step.
  mutating func run(for duration: Duration, host: (inout Self) -> Void = { _ in }) {
    let end = stage.now + duration
    host(&self)
    while stage.step(until: end) {
      collect()
      host(&self)
    }
    stage.run(for: end - stage.now)
    collect()
  }

  private mutating func collect() {
    atCentral += stage.take(central).map { Arrival(time: stage.now, packet: $0) }
    atPeripheral += stage.take(peripheral).map { Arrival(time: stage.now, packet: $0) }
  }

  mutating func clear() {
    collect()
    atCentral = []
    atPeripheral = []
  }

  /// An ACL packet of `count` octets.
  mutating func send(_ count: Int, from id: ControllerID, marked mark: UInt8 = 0) {
    let handle = id == central ? handles.central : handles.peripheral
    let size = [UInt8(count & 0xFF), UInt8(count >> 8)]
    stage.send([0x02] + handle.octets + size + [UInt8](repeating: mark, count: count), from: id)
  }

  /// The connection events that the link uses in a time, and those to which the peripheral listens.
  mutating func events(for time: Duration) -> (used: Int, attended: Int) {
    func counts(_ link: Self) -> ConnectionEventCounts {
      link.stage.radio.connectionEvents(of: link.central, at: link.stage.now).first ?? ConnectionEventCounts()
    }
    let before = counts(self)
    run(for: time)
    let after = counts(self)
    return (after.used - before.used, after.attended - before.attended)
  }

  /// The time of ten packets of the central of so many octets, each of which the peripheral answers, and the next of
  /// which follows the answer.
  mutating func burst(of octets: Int) -> Duration {
    let start = stage.now
    var end = start
    var (asked, answered) = (0, 0)
    clear()
    run(for: .seconds(10)) { link in
      let questions = link.atPeripheral.count { $0.isData }
      let answers = link.atCentral.filter(\.isData)
      while answered < questions {
        link.send(octets, from: link.peripheral)
        answered += 1
      }
      if asked == answers.count, asked < 10 {
        link.send(octets, from: link.central)
        asked += 1
      }
      if let last = answers.last { end = last.time }
    }
    #expect(answered == 10)
    return end - start
  }

  /// The longest PDUs in both directions.
  mutating func extendDataLength(octets: UInt16 = 251, time: UInt16 = 17_040) throws {
    for (id, handle) in [(central, handles.central), (peripheral, handles.peripheral)] {
      let command = HCI.LESetDataLength {
        $0.connectionHandle = handle
        $0.txOctets = octets
        $0.txTime = time
      }
      try stage.expect(.success, for: command, from: id)
      stage.run(for: .seconds(1))
    }
    clear()
  }

  mutating func setPHY(_ phy: HCI.PHYs, options: UInt16 = 0) throws {
    for (id, handle) in [(central, handles.central), (peripheral, handles.peripheral)] {
      let command = HCI.LESetPHY {
        $0.connectionHandle = handle
        $0.txPHYs = phy
        $0.rxPHYs = phy
        $0.phyOptions = options
      }
      try stage.expect(.success, for: command, from: id)
      stage.run(for: .seconds(2))
    }
    let read = try stage.ask(HCI.LEReadPHY { $0.connectionHandle = handles.central }, from: central)
    #expect(HCI.PHYs(rawValue: 1 << (read.txPHY.rawValue - 1)) == phy && read.txPHY == read.rxPHY)
    clear()
  }

  mutating func encrypt() throws {
    let key: UInt128 = 0x0102_0304
    let enable = HCI.LEEnableEncryption {
      $0.connectionHandle = handles.central
      $0.longTermKey = key
    }
    try stage.expect(.success, for: enable, from: central)
    stage.run(for: .seconds(1))
    let reply = HCI.LELongTermKeyRequestReply {
      $0.connectionHandle = handles.peripheral
      $0.longTermKey = key
    }
    _ = stage.take(peripheral)
    try stage.expect(.success, for: reply, from: peripheral)
    stage.run(for: .seconds(1))
    clear()
  }

  /// The data PDUs that the peripheral sends in `events` events while all buffers of its controller are full.
  mutating func floodFromPeripheral(events: Int, aclSize: Int = 251) -> [Arrival] {
    clear()
    var credits = 8
    var seen = 0
    run(for: interval * events) { link in
      for arrival in link.atPeripheral[seen...] { credits += arrival.completed }
      seen = link.atPeripheral.count
      while credits > 0 {
        credits -= 1
        link.send(aclSize, from: link.peripheral)
      }
    }
    return atCentral.filter(\.isData)
  }
}
