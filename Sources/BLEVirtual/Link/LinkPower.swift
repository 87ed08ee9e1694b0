internal import BLEHCI
internal import BLEWire

/// The transmit power of one end of a link on a PHY, as in LL_POWER_CONTROL_RSP and LL_POWER_CHANGE_IND (Vol 6, Part B,
/// 2.4.2.33 and 2.4.2.34).
struct LinkLayerPower: Hashable, Sendable {
  /// 1 for LE 1M, 2 for LE 2M, 3 for LE Coded with S=8, 4 for LE Coded with S=2.
  var phy: UInt8
  /// In dBm; ``unknownLevel`` on a PHY that the end does not have.
  var level: Int8
  /// Bit 0 for the minimum power, bit 1 for the maximum.
  var limits: UInt8
  /// The change in dB.
  var delta: Int8

  static let unknownLevel: Int8 = 127
}

extension RadioPHY {
  /// The number of the PHY in commands, events and PDUs of power control (Vol 4, Part E, 7.8.117).
  var powerNumber: UInt8 {
    switch self {
    case .le1M: 1
    case .le2M: 2
    case .codedS8: 3
    case .codedS2: 4
    }
  }
}

extension HCI.PHYs {
  /// The error for a PHY of a command of power control; nil for one of these PHYs.
  func refusal(ofPowerOn phy: UInt8) -> HCIErrorCode? {
    switch phy {
    case 1: nil
    case 2: contains(.le2M) ? nil : .unsupportedFeatureOrParameterValue
    case 3, 4: contains(.leCoded) ? nil : .unsupportedFeatureOrParameterValue
    default: .invalidCommandParameters
    }
  }
}

/// The power control of one end of a link, and its path loss (Vol 6, Part B, 4.5.16, 5.1.17 and 5.1.18; Vol 4, Part E,
/// 7.8.117 to 7.8.121).
///
/// ```
///  host ──LE Read Remote Transmit Power Level──► ──LL_POWER_CONTROL_REQ──► peer
///       ◄─LE Transmit Power Reporting, 2──────── ◄─LL_POWER_CONTROL_RSP───
///       ◄─LE Transmit Power Reporting, 1──────── ◄─LL_POWER_CHANGE_IND──── its power has changed
/// ```
///
/// An end sends LL_POWER_CHANGE_IND if the peer has once requested its power. The request never asks for another power
/// (Delta is 0): a test changes the power by ``VirtualRadio/setTransmitPower(_:of:now:)``. All PHYs have the same
/// power.
struct LinkPower: Sendable {
  /// The power of this end in dBm.
  private(set) var level: Int8
  private let range: ClosedRange<Int8>
  /// The power that the peer has reported, in dBm; nil before its first report.
  private(set) var remote: Int8?
  /// Whether the peer has requested the power of this end.
  private var isRequestedByPeer = false
  /// The PHY of the host's request for the peer's power.
  private var read: UInt8?
  private var reportsLocal = false
  private var reportsRemote = false
  private var pathLoss = PathLossMonitor()

  init(level: Int8, range: ClosedRange<Int8>) { (self.level, self.range) = (level, range) }

  /// When ``tick(_:_:)`` has work.
  var deadline: Instant? { pathLoss.deadline }

  private func power(on phy: UInt8, _ level: Int8, delta: Int8 = 0) -> LinkLayerPower {
    let limits: UInt8 = (level == range.lowerBound ? 1 : 0) | (level == range.upperBound ? 2 : 0)
    return LinkLayerPower(phy: phy, level: level, limits: limits, delta: delta)
  }

  // MARK: Commands of the host

  /// The error for LE Read Remote Transmit Power Level; nil if it can be performed.
  func refusal(_ command: HCI.LEReadRemoteTransmitPowerLevel, _ turn: ProcedureTurn) -> HCIErrorCode? {
    if let refusal = turn.controller.features.phys.refusal(ofPowerOn: command.phy) { return refusal }
    return read == nil ? nil : .commandDisallowed
  }

  /// Performs LE Read Remote Transmit Power Level.
  mutating func readRemote(
    on phy: UInt8, _ peer: HCI.LEFeatures, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    guard peer.contains(.powerControlRequest) else {
      let power = LinkLayerPower(phy: phy, level: LinkLayerPower.unknownLevel, limits: 0, delta: 0)
      return report(power, reason: 2, .unsupportedRemoteFeature, turn: turn, &context)
    }
    read = phy
    turn.send(.powerControlRequest(phy: phy))
  }

  /// Performs LE Set Transmit Power Reporting Enable. The first report of the peer needs a request.
  mutating func setReporting(
    _ command: HCI.LESetTransmitPowerReportingEnable, on phy: UInt8, _ peer: HCI.LEFeatures, _ turn: inout ProcedureTurn
  ) {
    (reportsLocal, reportsRemote) = (command.localEnable, command.remoteEnable)
    if reportsRemote { requestIfUnknown(on: phy, peer, &turn) }
  }

  /// Performs LE Set Path Loss Reporting Parameters.
  mutating func setPathLoss(_ command: HCI.LESetPathLossReportingParameters) -> HCIErrorCode {
    pathLoss.set(command)
  }

  /// Whether LE Set Path Loss Reporting Enable is allowed: the parameters have been set.
  var hasPathLossParameters: Bool { pathLoss.hasParameters }

  /// Performs LE Set Path Loss Reporting Enable. The zone is reported at once, or when the peer has reported its power.
  mutating func setPathLossReporting(
    _ isEnabled: Bool, on phy: UInt8, _ peer: HCI.LEFeatures, _ measured: PathMeasurement, _ turn: inout ProcedureTurn,
    _ context: inout VirtualRadioContext
  ) {
    pathLoss.setEnabled(isEnabled)
    guard isEnabled else { return }
    guard peer.contains(.powerControlRequest) else {
      // Current_Path_Loss is 0xFF: the controller cannot learn the power of the peer.
      turn.host.send(HCI.LEPathLossThreshold { $0.connectionHandle = turn.handle }, &context)
      return
    }
    requestIfUnknown(on: phy, peer, &turn)
    measure(measured, turn, &context)
  }

  private func requestIfUnknown(on phy: UInt8, _ peer: HCI.LEFeatures, _ turn: inout ProcedureTurn) {
    guard remote == nil, peer.contains(.powerControlRequest) else { return }
    turn.send(.powerControlRequest(phy: phy))
  }

  // MARK: Changes of this end

  /// Changes the power of this end, and reports it to both hosts.
  mutating func set(
    _ new: Int8, on phy: UInt8, _ turn: inout ProcedureTurn, _ context: inout VirtualRadioContext
  ) {
    let level = min(max(new, range.lowerBound), range.upperBound)
    guard level != self.level else { return }
    let delta = Int8(clamping: Int(level) - Int(self.level))
    self.level = level
    let power = power(on: phy, level, delta: delta)
    if reportsLocal { report(power, reason: 0, turn: turn, &context) }
    if isRequestedByPeer { turn.send(.powerChange(power)) }
  }

  /// The signal of the peer or the path between the ends has changed: the zone of the path loss may be another one.
  mutating func measure(_ measured: PathMeasurement, _ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    guard let remote else { return }
    let loss = UInt8(min(max(0, Int(remote) - Int(measured.rssi)), 254))
    pathLoss.measured(loss, interval: measured.interval, now: context.now)
    tick(turn, &context)
  }

  /// Reports a zone that is due.
  mutating func tick(_ turn: ProcedureTurn, _ context: inout VirtualRadioContext) {
    guard let (zone, loss) = pathLoss.takeReport(now: context.now) else { return }
    turn.host.send(
      HCI.LEPathLossThreshold {
        ($0.connectionHandle, $0.currentPathLoss, $0.zoneEntered) = (turn.handle, loss, zone.rawValue)
      }, &context)
  }

  // MARK: PDUs of the peer

  /// Receives LL_POWER_CONTROL_REQ.
  mutating func receiveRequest(on phy: UInt8, _ turn: inout ProcedureTurn) {
    isRequestedByPeer = true
    let isKnown = turn.controller.features.phys.refusal(ofPowerOn: phy) == nil
    turn.send(
      .powerControlResponse(
        isKnown
          ? power(on: phy, level)
          : LinkLayerPower(phy: phy, level: LinkLayerPower.unknownLevel, limits: 0, delta: 0)))
  }

  /// Receives LL_POWER_CONTROL_RSP or LL_POWER_CHANGE_IND.
  mutating func receive(
    _ power: LinkLayerPower, isResponse: Bool, _ measured: PathMeasurement, _ turn: ProcedureTurn,
    _ context: inout VirtualRadioContext
  ) {
    if isResponse, read == power.phy {
      read = nil
      report(power, reason: 2, turn: turn, &context)
    }
    guard power.level != LinkLayerPower.unknownLevel else { return }
    let old = remote
    remote = power.level
    if let old, old != power.level, reportsRemote {
      var change = power
      change.delta = Int8(clamping: Int(power.level) - Int(old))
      report(change, reason: 1, turn: turn, &context)
    }
    measure(measured, turn, &context)
  }

  private func report(
    _ power: LinkLayerPower, reason: UInt8, _ status: HCIErrorCode = .success, turn: ProcedureTurn,
    _ context: inout VirtualRadioContext
  ) {
    turn.host.send(
      HCI.LETransmitPowerReporting {
        ($0.status, $0.connectionHandle, $0.reason, $0.phy) = (status, turn.handle, reason, power.phy)
        ($0.txPowerLevel, $0.txPowerLevelFlag, $0.delta) = (power.level, power.limits, power.delta)
      }, &context)
  }
}

/// The signal of the peer as this end receives it.
struct PathMeasurement: Sendable {
  /// In dBm.
  let rssi: Int8
  /// The connection interval, in which Min_Time_Spent counts.
  let interval: Duration
}

/// The zones of the path loss of a link (Vol 6, Part B, 4.5.16; Vol 4, Part E, 7.8.119, 7.8.120 and 7.7.65.32).
///
/// ```
///  path loss ──────────── low − h ── low + h ─────────── high − h ── high + h ──────────►
///  zone entered below/above:  low         middle              middle        high
/// ```
struct PathLossMonitor: Sendable {
  enum Zone: UInt8, Sendable { case low, middle, high }

  private var parameters: HCI.LESetPathLossReportingParameters?
  private var isEnabled = false
  /// The zone that was reported last; nil before the first report.
  private var zone: Zone?
  /// The latest path loss in dB.
  private var loss: UInt8 = 0
  /// Another zone, which is reported at a time if the path loss stays in it.
  private var pending: (zone: Zone, due: Instant)?

  var hasParameters: Bool { parameters != nil }
  var deadline: Instant? { pending?.due }

  mutating func set(_ command: HCI.LESetPathLossReportingParameters) -> HCIErrorCode {
    guard command.isValid else { return .invalidCommandParameters }
    parameters = command
    return .success
  }

  mutating func setEnabled(_ isEnabled: Bool) {
    (self.isEnabled, zone, pending) = (isEnabled, nil, nil)
  }

  mutating func measured(_ loss: UInt8, interval: Duration, now: Instant) {
    guard isEnabled, let parameters else { return }
    self.loss = loss
    let entered = Self.zone(of: loss, from: zone, parameters)
    guard entered != zone else { return pending = nil }
    guard pending?.zone != entered else { return }
    let time = zone == nil ? .zero : interval * Int(parameters.minTimeSpent)
    pending = (entered, now + time)
  }

  /// The zone that is due to be reported, with the path loss.
  mutating func takeReport(now: Instant) -> (zone: Zone, loss: UInt8)? {
    guard let pending, pending.due <= now else { return nil }
    self.pending = nil
    zone = pending.zone
    return (pending.zone, loss)
  }

  /// The zone of a path loss. A zone that has been reported is left when the loss is past the threshold by more than
  /// its hysteresis.
  private static func zone(
    of loss: UInt8, from zone: Zone?, _ parameters: HCI.LESetPathLossReportingParameters
  ) -> Zone {
    let (loss, high, low) = (Int(loss), Int(parameters.highThreshold), Int(parameters.lowThreshold))
    let (highHysteresis, lowHysteresis) = (Int(parameters.highHysteresis), Int(parameters.lowHysteresis))
    guard let zone else { return loss < low ? .low : loss > high ? .high : .middle }
    let isHigh = loss > (zone == .high ? high - highHysteresis - 1 : high + highHysteresis)
    if isHigh { return .high }
    let isLow = loss < (zone == .low ? low + lowHysteresis + 1 : low - lowHysteresis)
    return isLow ? .low : .middle
  }
}
