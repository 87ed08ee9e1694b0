import BLEHCI
import BLEWire

/// A request of an owner to connect to a device.
struct PendingConnection: Equatable, Sendable {
  var id: ConnectID
  var owner: OwnerID
  /// The device's identity.
  var device: DeviceAddress
  var parameters: ConnectionParameters
  /// How its advertisements are looked for.
  var scan = InitiatingParameters()
}

extension PendingConnection {
  /// Why a controller cannot connect in this way; nil if it can.
  func rejection(_ controller: ControllerCapabilities) -> HostError? {
    guard parameters.isValid else {
      return .invalidParameters("connection parameters outside Vol 4, Part E, 7.8.12: \(parameters)")
    }
    let range = LinkLayerLimits.scanInterval
    guard range ~= scan.interval, range ~= scan.window, scan.window <= scan.interval else {
      return .invalidParameters(
        "the scan interval or window is not allowed: 4 to 0x4000 units of 0.625 ms, the window at most the interval")
    }
    guard !scan.phys.isDisjoint(with: [.le1M, .leCoded]), scan.phys.isSubset(of: [.le1M, .le2M, .leCoded]) else {
      return .invalidParameters(
        "a device is found on LE 1M or LE Coded (Vol 4, Part E, 7.8.66): not on \(scan.phys) alone")
    }
    guard scan.phys == .le1M || controller.scansByExtendedCommands else { return .unsupported("extended scanning") }
    return controller.lacking(scan.phys)
  }
}

/// The address by which the controller connects to a device, and the first request for the device.
struct InitiatorTarget: Equatable, Sendable {
  var request: PendingConnection
  var address: DeviceAddress
}

/// The command that connects to a device, or to the first of several that are on the filter accept list.
struct InitiatorCommand {
  let targets: [InitiatorTarget]

  /// Nil without a target. The timing of the link and the share of time are those of the first one; the PHYs are those
  /// of all.
  func command(extended: Bool, from own: HCI.OwnAddressType) -> EncodedCommand? {
    guard let first = targets.first else { return nil }
    let (peer, parameters, scan) = (first.address, first.request.parameters, first.request.scan)
    let policy: HCI.InitiatorFilterPolicy = targets.count > 1 ? .acceptList : .peerAddress
    guard extended else {
      return .init(
        HCI.LECreateConnection {
          $0.scanInterval = scan.interval
          $0.scanWindow = scan.window
          $0.initiatorFilterPolicy = policy
          $0.peerAddress = peer
          $0.ownAddressType = own
          $0.parameters = parameters.wire
        })
    }
    let phys = targets.reduce(into: HCI.PHYs()) { $0.formUnion($1.request.scan.phys) }
    return .init(
      HCI.LEExtendedCreateConnection {
        $0.initiatorFilterPolicy = policy
        $0.ownAddressType = own
        $0.peerAddress = peer
        $0.initiatingPHYs = phys
        $0.initiations = phys.phys.map { _ in
          HCI.InitiatingParameters {
            $0.scanInterval = scan.interval
            $0.scanWindow = scan.window
            $0.parameters = parameters.wire
          }
        }
      })
  }
}
