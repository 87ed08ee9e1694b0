internal import BLEHCI
internal import BLEWire

/// A link's timing (Vol 6, Part B, 4.5.1).
struct LinkTiming: Hashable, Sendable {
  /// In units of 1.25 ms.
  var interval: UInt16
  /// In connection events.
  var latency: UInt16
  /// In units of 10 ms.
  var timeout: UInt16

  var supervisionTimeout: Duration { .milliseconds(10 * Int64(timeout)) }
  var intervalDuration: Duration { .microseconds(1250 * Int64(max(6, interval))) }
}

/// How long the data PDUs of one direction may be (Vol 6, Part B, 4.5.10).
struct DataLength: Hashable, Sendable {
  var octets: UInt16
  /// In microseconds.
  var time: UInt16

  /// What every link begins with.
  static let initial = Self(octets: 27, time: 328)
  /// The longest on LE 1M and 2M.
  static let greatest = Self(octets: 251, time: 2120)

  func limited(to other: Self) -> Self { Self(octets: min(octets, other.octets), time: min(time, other.time)) }
}

/// One end of a link.
///
/// ```
///  off ──host enables (central)──► requested ──LL_START_ENC_REQ──► on
///  off ──LL_ENC_REQ (peripheral)─► awaitingKey ──host's key──► starting ──LL_START_ENC_RSP──► on
///  on takes the same ways again with a new key; data waits meanwhile
/// ```
struct VirtualLink: Sendable {
  /// Where the encryption procedure stands.
  enum EncryptionProcedure: Hashable, Sendable {
    case none
    /// The central waits for the peripheral.
    case requested(longTermKey: UInt128, sessionKeyDiversifier: UInt128)
    /// The peripheral waits for its host's key.
    case awaitingKey(sessionKeyDiversifier: UInt128)
    /// The peripheral waits for the central to begin.
    case starting
  }

  /// A data packet that waits in a buffer of the controller.
  struct Waiting: Sendable {
    var buffer: Int
    var isStart: Bool
  }

  static let allChannels: UInt64 = 0x1F_FFFF_FFFF

  /// The same on both ends.
  let id: UInt64
  let handle: ConnectionHandle
  let role: HCI.Role
  /// The slot of the other end's controller.
  let peer: Int
  /// As the host knows the peer.
  let peerAddress: DeviceAddress
  /// How strongly this end hears the other, in dBm.
  let rssi: Int8
  /// When the first connection event was; the others follow at the interval.
  let anchor: Instant

  var timing: LinkTiming
  var encryption = EncryptionProcedure.none
  var isEncrypted = false
  /// The central's host or the peripheral's asked for new timing, and waits for the peer's answer.
  var isAwaitingParameterReply = false
  var localDataLength = DataLength.initial
  var transmitLength = DataLength.initial
  var receiveLength = DataLength.initial
  var transmitPHY = HCI.PHY.le1M
  var receivePHY = HCI.PHY.le1M
  var isPHYRequested = false
  var channelMap = Self.allChannels
  /// In units of 10 ms.
  var authenticatedPayloadTimeout: UInt16 = 3000
  /// Whether the host has begun a frame.
  var hasStartedFrame = false

  /// Control PDUs that wait for the next connection event.
  var controls: [LinkLayerPDU] = []
  /// Data that waits for the next connection event or for the end of an encryption procedure.
  var waiting: [Waiting] = []
  /// The peer's host has no room: data stands still until it has.
  var isBlocked = false {
    didSet { if !isBlocked { returned = 0 } }
  }
  /// How many data packets came back since; they stand at the front of ``waiting``.
  private var returned = 0
  /// How many of the host's buffers hold data of this link.
  var heldByHost = 0
  /// The next connection event, where something waits for it.
  var nextEvent: Instant?
  /// Nothing goes through any more, and at this time the link is given up.
  var supervisionEnd: Instant?

  init(
    id: UInt64, handle: ConnectionHandle, role: HCI.Role, peer: Int, peerAddress: DeviceAddress, rssi: Int8,
    anchor: Instant, timing: LinkTiming
  ) {
    self.id = id
    self.handle = handle
    self.role = role
    self.peer = peer
    self.peerAddress = peerAddress
    self.rssi = rssi
    self.anchor = anchor
    self.timing = timing
  }

  /// A packet that the peer had no room for goes back to the front of the line, behind those that went back before it.
  mutating func putBack(_ packet: Waiting) {
    isBlocked = true
    waiting.insert(packet, at: min(returned, waiting.count))
    returned += 1
  }

  var isCut: Bool { supervisionEnd != nil }
  /// Data stands still while keys change (Vol 6, Part B, 5.1.3.1) and while the peer has no room for it.
  var holdsData: Bool { isCut || encryption != .none || isBlocked }

  /// Nothing stands in a packet's way, and none before it.
  var isFreeForData: Bool { !holdsData && waiting.isEmpty }

  var deadline: Instant? { supervisionEnd ?? nextEvent }

  /// The first connection event after `now`.
  func connectionEvent(after now: Instant) -> Instant {
    let interval = timing.intervalDuration
    let elapsed = now - anchor
    guard elapsed >= .zero else { return anchor }
    let events = elapsed.nanoseconds / interval.nanoseconds
    return anchor + .nanoseconds((events + 1) * interval.nanoseconds)
  }
}

extension Duration {
  /// Whole nanoseconds; 292 years are the most.
  fileprivate var nanoseconds: Int64 {
    let (whole, overflow) = components.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max / 2 : whole &+ components.attoseconds / 1_000_000_000
  }
}
