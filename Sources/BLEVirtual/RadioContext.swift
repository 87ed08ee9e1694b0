internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// What a controller sees of its surroundings while it works: the time, its hosts' ears, and the other controllers.
struct RadioContext: Sendable {
  let pacing: VirtualRadio.Pacing
  let cryptography: any Cryptography
  var now = Instant.start
  var output = VirtualRadioOutput()
  /// The links and their connection events, with ``VirtualRadio/Pacing/airtime``.
  var connections = ConnectionTable()
  /// What is on its way to another controller, in order.
  var transmissions: [Transmission] = []
  private var lastLink: UInt64 = 0

  init(pacing: VirtualRadio.Pacing, cryptography: any Cryptography) {
    self.pacing = pacing
    self.cryptography = cryptography
  }

  /// A number that no other link of the radio has or had.
  mutating func newLinkID() -> UInt64 {
    lastLink &+= 1
    return lastLink
  }
}

/// Something on its way over a link.
struct Transmission: Sendable {
  enum Payload: Sendable {
    case control(LinkLayerPDU)
    /// A buffer of the sending controller.
    case data(buffer: Int, isStart: Bool)
  }

  var sender: Int
  var receiver: Int
  var link: UInt64
  var payload: Payload
}
