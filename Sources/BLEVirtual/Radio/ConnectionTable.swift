internal import BLEHCI
internal import BLEWire

/// A link between two controllers and its connection events, for a radio with ``VirtualRadio/Pacing/airtime``.
struct Connection: Sendable {
  let id: UInt64
  /// The slots of the two controllers.
  let central: Int
  let peripheral: Int
  var schedule: ConnectionSchedule
  /// The connection event in progress.
  var event: ConnectionEvent?
  /// The counter of the next event in which an end has something to send.
  var nextEvent: Int?
  /// Whether both ends have received a packet (Vol 6, Part B, 4.5).
  var isEstablished = false
  /// Whether an end no longer has the link or is out of range, so that no more events take place.
  var isOver = false
  /// The number of controllers that still have the link.
  fileprivate var ends = 2

  init(id: UInt64, central: Int, peripheral: Int, schedule: ConnectionSchedule) {
    self.id = id
    self.central = central
    self.peripheral = peripheral
    self.schedule = schedule
    // The first event is always simulated: it establishes the link.
    nextEvent = schedule.counter + 1
  }

  func slot(of role: HCI.Role) -> Int { role == .central ? central : peripheral }

  /// The counter of the next event to simulate: one in which an end sends, or the instant of a change.
  var dueEvent: Int? {
    guard let nextEvent, let instant = schedule.nextInstant else { return nextEvent ?? schedule.nextInstant }
    return min(nextEvent, instant)
  }

  /// The end of the current packet, or the anchor point of the next event to simulate.
  var deadline: Instant? {
    if isOver { return nil }
    return event?.packetEnd ?? dueEvent.map { schedule.anchor(of: $0) }
  }
}

/// The links of a radio with ``VirtualRadio/Pacing/airtime``, the oldest first.
struct ConnectionTable: Sendable {
  private var connections: [Connection] = []

  mutating func open(_ connection: Connection) { connections.append(connection) }

  subscript(id: UInt64) -> Connection? {
    get { index(of: id).map { connections[$0] } }
    set {
      guard let index = index(of: id), let newValue else { return }
      connections[index] = newValue
    }
  }

  var deadline: Instant? {
    var nearest: Instant?
    for connection in connections { nearest = .nearer(nearest, connection.deadline) }
    return nearest
  }

  /// The oldest connection that is due.
  func due(at now: Instant) -> Connection? {
    connections.first { $0.deadline.map { $0 <= now } ?? false }
  }

  /// Schedules the first event after `now` in which `role` can send.
  mutating func requestEvent(on id: UInt64, for role: HCI.Role, now: Instant) {
    guard let index = index(of: id), connections[index].event == nil else { return }
    let event = connections[index].schedule.nextEvent(after: now, for: role)
    connections[index].nextEvent = min(connections[index].nextEvent ?? event, event)
  }

  /// Ends the events of a connection.
  mutating func stop(_ id: UInt64) {
    guard let index = index(of: id) else { return }
    connections[index].isOver = true
    connections[index].event = nil
  }

  /// Records that one controller no longer has the link. After the second one the connection is removed.
  mutating func leave(_ id: UInt64) {
    stop(id)
    guard let index = index(of: id) else { return }
    connections[index].ends -= 1
    if connections[index].ends <= 0 { connections.remove(at: index) }
  }

  private func index(of id: UInt64) -> Int? { connections.firstIndex { $0.id == id } }
}
