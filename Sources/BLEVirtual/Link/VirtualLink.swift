internal import BLEHCI
internal import BLEWire

/// The timing of a link (Vol 6, Part B, 4.5.1).
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

/// The limits of data PDUs in one direction (Vol 6, Part B, 4.5.10).
struct DataLength: Hashable, Sendable {
  var octets: UInt16
  /// In microseconds.
  var time: UInt16

  /// The limits of a new link.
  static let initial = Self(octets: 27, time: 328)
  /// The greatest limits on LE 1M and LE 2M.
  static let greatest = Self(octets: 251, time: 2120)
  /// The greatest limits on LE Coded at S=8.
  static let greatestCoded = Self(octets: 251, time: 17_040)

  func limited(to other: Self) -> Self { Self(octets: min(octets, other.octets), time: min(time, other.time)) }
}

/// One end of a link.
///
/// ```
///  off ──host enables (central)──► requested ──LL_START_ENC_REQ──► on
///  off ──LL_ENC_REQ (peripheral)─► awaitingKey ──host's key──► starting ──LL_START_ENC_RSP──► on
///  on follows the same paths again with a new key; data waits during the procedure
/// ```
struct VirtualLink: Sendable {
  /// The state of the encryption procedure.
  enum EncryptionProcedure: Hashable, Sendable {
    case none
    /// The central waits for LL_START_ENC_REQ.
    case requested(longTermKey: UInt128, sessionKeyDiversifier: UInt128)
    /// The peripheral waits for the key from its host.
    case awaitingKey(sessionKeyDiversifier: UInt128)
    /// The peripheral waits for LL_START_ENC_RSP; with airtime the central does too.
    case starting
    /// The peripheral has paused encryption and waits for the central's request.
    case paused
  }

  /// An ACL packet in a buffer of the controller.
  struct Waiting: Sendable {
    var buffer: Int
    var isStart: Bool
  }

  static let allChannels: UInt64 = 0x1F_FFFF_FFFF
  /// The number of control PDUs that wait for a connection event. More are dropped: a host that starts more procedures
  /// gets no answer to them.
  static let controlLimit = 64

  /// Equal on both ends.
  let id: UInt64
  let handle: ConnectionHandle
  let role: HCI.Role
  /// The slot of the other end's controller.
  let peer: Int
  /// The peer's address as reported to the host.
  let peerAddress: DeviceAddress
  /// The RSSI of the other end, in dBm.
  let rssi: Int8
  /// The beginning of the link; without airtime connection events follow at the interval.
  let anchor: Instant

  var timing: LinkTiming
  var encryption = EncryptionProcedure.none
  var isEncrypted = false
  /// Whether this end waits for an answer to a connection parameter request, from its host or from the peer.
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
  /// Whether the host has sent the start of a frame.
  var hasStartedFrame = false

  /// Control PDUs that wait for the next connection event.
  var controls: [LinkLayerPDU] = []
  /// ACL packets that wait for the next connection event or for the end of an encryption procedure.
  var waiting: [Waiting] = []
  /// Whether data waits because the peer's host has no free buffer.
  var isBlocked = false {
    didSet { if !isBlocked { returned = 0 } }
  }
  /// The number of packets at the front of ``waiting`` that the peer's host had no buffer for.
  private var returned = 0
  /// The next connection event, if something waits for it.
  var nextEvent: Instant?
  /// The time at which a link that is out of range ends; nil for a link that is in range.
  var supervisionEnd: Instant?
  /// The reason that is then reported to the host.
  var supervisionReason = HCIErrorCode.connectionTimeout

  // The following are used with `VirtualRadio.Pacing.airtime` only.

  /// The PDU that the peer has received and has not acknowledged yet.
  var unacknowledged: LinkLayerPacket.Content?
  /// The number of octets of the first packet in ``waiting`` that the peer has received.
  var sentOctets = 0
  /// The reason in LL_TERMINATE_IND of the peer. The link ends when this end has acknowledged it.
  var terminationReason: HCIErrorCode?
  /// Whether the host prefers S=2 for transmissions on LE Coded.
  var prefersS2 = false
  /// LL_ENC_REQ for a new key, which is sent after both ends have paused encryption.
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

  /// Returns a packet that the peer's host had no buffer for to the front of ``waiting``, behind those returned before.
  mutating func putBack(_ packet: Waiting) {
    isBlocked = true
    waiting.insert(packet, at: min(returned, waiting.count))
    returned += 1
  }

  /// Stores a control PDU until the next connection event. LL_TERMINATE_IND is never dropped, and stored once.
  mutating func keep(_ pdu: LinkLayerPDU) {
    if case .terminate = pdu {
      if !controls.contains(where: { if case .terminate = $0 { true } else { false } }) { controls.append(pdu) }
    } else if controls.count < Self.controlLimit {
      controls.append(pdu)
    }
  }

  var isCut: Bool { supervisionEnd != nil }
  /// Whether data waits: the link is out of range, keys change (Vol 6, Part B, 5.1.3.1), or the peer's host has no
  /// buffer.
  var holdsData: Bool { isCut || encryption != .none || isBlocked }

  /// Whether PDUs of this end have a message integrity check now (Vol 6, Part B, 5.1.3).
  var sendsEncrypted: Bool {
    switch encryption {
    case .none: isEncrypted
    case .requested: isEncrypted && encryptionRequestAfterPause != nil
    case .starting: role == .central
    case .awaitingKey, .paused: false
    }
  }

  /// Whether a packet can be sent at once: data does not wait, and no packet is before it.
  var isFreeForData: Bool { !holdsData && waiting.isEmpty }

  var deadline: Instant? { supervisionEnd ?? nextEvent }

  /// The first connection event after `now`.
  func connectionEvent(after now: Instant) -> Instant {
    guard now >= anchor else { return anchor }
    let interval = timing.intervalDuration
    return anchor + interval * ((now - anchor).wholeMultiples(of: interval) + 1)
  }
}
