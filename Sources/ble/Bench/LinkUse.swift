import BLEHCI
import BLEWire

/// How much of what a link can carry was sent and received in a period, from the packet trace.
///
/// The limit is that of full packets in whole exchanges (`LinkCapacity`), with the interval, the PHY, the data length
/// and the encryption that the controller has reported. Both count the data of the link layer: octets of ACL packets,
/// with the headers of L2CAP and ATT.
struct LinkUse: Sendable {
  /// The direction of the data that is measured.
  enum Direction: String, Encodable, Sendable {
    case transmit, receive, both
  }

  /// The parameters of the link at the end of the period.
  struct Parameters: Equatable, Sendable {
    /// In units of 1.25 ms.
    var interval: UInt16
    var packets = LinkPackets()

    /// The octets that a connection event has room for.
    func capacity(_ direction: Direction) -> Int {
      switch direction {
      case .transmit: packets.transmit.packets(in: interval) * packets.transmit.payload
      case .receive: packets.receive.packets(in: interval) * packets.receive.payload
      case .both: packets.octetsOfBoth(in: interval)
      }
    }
  }

  /// One connection interval of the period.
  private struct Interval: Sendable {
    var sent = 0
    var received = 0
    /// Whether the controller had no packet of this device at some time.
    var hadNoPacket = false
  }

  let direction: Direction
  let parameters: Parameters
  private var intervals: [Interval] = []

  /// Reads the period from `start` to `end`, in microseconds since 1970, of the link that carries the most.
  ///
  /// - Returns: nil if the trace has no link, or the period is shorter than its connection interval.
  init?(_ trace: BTSnoopFile, from start: Int64, to end: Int64, _ direction: Direction) {
    var links: [ConnectionHandle: LinkTrace] = [:]
    for record in trace where record.microseconds <= end {
      switch try? HCIPacket(decoding: record.packet) {
      case .event(let octets):
        guard let event = try? HCIEvent(octets) else { continue }
        Self.take(event, at: record.microseconds, into: &links)
      case .aclData(let data):
        let packet = (time: record.microseconds, octets: data.data.count)
        let isSent = record.direction == .hostToController
        links[data.connectionHandle]?.take(packet, isSent: isSent, isInPeriod: record.microseconds >= start)
      case .command, .synchronousData, .isoData, nil: continue
      }
    }
    guard let link = links.values.max(by: { $0.octets < $1.octets }) else { return nil }
    self.init(link, from: start, to: end, direction)
  }

  private init?(_ link: LinkTrace, from start: Int64, to end: Int64, _ direction: Direction) {
    (self.direction, parameters) = (direction, link.parameters)
    let length = max(1, Int64(link.parameters.interval)) * 1250
    let count = Int((end - start) / length)
    guard count > 0 else { return nil }
    intervals = Array(repeating: Interval(), count: count)
    func index(_ time: Int64) -> Int? {
      let index = Int((time - start) / length)
      return time >= start && index < count ? index : nil
    }
    for (time, octets) in link.completed { if let index = index(time) { intervals[index].sent += octets } }
    for (time, octets) in link.received { if let index = index(time) { intervals[index].received += octets } }
    for (begin, finish) in link.idle + [(link.idleSince ?? end, end)] where begin < end && finish > start {
      let (first, last) = ((max(begin, start) - start) / length, (min(finish, end) - start) / length)
      for index in Int(first)...Int(last) where index < count { intervals[index].hadNoPacket = true }
    }
  }

  private static func take(
    _ event: HCIEvent, at time: Int64, into links: inout [ConnectionHandle: LinkTrace]
  ) {
    switch event {
    case .leConnectionComplete(let event) where event.status == .success:
      links[event.connectionHandle] = LinkTrace(interval: event.connectionInterval)
    case .leEnhancedConnectionComplete(let event) where event.status == .success:
      links[event.connectionHandle] = LinkTrace(interval: event.connectionInterval)
    case .leConnectionUpdateComplete(let event) where event.status == .success:
      links[event.connectionHandle]?.parameters.interval = event.connectionInterval
    case .lePHYUpdateComplete(let event): links[event.connectionHandle]?.parameters.packets.update(event)
    case .leDataLengthChange(let event): links[event.connectionHandle]?.parameters.packets.update(event)
    case .encryptionChange(let event):
      links[event.connectionHandle]?.parameters.packets
        .encryptionChanged(event.status, isOn: event.encryptionEnabled != .off)
    case .encryptionChangeV2(let event):
      links[event.connectionHandle]?.parameters.packets
        .encryptionChanged(event.status, isOn: event.encryptionEnabled != .off)
    case .numberOfCompletedPackets(let event):
      for entry in event.links { links[entry.connectionHandle]?.complete(Int(entry.numCompletedPackets), at: time) }
    // Every other event leaves the use of the links as it is.
    default: break
    }
  }
}

/// The figures.
extension LinkUse {
  var count: Int { intervals.count }
  /// The octets that arrived.
  var octets: Int { intervals.reduce(0) { $0 + octets(of: $1) } }
  /// The octets that the link could have carried.
  var limit: Int { count * parameters.capacity(direction) }
  var share: Double { Double(octets) / Double(max(1, limit)) }
  /// The intervals in which no packet arrived.
  var empty: Int { intervals.count { octets(of: $0) == 0 } }
  /// The intervals in which less arrived than there was room for, and this device had given the controller no packet
  /// for a time.
  var withoutPacket: Int {
    if direction == .receive { return 0 }
    return intervals.count { octets(of: $0) < parameters.capacity(direction) && $0.hadNoPacket }
  }
  /// The time of the intervals, in seconds.
  var seconds: Double { Double(count) * Double(parameters.interval) * 0.001_25 }

  private func octets(of interval: Interval) -> Int {
    switch direction {
    case .transmit: interval.sent
    case .receive: interval.received
    case .both: interval.sent + interval.received
    }
  }
}

/// The data of one link in a trace.
private struct LinkTrace: Sendable {
  var parameters: LinkUse.Parameters
  /// The octets in the period, in both directions.
  var octets = 0
  var received: [(time: Int64, octets: Int)] = []
  /// The packets that the controller has sent, by the time of their completion.
  var completed: [(time: Int64, octets: Int)] = []
  /// The periods in which the controller had no packet of the host, except the present one.
  var idle: [(begin: Int64, end: Int64)] = []
  var idleSince: Int64? = .min
  /// The octets of the packets that the controller has, the first one first.
  private var inFlight: ArraySlice<Int> = []

  init(interval: UInt16) { parameters = LinkUse.Parameters(interval: interval) }

  mutating func take(_ packet: (time: Int64, octets: Int), isSent: Bool, isInPeriod: Bool) {
    if isInPeriod { octets += packet.octets }
    guard isSent else { return received.append(packet) }
    inFlight.append(packet.octets)
    if let begin = idleSince { idle.append((begin, packet.time)) }
    idleSince = nil
  }

  mutating func complete(_ count: Int, at time: Int64) {
    for _ in 0..<min(count, inFlight.count) {
      if let octets = inFlight.popFirst() { completed.append((time, octets)) }
    }
    if inFlight.isEmpty, idleSince == nil { idleSince = time }
  }
}
