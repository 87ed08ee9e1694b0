internal import BLEHCI
internal import BLEWire

extension HCI.PHYs {
  /// The PHYs of a direction that the host allows; nil if it names none, or names one that the controller does not
  /// have.
  ///
  /// - Parameters:
  ///   - isFree: whether the host has no preference.
  ///   - available: the PHYs of the controller.
  func chosen(isFree: Bool, of available: Self) -> Self? {
    if isFree { return available }
    return !isEmpty && isSubset(of: available) ? self : nil
  }

  fileprivate var fastest: HCI.PHY? {
    if contains(.le2M) { return .le2M }
    if contains(.le1M) { return .le1M }
    return contains(.leCoded) ? .leCoded : nil
  }
}

/// The PHYs of a link and the procedure that changes them (Vol 6, Part B, 5.1.10; Vol 4, Part E, 7.8.47 and 7.8.49).
struct PHYUpdate: Sendable {
  private(set) var transmit: HCI.PHY
  private(set) var receive: HCI.PHY
  /// Whether the host waits for the result of its request.
  private var isRequested = false
  /// Whether the host prefers S=2 for transmissions on LE Coded.
  private var prefersS2 = false

  /// - Parameter phy: the PHY on which the link begins.
  init(_ phy: HCI.PHY) {
    transmit = phy
    receive = phy
  }

  /// The PHY of transmissions, with its coding.
  var radioPHY: RadioPHY { RadioPHY(transmit, prefersS2: prefersS2) }

  /// The error for LE Set PHY; nil if it can be performed.
  static func refusal(of command: HCI.LESetPHY, available: HCI.PHYs) -> HCIErrorCode? {
    guard command.txPHYs.chosen(isFree: command.allPHYs.contains(.transmitter), of: available) != nil,
      command.rxPHYs.chosen(isFree: command.allPHYs.contains(.receiver), of: available) != nil,
      command.phyOptions <= 2
    else { return .unsupportedFeatureOrParameterValue }
    return nil
  }

  /// Performs LE Set PHY: sends LL_PHY_REQ.
  mutating func request(_ command: HCI.LESetPHY, _ turn: inout ProcedureTurn) {
    let available = turn.controller.features.phys
    guard let transmit = command.txPHYs.chosen(isFree: command.allPHYs.contains(.transmitter), of: available),
      let receive = command.rxPHYs.chosen(isFree: command.allPHYs.contains(.receiver), of: available)
    else { return }
    isRequested = true
    if command.phyOptions > 0 { prefersS2 = command.phyOptions == 1 }
    turn.send(.phyRequest(transmit: transmit, receive: receive))
  }

  /// Receives LL_PHY_REQ: each direction gets the fastest PHY that both ends support, or keeps its PHY.
  mutating func receiveRequest(
    transmit: HCI.PHYs, receive: HCI.PHYs, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    let available = turn.controller.features.phys
    let preferred = turn.controller.preferredPHYs
    let own = receive.intersection(available).intersection(preferred.transmit).fastest ?? self.transmit
    let peers = transmit.intersection(available).intersection(preferred.receive).fastest ?? self.receive
    guard context.pacing == .airtime else {
      turn.send(.phyUpdate(transmit: peers, receive: own))
      return apply(transmit: own, receive: peers, turn, &context)
    }
    let isPeripheral = turn.role == .peripheral
    turn.send(
      isPeripheral ? .phyResponse(transmit: peers, receive: own) : .phyUpdate(transmit: peers, receive: own))
  }

  /// Whether an LL_PHY_UPDATE_IND for this end would change nothing.
  func isUnchanged(transmit: HCI.PHY, receive: HCI.PHY) -> Bool { self.transmit == transmit && self.receive == receive }

  /// Applies PHYs. Reports a change to the host, and the result of the host's own request even if nothing changes.
  mutating func apply(
    transmit: HCI.PHY, receive: HCI.PHY, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    guard !isUnchanged(transmit: transmit, receive: receive) || isRequested else { return }
    self.transmit = transmit
    self.receive = receive
    isRequested = false
    turn.host.send(
      HCI.LEPHYUpdateComplete {
        $0.connectionHandle = turn.handle
        $0.txPHY = transmit
        $0.rxPHY = receive
      }, &context)
  }
}
