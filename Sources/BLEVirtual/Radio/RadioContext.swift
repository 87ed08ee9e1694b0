internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// The state that the controllers of a radio share: the time, the output for hosts, and the PDUs for other controllers.
struct RadioContext: Sendable {
  let pacing: VirtualRadio.Pacing
  let cryptography: any Cryptography
  var now = Instant.start
  /// Whether a controller has faults of packets.
  var hasPacketFaults = false
  var output = VirtualRadioOutput()
  /// The links and their connection events, with ``VirtualRadio/Pacing/airtime``.
  var connections = ConnectionTable()
  /// The PDUs for other controllers, in order.
  var transmissions: [Transmission] = []
  private var lastLink: UInt64 = 0

  init(pacing: VirtualRadio.Pacing, cryptography: any Cryptography) {
    self.pacing = pacing
    self.cryptography = cryptography
  }

  /// An identifier that no other link of the radio has or had.
  mutating func newLinkID() -> UInt64 {
    lastLink &+= 1
    return lastLink
  }
}

/// A PDU or an ACL packet for the other end of a link.
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

/// Delivery of PDUs from one controller to another.
extension VirtualRadio {
  /// Delivers all transmissions, including those that follow from them.
  mutating func deliver() {
    var next = 0
    while next < context.transmissions.count {
      let transmission = context.transmissions[next]
      next += 1
      switch transmission.payload {
      case .control(let pdu): deliver(pdu, transmission)
      case .data(let buffer, let isStart): deliver(buffer: buffer, isStart: isStart, transmission)
      }
    }
    context.transmissions.removeAll(keepingCapacity: true)
  }

  private mutating func deliver(_ pdu: LinkLayerPDU, _ transmission: Transmission) {
    guard let index = end(of: transmission.link, at: transmission.receiver) else { return }
    guard !controllers[transmission.receiver].links[index].isCut else { return }
    controllers[transmission.receiver].receive(pdu, on: index, &context)
    if let own = end(of: transmission.link, at: transmission.sender) {
      controllers[transmission.sender].acknowledge(pdu, on: own, &context)
    }
  }

  /// The index of the link with the identifier in the controller in `slot`.
  func end(of link: UInt64, at slot: Int) -> Int? {
    guard controllers.indices.contains(slot) else { return nil }
    return controllers[slot].links.firstIndex { $0.id == link }
  }

  /// Runs the advertising events that are due in one controller.
  mutating func advertise(from slot: Int) {
    runAdvertisingEvents(of: slot)
    for handle in controllers[slot].advertising.handlesDue(at: context.now) {
      guard let advertisement = controllers[slot].advertise(handle, &context) else { continue }
      if context.pacing == .airtime { beginAdvertisingEvent(advertisement) } else { broadcast(advertisement) }
    }
    controllers[slot].tickAdvertising(&context)
  }

  /// Delivers the advertisement to every scanner, then to the initiators until one connects.
  private mutating func broadcast(_ advertisement: Advertisement) {
    for slot in controllers.indices where slot != advertisement.sender && controllers[slot].isAttached {
      guard controllers[slot].scansFor(advertisement) else { continue }
      if let scanner = controllers[slot].receiveAdvertisement(advertisement, &context) {
        let sender = advertisement.sender
        if let response = controllers[sender].answerScanRequest(for: advertisement, from: scanner, &context) {
          _ = controllers[slot].receiveAdvertisement(response, &context)
        }
      }
    }
    guard advertisement.properties.contains(.connectable) else { return }
    for slot in controllers.indices where slot != advertisement.sender && controllers[slot].isAttached {
      guard controllers[slot].initiatesFor(advertisement),
        let request = controllers[slot].connectRequest(for: advertisement, &context)
      else { continue }
      if connect(slot, to: advertisement, from: request.ownAddress, request.parameters) { return }
    }
  }

  /// Opens a link between an initiator and the advertiser.
  ///
  /// - Returns: false if the advertiser does not accept the connection.
  mutating func connect(
    _ central: Int, to advertisement: Advertisement, from ownAddress: DeviceAddress,
    _ parameters: HCI.ConnectionParameters
  ) -> Bool {
    let peripheral = advertisement.sender
    guard let address = advertisement.address,
      controllers[peripheral].acceptsConnection(for: advertisement, from: ownAddress, context)
    else { return false }
    let id = context.newLinkID()
    if context.pacing == .airtime {
      context.connections.open(plannedConnection(id, central, to: advertisement, parameters.timing))
    }
    controllers[central].open(
      id, as: .central, ownAddress: ownAddress, peer: peripheral, peerAddress: address, rssi: advertisement.rssi,
      timing: parameters.timing, from: advertisement, &context)
    controllers[peripheral].open(
      id, as: .peripheral, ownAddress: address, peer: central, peerAddress: ownAddress,
      rssi: controllers[central].configuration.rssi, timing: parameters.timing, from: advertisement, &context)
    if !advertisement.isLegacyPDU { setPHY(advertisement.linkPHY, of: id, at: [central, peripheral]) }
    deliver()
    return true
  }

  /// A connection whose first anchor point lies in the transmit window: transmitWindowDelay and a random
  /// transmitWindowOffset of at most one interval after the end of the connect request (Vol 6, Part B, 4.5.3).
  private mutating func plannedConnection(
    _ id: UInt64, _ central: Int, to advertisement: Advertisement, _ timing: LinkTiming
  ) -> Connection {
    var delay = Duration.microseconds(1250)
    if !advertisement.isLegacyPDU {
      delay = .microseconds(advertisement.linkPHY == .leCoded ? 3750 : 2500)
    }
    let offset = Int64.random(in: 0...Int64(timing.interval), using: &controllers[central].random)
    let anchor = context.now + delay + .microseconds(1250 * offset)
    return Connection(
      id: id, central: central, peripheral: advertisement.sender,
      schedule: ConnectionSchedule(timing: timing, firstAnchor: anchor))
  }

  /// Sets the PHY of a link that begins with an auxiliary packet to the PHY of that packet (Vol 6, Part B, 4.4.4.3).
  private mutating func setPHY(_ phy: HCI.PHY, of link: UInt64, at slots: [Int]) {
    for slot in slots {
      guard let index = end(of: link, at: slot) else { continue }
      controllers[slot].links[index].transmitPHY = phy
      controllers[slot].links[index].receivePHY = phy
    }
  }
}
