import BLEHCI
import BLEWire

/// The end of a link whose transmit power is meant.
package enum LinkPowerEnd: Hashable, Sendable { case local, remote }

/// A command about the transmit power of a link and its path loss (Vol 4, Part E, 7.8.117 to 7.8.121).
package enum LinkPowerCommand: Hashable, Sendable {
  /// Reads the power of one end. ``LinkPowerEvent/level(_:_:)`` answers.
  case read(LinkPowerEnd)
  /// Whether the owner gets the changes of both powers, as ``LinkPowerEvent/level(_:_:)``.
  case report(Bool)
  /// Whether the owner gets the zones of the path loss, as ``LinkPowerEvent/pathLoss(_:)``; nil ends it. All owners
  /// have the same zones.
  case monitorPathLoss(PathLossParameters?)

  /// The event that answers the command if it fails; nil where none is needed.
  func failure(_ error: HostError) -> LinkPowerEvent? {
    switch self {
    case .read(let end): .level(end, .failure(error))
    case .report(true): .notReported(error)
    case .monitorPathLoss(.some): .pathLoss(.failure(error))
    case .report(false), .monitorPathLoss(nil): nil
    }
  }
}

/// An event about the transmit power of a link and its path loss.
package enum LinkPowerEvent: Equatable, Sendable {
  /// The transmit power of one end in dBm: the answer to a read, or a change. Nil if its controller does not manage the
  /// power, or does not know it.
  case level(LinkPowerEnd, Result<Int8?, HostError>)
  /// The changes are not reported.
  case notReported(HostError)
  case pathLoss(Result<LinkPathLoss, HostError>)
}

/// The zones of the path loss (Vol 4, Part E, 7.8.119): thresholds and hysteresis in dB, the time in connection events.
package struct PathLossParameters: Hashable, Sendable {
  package var highThreshold: UInt8
  package var highHysteresis: UInt8
  package var lowThreshold: UInt8
  package var lowHysteresis: UInt8
  package var minimumTime: UInt16

  package init(
    low: UInt8, high: UInt8, lowHysteresis: UInt8 = 0, highHysteresis: UInt8 = 0, minimumTime: UInt16 = 0
  ) {
    (lowThreshold, highThreshold) = (low, high)
    (self.lowHysteresis, self.highHysteresis, self.minimumTime) = (lowHysteresis, highHysteresis, minimumTime)
  }

  /// Whether Vol 4, Part E, 7.8.119 allows the values.
  package var isValid: Bool { wire.isValid }

  /// The command without its link.
  private var wire: HCI.LESetPathLossReportingParameters {
    HCI.LESetPathLossReportingParameters {
      ($0.highThreshold, $0.highHysteresis) = (highThreshold, highHysteresis)
      ($0.lowThreshold, $0.lowHysteresis, $0.minTimeSpent) = (lowThreshold, lowHysteresis, minimumTime)
    }
  }

  func command(for link: ConnectionHandle) -> HCI.LESetPathLossReportingParameters {
    var command = wire
    command.connectionHandle = link
    return command
  }
}

/// The path loss of a link when it entered a zone (Vol 4, Part E, 7.7.65.32).
package struct LinkPathLoss: Hashable, Sendable {
  /// 0 for low, 1 for middle, 2 for high path loss.
  package var zone: UInt8
  /// In dB.
  package var loss: UInt8

  package init(zone: UInt8, loss: UInt8) { (self.zone, self.loss) = (zone, loss) }
}

extension ControllerCapabilities {
  /// Whether it requests the transmit power of a peer.
  package var readsRemotePower: Bool {
    leFeatures.contains(.powerControlRequest) && commands.contains(HCI.LEReadRemoteTransmitPowerLevel.self)
  }

  /// Whether it reports changes of transmit powers.
  package var reportsPower: Bool {
    leFeatures.contains(.powerControlRequest) && commands.contains(HCI.LESetTransmitPowerReportingEnable.self)
  }

  /// Whether it monitors the path loss of links.
  package var monitorsPathLoss: Bool {
    leFeatures.contains(.pathLossMonitoring) && commands.contains(HCI.LESetPathLossReportingParameters.self)
      && commands.contains(HCI.LESetPathLossReportingEnable.self)
  }
}

extension SetupStep {
  /// The events of power control that a controller has (Vol 4, Part E, 7.8.1).
  static func powerEvents(for controller: ControllerCapabilities) -> HCI.LEEventMask {
    var mask: HCI.LEEventMask = []
    if controller.readsRemotePower || controller.reportsPower { mask.insert(.transmitPowerReporting) }
    if controller.monitorsPathLoss { mask.insert(.pathLossThreshold) }
    return mask
  }
}

/// The state of power control that a link has only when an owner uses it.
///
/// Each owner has its own need: the controller reports changes while one owner needs them, and monitors the path loss
/// while one does, with the thresholds of the first.
struct LinkPowerState: Sendable {
  /// The owners that wait for the power of the peer. One request is outstanding.
  var readers: [OwnerID] = []
  /// The owners that get changes of the powers.
  var reporters: [OwnerID] = []
  /// The owners that get zones of the path loss.
  var monitors: [OwnerID] = []
  var pathLoss: PathLossParameters?
  /// Whether the controller was requested to monitor the path loss.
  var isMonitoring = false
  /// The zone that was reported last, for an owner that joins.
  var zone: LinkPathLoss?

  var isUnused: Bool { readers.isEmpty && reporters.isEmpty && monitors.isEmpty && !isMonitoring }
}

extension Link {
  /// Performs a command of an owner.
  mutating func perform(
    _ command: LinkPowerCommand, for owner: OwnerID, _ controller: ControllerCapabilities,
    into effects: inout [Effect<LinkEffect>]
  ) {
    if let error = rejection(of: command, controller) { return powerFailed(command, error, for: owner, into: &effects) }
    switch command {
    case .read(.local):
      let phy = Self.powerNumber(signalling.packets.transmit.phy)
      let read = HCI.LEEnhancedReadTransmitPowerLevel { ($0.connectionHandle, $0.phy) = (handle, phy) }
      effects.append(.command(read, for: .link(peer, .power(command, owner))))
    case .read(.remote):
      let isOutstanding = powerStates.first?.readers.isEmpty == false
      withPower { if !$0.readers.contains(owner) { $0.readers.append(owner) } }
      guard !isOutstanding else { return }
      let phy = Self.powerNumber(signalling.packets.receive.phy)
      let read = HCI.LEReadRemoteTransmitPowerLevel { ($0.connectionHandle, $0.phy) = (handle, phy) }
      effects.append(.command(read, for: .link(peer, .power(command, owner))))
    case .report(let isOn): report(isOn, for: owner, into: &effects)
    case .monitorPathLoss(let parameters?): monitor(parameters, for: owner, into: &effects)
    case .monitorPathLoss(nil): stopMonitoring(for: owner, into: &effects)
    }
  }

  /// Why a command cannot be performed; nil if it can.
  private func rejection(of command: LinkPowerCommand, _ controller: ControllerCapabilities) -> HostError? {
    switch command {
    case .read(.local):
      let isSupported = controller.commands.contains(HCI.LEEnhancedReadTransmitPowerLevel.self)
      return isSupported ? nil : .unsupported("LE Enhanced Read Transmit Power Level")
    case .report(false), .monitorPathLoss(nil): return nil
    case _ where signalling.framesEndAtKernel:
      return .disabled(
        "the kernel runs the adapter, and masks the events of power control: take the adapter with hci-socket:N")
    case .read(.remote): return controller.readsRemotePower ? nil : .unsupported("LE Power Control")
    case .report(true): return controller.reportsPower ? nil : .unsupported("LE Power Control")
    case .monitorPathLoss(let parameters?):
      guard controller.monitorsPathLoss else { return .unsupported("LE Path Loss Monitoring") }
      guard parameters.isValid else {
        return .invalidParameters("path loss thresholds outside Vol 4, Part E, 7.8.119: \(parameters)")
      }
      return nil
    }
  }

  /// The number of a PHY in commands of power control. For LE Coded, the power of S=8 is read.
  private static func powerNumber(_ phy: HCI.PHY) -> UInt8 { (1...3).contains(phy.rawValue) ? phy.rawValue : 1 }

  // MARK: Changes of the powers

  private mutating func report(_ isOn: Bool, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]) {
    let wasNeeded = powerStates.first?.reporters.isEmpty == false
    withPower { state in
      state.reporters.removeAll { $0 == owner }
      if isOn { state.reporters.append(owner) }
    }
    let isNeeded = powerStates.first?.reporters.isEmpty == false
    guard isNeeded != wasNeeded else { return }
    let command = HCI.LESetTransmitPowerReportingEnable {
      ($0.connectionHandle, $0.localEnable, $0.remoteEnable) = (handle, isNeeded, isNeeded)
    }
    effects.append(.command(command, for: .link(peer, .power(.report(isNeeded), owner))))
  }

  /// The controller reports a power (Vol 4, Part E, 7.7.65.33).
  mutating func powerReported(_ event: HCI.LETransmitPowerReporting, into effects: inout [Effect<LinkEffect>]) {
    // 126: not managed; 127: not known.
    let level = event.txPowerLevel >= 126 ? nil : event.txPowerLevel
    switch event.reason {
    case 0x02:
      let readers = powerStates.first?.readers ?? []
      withPower { $0.readers = [] }
      let isRead = event.status == .success
      let result: Result<Int8?, HostError> =
        isRead ? .success(level) : .failure(.controller(.leReadRemoteTransmitPowerLevel, event.status))
      report(.level(.remote, result), to: readers, into: &effects)
    case 0x00 where event.status == .success:
      report(.level(.local, .success(level)), to: powerStates.first?.reporters ?? [], into: &effects)
    case 0x01 where event.status == .success:
      report(.level(.remote, .success(level)), to: powerStates.first?.reporters ?? [], into: &effects)
    default: break  // A failure without a change, or a reason of a later version.
    }
  }

  // MARK: Path loss

  private mutating func monitor(
    _ parameters: PathLossParameters, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]
  ) {
    let others = (powerStates.first?.monitors ?? []).filter { $0 != owner }
    guard others.isEmpty || powerStates.first?.pathLoss == parameters else {
      let text = "another program monitors the path loss of the link with other thresholds: use the same ones"
      return powerFailed(.monitorPathLoss(parameters), .invalidParameters(text), for: owner, into: &effects)
    }
    withPower { state in
      if others.count == state.monitors.count { state.monitors.append(owner) }
      state.pathLoss = parameters
      if others.isEmpty { state.zone = nil }
    }
    if others.isEmpty {
      let purpose = LinkPurpose.power(.monitorPathLoss(parameters), owner)
      effects.append(.command(parameters.command(for: handle), for: .link(peer, purpose)))
    } else if let zone = powerStates.first?.zone {
      report(.pathLoss(.success(zone)), to: [owner], into: &effects)
    }
  }

  private mutating func stopMonitoring(for owner: OwnerID, into effects: inout [Effect<LinkEffect>]) {
    guard powerStates.first?.monitors.contains(owner) == true else { return }
    var isEnded = false
    withPower { state in
      state.monitors.removeAll { $0 == owner }
      guard state.monitors.isEmpty else { return }
      isEnded = state.isMonitoring
      (state.isMonitoring, state.pathLoss, state.zone) = (false, nil, nil)
    }
    guard isEnded else { return }
    let command = HCI.LESetPathLossReportingEnable { ($0.connectionHandle, $0.enable) = (handle, false) }
    effects.append(.command(command, for: .link(peer, .power(.monitorPathLoss(nil), owner))))
  }

  /// The path loss has entered a zone, or the controller does not learn it (Vol 4, Part E, 7.7.65.32).
  mutating func pathLossReported(_ event: HCI.LEPathLossThreshold, into effects: inout [Effect<LinkEffect>]) {
    let monitors = powerStates.first?.monitors ?? []
    guard !monitors.isEmpty else { return }
    guard event.currentPathLoss != 0xFF else {
      let error = HostError.unsupportedByPeer("LE Power Control, which the path loss needs")
      return report(.pathLoss(.failure(error)), to: monitors, into: &effects)
    }
    guard event.zoneEntered <= 2 else { return }
    let zone = LinkPathLoss(zone: event.zoneEntered, loss: event.currentPathLoss)
    withPower { $0.zone = zone }
    report(.pathLoss(.success(zone)), to: monitors, into: &effects)
  }

  // MARK: Answers of the controller, and the end of an owner's use

  /// The controller has answered a command.
  mutating func powerAnswered(
    _ command: LinkPowerCommand, for owner: OwnerID, _ opcode: HCIOpcode, _ status: HCIErrorCode, _ returned: Bytes,
    into effects: inout [Effect<LinkEffect>]
  ) {
    let error = HostError.controller(opcode, status)
    switch command {
    case .read(.local):
      report(LinkPowerCommand.localPower(returned, status == .success ? nil : error), to: [owner], into: &effects)
    case .read(.remote) where status != .success:
      let readers = powerStates.first?.readers ?? []
      withPower { $0.readers = [] }
      report(.level(.remote, .failure(error)), to: readers, into: &effects)
    case .report(true) where status != .success:
      let reporters = powerStates.first?.reporters ?? []
      withPower { $0.reporters = [] }
      report(.notReported(error), to: reporters, into: &effects)
    case .monitorPathLoss(.some) where status != .success:
      let monitors = powerStates.first?.monitors ?? []
      withPower { ($0.monitors, $0.pathLoss, $0.isMonitoring, $0.zone) = ([], nil, false, nil) }
      report(.pathLoss(.failure(error)), to: monitors, into: &effects)
    case .monitorPathLoss(let parameters?) where opcode == .leSetPathLossReportingParameters:
      // All who wanted it may have ended their use meanwhile, or have chosen other thresholds.
      guard let state = powerStates.first, !state.monitors.isEmpty, state.pathLoss == parameters else { return }
      withPower { $0.isMonitoring = true }
      let enable = HCI.LESetPathLossReportingEnable { ($0.connectionHandle, $0.enable) = (handle, true) }
      effects.append(.command(enable, for: .link(peer, .power(command, owner))))
    // Events report the success, and the end of reports has no answer.
    case .read(.remote), .report, .monitorPathLoss: break
    }
  }

  /// An owner does not use the link any more.
  mutating func releasePower(of owner: OwnerID, into effects: inout [Effect<LinkEffect>]) {
    guard !powerStates.isEmpty else { return }
    withPower { $0.readers.removeAll { $0 == owner } }
    report(false, for: owner, into: &effects)
    stopMonitoring(for: owner, into: &effects)
  }

  private func report(_ event: LinkPowerEvent, to owners: [OwnerID], into effects: inout [Effect<LinkEffect>]) {
    guard let recipient = Recipient(owners) else { return }
    effects.append(.event(.link(peer, .power(event)), to: recipient))
  }

  private func powerFailed(
    _ command: LinkPowerCommand, _ error: HostError, for owner: OwnerID, into effects: inout [Effect<LinkEffect>]
  ) {
    if let event = command.failure(error) { report(event, to: [owner], into: &effects) }
  }

  private mutating func withPower(_ change: (inout LinkPowerState) -> Void) {
    var state = powerStates.first ?? LinkPowerState()
    change(&state)
    powerStates = state.isUnused ? [] : [state]
  }
}

extension LinkPowerCommand {
  /// The answer to the read of the own power.
  fileprivate static func localPower(_ returned: Bytes, _ error: HostError?) -> LinkPowerEvent {
    if let error { return .level(.local, .failure(error)) }
    guard let response = try? HCI.LEEnhancedReadTransmitPowerLevel.Response(returned: returned) else {
      return .level(.local, .failure(.malformedAnswer(.leEnhancedReadTransmitPowerLevel)))
    }
    return .level(.local, .success(response.currentTXPowerLevel >= 126 ? nil : response.currentTXPowerLevel))
  }
}
