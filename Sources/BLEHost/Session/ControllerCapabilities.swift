package import BLEHCI
package import BLEWire

/// The capabilities that a controller reported during its bring-up. The host uses no others.
package struct ControllerCapabilities: Equatable, Sendable {
  package var version = HCI.ReadLocalVersionInformation.Response()
  package var commands = HCI.SupportedCommands()
  package var features: HCI.LMPFeatures = []
  package var leFeatures: HCI.LEFeatures = []
  /// What its link layer does at the same time.
  var states = SupportedStates()
  package var publicAddress = BD_ADDR()
  /// Data octets of an ACL packet to the controller, and how many it holds.
  package var aclLength = 0
  package var aclCount = 0
  package var acceptListSize = 0
  package var resolvingListSize = 0
  package var maximumDataLength = HCI.LEReadMaximumDataLength.Response()
  package var advertisingSets = 1
  package var maximumAdvertisingData = LinkLayerLimits.legacyAdvertisingData

  /// Whether advertising, scanning and connecting go by the extended commands (Vol 4, Part E, 3.1.1): a host that has
  /// used one of them must not use a legacy one until the next reset.
  package var usesExtendedCommands: Bool {
    leFeatures.contains(.extendedAdvertising) && commands.contains(HCI.LESetExtendedAdvertisingParameters.self)
      && commands.contains(HCI.LESetExtendedAdvertisingData.self)
      && commands.contains(HCI.LESetExtendedScanResponseData.self)
      && commands.contains(HCI.LESetExtendedAdvertisingEnable.self)
  }

  /// Whether a peripheral can ask its central for other connection parameters by LE Connection Update (Vol 6, Part B,
  /// 4.6.2).
  package var updatesConnectionsAsPeripheral: Bool {
    leFeatures.contains(.connectionParametersRequest) && commands.contains(HCI.LEConnectionUpdate.self)
  }

  /// The PHYs of the controller (Vol 6, Part B, 4.6; Docs/Decisions/0066).
  package var phys: HCI.PHYs {
    var phys: HCI.PHYs = .le1M
    if leFeatures.contains(.le2MPHY) { phys.insert(.le2M) }
    if leFeatures.contains(.leCodedPHY) { phys.insert(.leCoded) }
    return phys
  }

  /// The error for PHYs that the controller does not have; nil where it has all.
  func lacking(_ wanted: HCI.PHYs) -> HostError? {
    let missing = wanted.subtracting(phys)
    return missing.isEmpty ? nil : .unsupported("\(missing) PHY")
  }

  /// Whether scanning and connecting go by the extended commands, which a controller may have without extended
  /// advertising.
  package var scansByExtendedCommands: Bool {
    commands.contains(HCI.LESetExtendedScanParameters.self) && commands.contains(HCI.LESetExtendedScanEnable.self)
      && commands.contains(HCI.LEExtendedCreateConnection.self) && usesExtendedCommands
  }
}
