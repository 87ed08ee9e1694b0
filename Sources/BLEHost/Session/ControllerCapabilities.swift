package import BLEHCI
package import BLEWire

/// The capabilities that a controller reported during its bring-up. The host uses no others.
package struct ControllerCapabilities: Equatable, Sendable {
  package var version = HCI.ReadLocalVersionInformation.Response()
  package var commands = UsableCommands()
  package var features: HCI.LMPFeatures = []
  package var leFeatures: HCI.LEFeatures = []
  /// The features beyond the first 64, where it has any.
  package var furtherFeatures: HCI.LEFurtherFeatures = []
  /// The shortest interval of connection rates in units of 125 us. A controller that does not report it has those of LE
  /// Connection Update.
  var shortestInterval: UInt16 = 60
  /// Whether it has accepted that the host supports shorter connection intervals.
  var hasRateHostSupport = false
  /// What its link layer does at the same time.
  var states = SupportedStates()
  /// The controller has rejected the mask of events that the host needs.
  var hasFirstEvents = false
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
  /// used one of them must not use a legacy one until the next reset. It is one choice for all of them: a controller
  /// that scans or connects by legacy commands alone is given no extended ones.
  package var usesExtendedCommands: Bool {
    leFeatures.contains(.extendedAdvertising) && commands.contains(HCI.LESetExtendedAdvertisingParameters.self)
      && commands.contains(HCI.LESetExtendedAdvertisingData.self)
      && commands.contains(HCI.LESetExtendedScanResponseData.self)
      && commands.contains(HCI.LESetExtendedAdvertisingEnable.self)
      && (hasExtendedScanning || !commands.contains(HCI.LESetScanEnable.self))
      && (commands.contains(HCI.LEExtendedCreateConnection.self) || !commands.contains(HCI.LECreateConnection.self))
  }

  private var hasExtendedScanning: Bool {
    commands.contains(HCI.LESetExtendedScanParameters.self) && commands.contains(HCI.LESetExtendedScanEnable.self)
  }

  /// Whether it sends periodic advertising.
  package var hasPeriodicAdvertising: Bool {
    usesExtendedCommands && leFeatures.contains(.periodicAdvertising)
      && commands.contains(HCI.LESetPeriodicAdvertisingParameters.self)
      && commands.contains(HCI.LESetPeriodicAdvertisingData.self)
      && commands.contains(HCI.LESetPeriodicAdvertisingEnable.self)
  }

  /// Whether it receives periodic advertising.
  package var receivesPeriodicAdvertising: Bool {
    scansByExtendedCommands && leFeatures.contains(.periodicAdvertising)
      && commands.contains(HCI.LEPeriodicAdvertisingCreateSync.self)
      && commands.contains(HCI.LEPeriodicAdvertisingCreateSyncCancel.self)
      && commands.contains(HCI.LEPeriodicAdvertisingTerminateSync.self)
  }

  /// Whether it searches for several trains at once.
  var hasPeriodicAdvertiserList: Bool {
    commands.contains(HCI.LEAddDeviceToPeriodicAdvertiserList.self)
      && commands.contains(HCI.LEClearPeriodicAdvertiserList.self)
  }

  /// Whether it takes the synchronization that the device of a link transfers.
  var receivesTransfers: Bool {
    leFeatures.contains(.periodicAdvertisingSyncTransferRecipient)
      && commands.contains(HCI.LESetPeriodicAdvertisingSyncTransferParameters.self)
      && commands.contains(HCI.LEPeriodicAdvertisingTerminateSync.self)
  }

  /// Takes back the features of later versions whose events a controller does not have in its mask.
  ///
  /// - Returns: whether there was one.
  mutating func withdrawLaterFeaturesWithEvents() -> Bool {
    let (features, further) = (leFeatures, furtherFeatures)
    furtherFeatures = []
    leFeatures.subtract([
      .periodicAdvertising, .periodicAdvertisingSyncTransferRecipient, .connectionSubrating,
      .powerControlRequest, .powerChangeIndication, .pathLossMonitoring,
    ])
    return leFeatures != features || furtherFeatures != further
  }

  /// Takes back the features whose events a controller of Bluetooth 4.0 does not have in its mask (Vol 4, Part E,
  /// 7.8.1).
  mutating func withdrawFeaturesWithEvents() {
    leFeatures.subtract([
      .connectionParametersRequest, .dataPacketLengthExtension, .llPrivacy, .le2MPHY, .leCodedPHY, .extendedAdvertising,
      .connectionSubrating, .powerControlRequest, .powerChangeIndication, .pathLossMonitoring,
    ])
  }

  /// Whether a peripheral can ask its central for other connection parameters by LE Connection Update (Vol 6, Part B,
  /// 4.6.2).
  package var updatesConnectionsAsPeripheral: Bool {
    leFeatures.contains(.connectionParametersRequest) && commands.contains(HCI.LEConnectionUpdate.self)
  }

  /// Whether links can have subrating (Vol 6, Part B, 4.6.33): the host supports it, and says so before the first link.
  package var subrates: Bool {
    leFeatures.contains(.connectionSubrating) && commands.contains(HCI.LESubrateRequest.self)
      && commands.contains(HCI.LESetHostFeature.self)
  }

  /// The error for a controller that says that it has no LE: neither in its LMP features (Vol 2, Part C, 3.3) nor in
  /// its commands. One of the two is not enough, because some controllers report one of them wrong; one that has
  /// reported none decides with its answer to the first LE command.
  var lackOfLowEnergy: HostError? {
    guard !features.isEmpty, !features.contains(.leSupported), commands.reported != HCI.SupportedCommands(),
      !commands.contains(HCI.LEReadLocalSupportedFeatures.self)
    else { return nil }
    return Self.noLowEnergy("LE Supported (Controller) is not among its features")
  }

  /// The error for a controller that has rejected an LE command that every LE controller has; nil if it has LE, or if
  /// the step needs no LE.
  func lackOfLowEnergy(_ step: SetupStep, _ status: HCIErrorCode) -> HostError? {
    guard [.leFeatures, .leBufferSize, .leEventMask].contains(step) else { return nil }
    if !features.isEmpty, !features.contains(.leSupported) {
      return Self.noLowEnergy("LE Supported (Controller) is not among its features")
    }
    let isUnknown = status == .unknownCommand || status == .unsupportedFeatureOrParameterValue
    return isUnknown ? Self.noLowEnergy("it does not know \(step.opcode)") : nil
  }

  private static func noLowEnergy(_ why: String) -> HostError {
    .unsupported("Bluetooth Low Energy: \(why). Use another adapter, of Bluetooth 4.0 or later")
  }

  /// The PHYs of the controller (Vol 6, Part B, 4.6; Docs/Decisions/radio.md#phys).
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
    hasExtendedScanning && commands.contains(HCI.LEExtendedCreateConnection.self) && usesExtendedCommands
  }
}

/// The commands of a controller that the host uses.
package struct UsableCommands: Equatable, Sendable {
  /// Those that the controller reports.
  package var reported = HCI.SupportedCommands()
  /// Those that it has rejected, although it reports them.
  var withdrawn: [HCIOpcode] = []

  /// Whether the controller performs the command.
  package func contains<Command: HCICommand>(_ command: Command.Type) -> Bool {
    reported.contains(command) && !withdrawn.contains(Command.opcode)
  }
}
