import BLEHCI
import BLEWire

/// ACL packets that have overtaken the event that says what they are.
///
/// A controller on USB sends data and events by two endpoints, and the host reads them in an order of its own: the
/// first data of a link may come before its LE Connection Complete, and the first encrypted data before Encryption
/// Change. Such packets are held for a short time, and then served as what the host knows by then, or dropped. Data of
/// a link that has just ended may come after its Disconnection Complete: it is never given to the next link with the
/// same handle.
///
/// Data in the clear is not served as encrypted. The link layers send none from the response of the peripheral on (Vol
/// 6, Part B, 5.1.3), and the rest of the procedure takes a connection interval at least, so that data that has waited
/// for one interval came in the clear (Docs/Decisions/pairing-and-bonds.md#the-central-encrypts-first).
struct HeldPackets: Sendable {
  private struct Packet: Sendable {
    var handle: ConnectionHandle
    var octets: [UInt8]
    /// When it is not held any longer.
    var end: Instant
  }

  /// How long a packet waits for its event, at most. The endpoints differ by some ten milliseconds.
  static let time = Duration.milliseconds(100)
  /// How long data of a link may come after the event that has ended it.
  static let lateTime = Duration.milliseconds(30)
  /// The time between two commands to end a link that the controller has not reported.
  static let endTime = Duration.seconds(2)
  /// The packets of one link, and the links that are not known yet.
  static let limit = (packets: 32, strangers: 8)

  /// Those of one link in the order in which they came.
  private var packets: [Packet] = []
  /// The links that have ended a short time ago.
  private var ended: [(handle: ConnectionHandle, at: Instant)] = []
  /// The handles of links that do not exist, and whose packets were dropped, with the time of the last command to end
  /// the link.
  private var strangers: [(handle: ConnectionHandle, ended: Instant?)] = []

  var isEmpty: Bool { packets.isEmpty }
  /// When ``takeOverdue(_:)`` has work.
  var deadline: Instant? {
    @inline(__always) get { packets.isEmpty ? nil : packets.reduce(nil) { .nearer($0, $1.end) } }
  }

  func contains(_ handle: ConnectionHandle) -> Bool { packets.contains { $0.handle == handle } }

  /// Holds a packet of a link.
  ///
  /// - Parameter time: how long, at most ``time``.
  /// - Returns: false where the link has too many.
  mutating func hold(
    _ packet: Span<UInt8>, of handle: ConnectionHandle, for time: Duration = Self.time, now: Instant
  ) -> Bool {
    guard packets.count(where: { $0.handle == handle }) < Self.limit.packets else { return false }
    packets.append(Packet(handle: handle, octets: [UInt8](copying: packet), end: now + min(time, Self.time)))
    return true
  }

  /// Holds a packet whose link is not known, for a link that may come up.
  ///
  /// - Returns: false where too many are held.
  mutating func holdUnknown(_ packet: Span<UInt8>, of handle: ConnectionHandle, now: Instant) -> Bool {
    guard contains(handle) || Set(packets.map({ $0.handle })).count < Self.limit.strangers else { return false }
    return hold(packet, of: handle, now: now)
  }

  /// The packets of a link, in order.
  mutating func take(_ handle: ConnectionHandle) -> [[UInt8]] {
    if packets.isEmpty { return [] }
    let taken = packets.filter { $0.handle == handle }.map { $0.octets }
    packets.removeAll { $0.handle == handle }
    return taken
  }

  /// The packets that have waited long enough, in order.
  mutating func takeOverdue(_ now: Instant) -> [(handle: ConnectionHandle, octets: [UInt8])] {
    let overdue = packets.filter { $0.end <= now }
    packets.removeAll { $0.end <= now }
    return overdue.map { ($0.handle, $0.octets) }
  }

  /// A link has come up.
  mutating func linkAdded(_ handle: ConnectionHandle) {
    strangers.removeAll { $0.handle == handle }
    ended.removeAll { $0.handle == handle }
  }

  /// A link has ended. What it has sent is dropped, and what comes of it for a short time.
  mutating func linkEnded(_ handle: ConnectionHandle, now: Instant) {
    packets.removeAll { $0.handle == handle }
    ended.removeAll { $0.handle == handle || $0.at + Self.lateTime <= now }
    ended.append((handle, now))
  }

  /// Whether a packet for a handle without a link is one of the link that has just ended.
  func isLate(_ handle: ConnectionHandle, now: Instant) -> Bool {
    ended.contains { $0.handle == handle && now < $0.at + Self.lateTime }
  }

  /// What is done about a packet whose link did not come up.
  enum Drop: Equatable, Sendable {
    case report
    /// It was not the first one: the controller has a link that the host does not know.
    case end
    case nothing
  }

  mutating func dropped(_ handle: ConnectionHandle, now: Instant) -> Drop {
    guard let place = strangers.firstIndex(where: { $0.handle == handle }) else {
      guard strangers.count < Self.limit.strangers else { return .nothing }
      strangers.append((handle, nil))
      return .report
    }
    if let last = strangers[place].ended, now < last + Self.endTime { return .nothing }
    strangers[place].ended = now
    return .end
  }

  /// The controller lost its links.
  mutating func removeAll() { self = Self() }
}
