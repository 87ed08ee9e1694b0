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
  /// The longest on LE Coded at S=8.
  static let greatestCoded = Self(octets: 251, time: 17_040)

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
    /// The peripheral waits for the central to begin; with airtime, the central for the peripheral to follow.
    case starting
    /// The peripheral has paused encryption and waits for the central's request.
    case paused
  }

  /// A data packet that waits in a buffer of the controller.
  struct Waiting: Sendable {
    var buffer: Int
    var isStart: Bool
  }

  static let allChannels: UInt64 = 0x1F_FFFF_FFFF
  /// So many control PDUs wait for a connection event; a host that starts more procedures gets no answer to them.
  static let controlLimit = 64

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
  /// The reason that the host then gets.
  var supervisionReason = HCIErrorCode.connectionTimeout

  // The following are used with `VirtualRadio.Pacing.airtime` only.

  /// The PDU that the peer has received and not yet acknowledged.
  var unacknowledged: LinkLayerPacket.Content?
  /// How many octets of the first packet in ``waiting`` the peer has received.
  var sentOctets = 0
  /// The peer's LL_TERMINATE_IND: the link ends when it is acknowledged.
  var terminationReason: HCIErrorCode?
  /// The host prefers S=2 to S=8 for what it sends on LE Coded.
  var prefersS2 = false
  /// LL_ENC_REQ for a new key, sent once both ends have paused encryption.
  var encryptionRequestAfterPause: LinkLayerPDU?

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

  /// Keeps a control PDU for the next connection event. The end of the link is never dropped, and never kept twice.
  mutating func keep(_ pdu: LinkLayerPDU) {
    if case .terminate = pdu {
      if !controls.contains(where: { if case .terminate = $0 { true } else { false } }) { controls.append(pdu) }
    } else if controls.count < Self.controlLimit {
      controls.append(pdu)
    }
  }

  var isCut: Bool { supervisionEnd != nil }
  /// Data stands still while keys change (Vol 6, Part B, 5.1.3.1) and while the peer has no room for it.
  var holdsData: Bool { isCut || encryption != .none || isBlocked }

  /// Whether this end sends PDUs with a message integrity check now (Vol 6, Part B, 5.1.3).
  var sendsEncrypted: Bool {
    switch encryption {
    case .none: isEncrypted
    case .requested: isEncrypted && encryptionRequestAfterPause != nil
    case .starting: role == .central
    case .awaitingKey, .paused: false
    }
  }

  /// Nothing stands in a packet's way, and none before it.
  var isFreeForData: Bool { !holdsData && waiting.isEmpty }

  var deadline: Instant? { supervisionEnd ?? nextEvent }

  /// The first connection event after `now`.
  func connectionEvent(after now: Instant) -> Instant {
    guard now >= anchor else { return anchor }
    let interval = timing.intervalDuration
    return anchor + interval * ((now - anchor).wholeMultiples(of: interval) + 1)
  }
}
