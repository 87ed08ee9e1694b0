import BLEHCI
import BLEWire

/// The PHYs of one link (Vol 4, Part E, 7.8.47 and 7.8.49).
///
/// Either end may request others. The controllers choose among the PHYs that both ends allow, and report a change to
/// both hosts.
struct LinkPHYs: Sendable {
  private let peer: LinkID
  private let handle: ConnectionHandle
  /// The owner of the last request for other PHYs.
  private var owner = OwnerID.process

  init(peer: LinkID, handle: ConnectionHandle) { (self.peer, self.handle) = (peer, handle) }

  mutating func set(
    _ preference: PHYPreference, for owner: OwnerID, _ controller: ControllerCapabilities,
    into effects: inout [Effect<LinkEffect>]
  ) {
    if let error = preference.rejection(controller) { return reject(error, to: owner, into: &effects) }
    self.owner = owner
    effects.append(.command(preference.command(for: handle), for: .link(peer, .setPHY(owner))))
  }

  func read(
    for owner: OwnerID, _ controller: ControllerCapabilities, into effects: inout [Effect<LinkEffect>]
  ) {
    guard controller.commands.contains(HCI.LEReadPHY.self) else {
      return reject(.unsupported("LE Read PHY"), to: owner, into: &effects)
    }
    effects.append(.command(HCI.LEReadPHY { $0.connectionHandle = handle }, for: .link(peer, .readPHY(owner))))
  }

  /// A procedure of ours or of the peer has ended (Vol 4, Part E, 7.7.65.12).
  ///
  /// - Parameter isTuned: the priority of the link requested it (``LinkTuning``), which reports a failure itself.
  func updated(_ event: HCI.LEPHYUpdateComplete, isTuned: Bool, into effects: inout [Effect<LinkEffect>]) {
    guard event.status == .success else {
      if isTuned { return }
      return reject(.controller(.leSetPHY, event.status), to: owner, into: &effects)
    }
    let phy = ConnectionPHY(reported: event.txPHY, event.rxPHY)
    effects.append(.event(.link(peer, .phy(.success(phy))), to: .everyone))
  }

  private func reject(_ error: HostError, to owner: OwnerID, into effects: inout [Effect<LinkEffect>]) {
    effects.append(.event(.link(peer, .phy(.failure(error))), to: owner.recipient))
  }
}

extension PHYPreference {
  /// Why a controller cannot be asked for these PHYs; nil if it can.
  func rejection(_ controller: ControllerCapabilities) -> HostError? {
    let all: HCI.PHYs = [.le1M, .le2M, .leCoded]
    guard transmit.isSubset(of: all), receive.isSubset(of: all) else {
      return .invalidParameters("a link is on LE 1M, LE 2M or LE Coded")
    }
    if let error = controller.lacking(transmit.union(receive)) { return error }
    return controller.commands.contains(HCI.LESetPHY.self) ? nil : .unsupported("LE Set PHY")
  }

  func command(for link: ConnectionHandle) -> HCI.LESetPHY {
    HCI.LESetPHY {
      $0.connectionHandle = link
      if transmit.isEmpty { $0.allPHYs.insert(.transmitter) }
      if receive.isEmpty { $0.allPHYs.insert(.receiver) }
      ($0.txPHYs, $0.rxPHYs, $0.phyOptions) = (transmit, receive, coding.phyOptions)
    }
  }
}
