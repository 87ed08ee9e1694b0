internal import BLEHCI
internal import BLEWire

/// The limits of data PDUs in one direction (Vol 6, Part B, 4.5.10).
struct DataLength: Hashable, Sendable {
  var octets: UInt16
  /// In microseconds.
  var time: UInt16

  /// The limits of a new link.
  static let initial = Self(octets: 27, time: 328)
  /// The maximum limits on LE 1M and LE 2M.
  static let greatest = Self(octets: 251, time: 2120)
  /// The maximum limits on LE Coded at S=8.
  static let greatestCoded = Self(octets: 251, time: 17_040)

  /// The maximum limits of a controller. With airtime they include the time of LE Coded.
  static func greatest(of features: HCI.LEFeatures, _ pacing: VirtualRadio.Pacing) -> Self {
    pacing == .airtime && features.contains(.leCodedPHY) ? .greatestCoded : .greatest
  }

  /// Limits that a host sets; nil for values that the specification does not allow.
  init?(fromHost octets: UInt16, time: UInt16) {
    guard (27...251).contains(octets), (328...17040).contains(time) else { return nil }
    self.init(octets: octets, time: time)
  }

  init(octets: UInt16, time: UInt16) {
    self.octets = octets
    self.time = time
  }

  func limited(to other: Self) -> Self { Self(octets: min(octets, other.octets), time: min(time, other.time)) }
}

/// The data length of a link and the procedure that changes it (Vol 6, Part B, 5.1.9).
struct DataLengthUpdate: Sendable {
  /// The limits of this end for its own PDUs, as sent to the peer.
  private var local = DataLength.initial
  /// The limits in use.
  private(set) var transmit = DataLength.initial
  private var receive = DataLength.initial

  /// Sends LL_LENGTH_REQ.
  mutating func request(_ length: DataLength, _ turn: inout ProcedureTurn, _ pacing: VirtualRadio.Pacing) {
    let features = turn.controller.features
    guard features.contains(.dataPacketLengthExtension) else { return }
    local = length.limited(to: .greatest(of: features, pacing))
    turn.send(.lengthRequest(local))
  }

  /// Receives LL_LENGTH_REQ.
  mutating func receiveRequest(_ peer: DataLength, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext) {
    guard turn.controller.features.contains(.dataPacketLengthExtension) else { return }
    if local == .initial { local = turn.controller.suggestedDataLength }
    turn.send(.lengthResponse(local))
    receiveResponse(peer, turn, &context)
  }

  /// Receives LL_LENGTH_RSP: applies the data length of both ends, and reports a change to the host.
  mutating func receiveResponse(_ peer: DataLength, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    let greatest = DataLength.greatest(of: turn.controller.features, context.pacing)
    let newTransmit = local.limited(to: greatest)
    let newReceive = peer.limited(to: greatest)
    guard transmit != newTransmit || receive != newReceive else { return }
    transmit = newTransmit
    receive = newReceive
    turn.host.send(
      HCI.LEDataLengthChange {
        $0.connectionHandle = turn.handle
        $0.maxTXOctets = newTransmit.octets
        $0.maxTXTime = newTransmit.time
        $0.maxRXOctets = newReceive.octets
        $0.maxRXTime = newReceive.time
      }, &context)
  }
}
