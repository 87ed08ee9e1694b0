internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The packets between one controller and its host, with the faults of the configuration.
struct PacketFaults: Sendable {
  /// The number of packets of one direction that can be held back. At the limit, the oldest is passed on early.
  static let heldLimit = 1000
  /// The time after which an exchanged packet is passed on if no packet has followed it.
  static let exchangeTime = Duration.milliseconds(100)

  /// One direction.
  private struct Lane: Sendable {
    let faults: [PacketFault]
    /// How many packets each of the faults has applied to.
    private var counts: [Int]
    var delayed: [(due: Instant, packet: [UInt8])] = []
    /// Packets that are delayed alone, by the time at which they are due.
    var late: [(due: Instant, packet: [UInt8])] = []
    var exchanged: (due: Instant, packet: [UInt8])?

    init(faults: [PacketFault], holding earlier: Self?) {
      self.faults = faults
      counts = [Int](repeating: 0, count: faults.count)
      delayed = earlier?.delayed ?? []
      late = earlier?.late ?? []
      exchanged = earlier?.exchanged
    }

    var deadline: Instant? { .nearer(.nearer(delayed.first?.due, late.first?.due), exchanged?.due) }

    /// The fault of a packet; nil if it has none.
    mutating func fault(of packet: Bytes, _ random: inout RandomSource) -> PacketFault.Effect? {
      for index in faults.indices where faults[index].packets.contains(packet) {
        counts[index] += 1
        if let occurrences = faults[index].occurrences, !occurrences.contains(counts[index]) { continue }
        if Int.random(in: 0..<100, using: &random) < faults[index].percent { return faults[index].effect }
      }
      return nil
    }

    /// How much later the packets without a fault arrive than those that overtake them.
    var overtaken: Duration? {
      faults.compactMap { if case .overtake(let time) = $0.effect { time } else { nil } }.max()
    }

    mutating func hold(_ packet: [UInt8], until due: Instant) {
      let place = late.firstIndex { due < $0.due } ?? late.endIndex
      late.insert((due, packet), at: place)
    }
  }

  private var toController: Lane
  private var toHost: Lane
  private var random: RandomSource
  /// The number of packets in both directions since the faults were set.
  private var count = 0
  /// The numbers of packets after which links end, lowest first.
  private var disconnections: [(packets: Int, reason: HCIErrorCode)]

  /// The packet faults of a configuration; nil if it has none, so that packets are passed on without a copy.
  ///
  /// - Parameter earlier: the previous faults. The packets that they hold back stay held until they are due.
  init?(_ faults: [VirtualFault], random: RandomSource, holding earlier: Self? = nil) {
    var lanes: [PacketFault.Direction: [PacketFault]] = [:]
    disconnections = []
    for fault in faults {
      switch fault {
      case .packets(let fault): lanes[fault.direction, default: []].append(fault)
      case .disconnects(let packets, let reason): disconnections.append((packets, reason))
      case .neverAnswers, .answersTwice, .refuses, .refusesFirst, .answersGarbage, .answers, .losesReports,
        .losesChains, .dropsLinks, .sends, .restarts:
        break
      }
    }
    guard !lanes.isEmpty || !disconnections.isEmpty || earlier?.deadline != nil else { return nil }
    disconnections.sort { $0.packets < $1.packets }
    toController = Lane(faults: lanes[.toController] ?? [], holding: earlier?.toController)
    toHost = Lane(faults: lanes[.toHost] ?? [], holding: earlier?.toHost)
    self.random = random
  }

  /// The time at which ``release(_:at:)`` has a packet.
  var deadline: Instant? { .nearer(toController.deadline, toHost.deadline) }

  /// The packets that are passed on now instead of `packet`, in order.
  mutating func pass(_ packet: Bytes, _ direction: PacketFault.Direction, now: Instant) -> [[UInt8]] {
    count += 1
    return direction == .toHost
      ? Self.pass(packet, on: &toHost, now: now, &random) : Self.pass(packet, on: &toController, now: now, &random)
  }

  /// The held packets of a direction that are due.
  mutating func release(_ direction: PacketFault.Direction, at now: Instant) -> [[UInt8]] {
    direction == .toHost ? Self.release(&toHost, at: now) : Self.release(&toController, at: now)
  }

  /// The reason for which the links end now; nil if they do not end.
  mutating func takeDisconnection() -> HCIErrorCode? {
    guard let first = disconnections.first, first.packets <= count else { return nil }
    disconnections.removeFirst()
    return first.reason
  }

  private static func pass(
    _ packet: Bytes, on lane: inout Lane, now: Instant, _ random: inout RandomSource
  ) -> [[UInt8]] {
    let effect = lane.fault(of: packet, &random)
    var passed = [Array(packet)]
    var due = lane.delayed.last?.due
    switch effect {
    case nil: if let time = lane.overtaken { due = max(due ?? now, now + time) }
    case .drop: return []
    case .delay(let time): due = max(due ?? now, now + time)
    case .late(let time):
      guard lane.late.count < heldLimit else { break }
      lane.hold(passed[0], until: now + time)
      return []
    case .overtake: return passed
    case .duplicate: passed.append(passed[0])
    case .corrupt:
      guard packet.count > 1 else { break }
      passed[0][Int.random(in: 1..<packet.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case .reorder where lane.exchanged == nil:
      lane.exchanged = (now + exchangeTime, passed[0])
      return []
    case .reorder: break
    }
    if let exchanged = lane.exchanged {
      passed.append(exchanged.packet)
      lane.exchanged = nil
    }
    guard let due else { return passed }
    lane.delayed += passed.map { (due, $0) }
    let early = lane.delayed.prefix(max(0, lane.delayed.count - heldLimit)).map(\.packet)
    lane.delayed.removeFirst(early.count)
    return early
  }

  private static func release(_ lane: inout Lane, at now: Instant) -> [[UInt8]] {
    var due = lane.delayed.prefix { $0.due <= now }.map(\.packet)
    lane.delayed.removeFirst(due.count)
    let late = lane.late.prefix { $0.due <= now }.map(\.packet)
    lane.late.removeFirst(late.count)
    due += late
    if let exchanged = lane.exchanged, exchanged.due <= now {
      due.append(exchanged.packet)
      lane.exchanged = nil
    }
    return due
  }
}
