internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The state that the controllers of a radio share: the time, the output for hosts, and the PDUs for other controllers.
struct VirtualRadioContext: Sendable {
  let pacing: VirtualRadio.Pacing
  let cryptography: any Cryptography
  var now = Instant.start
  /// Whether a controller has packet faults.
  var hasPacketFaults = false
  var output = VirtualRadioOutput()
  /// The links and their connection events, with ``VirtualRadio/Pacing/airtime``.
  var connections = ConnectionTable()
  /// The PDUs for other controllers, in order.
  var transmissions: [Transmission] = []
  /// The paths whose loss the configurations of the controllers do not determine.
  var paths = RadioPaths()
  private var lastLink: UInt64 = 0
  private var lastTrain: UInt64 = 0

  init(pacing: VirtualRadio.Pacing, cryptography: any Cryptography) {
    self.pacing = pacing
    self.cryptography = cryptography
  }

  /// An identifier that no other link of the radio has or has had.
  mutating func newLinkID() -> UInt64 {
    lastLink &+= 1
    return lastLink
  }

  /// An identifier that no other periodic advertising train of the radio has or has had.
  mutating func newTrainID() -> UInt64 {
    lastTrain &+= 1
    return lastTrain
  }
}

/// A PDU or an ACL packet for the other end of a link.
struct Transmission: Sendable {
  enum Payload: Sendable {
    case control(LinkLayerPDU)
    /// A packet in a buffer of the sending controller.
    case data(TransmitQueue.Packet)
  }

  var sender: Int
  var receiver: Int
  var link: UInt64
  var payload: Payload
}
