import BLEHCI
import BLEWire

/// The steps that bring a controller up, in order (Vol 6, Part D, 2; Vol 4, Part E, 4).
///
/// Each is one command. A step that the controller does not support is left out. If the controller rejects one without
/// which it can be used, a line says so.
///
/// ```
///   reset → who are you → what can you do → how large are your buffers → which events → limits → address → poweredOn
/// ```
enum SetupStep: Int, CaseIterable, Sendable {
  case reset
  case localVersion, supportedCommands, supportedFeatures, publicAddress
  case leFeatures, leFeaturePages, leBufferSizeV2, leBufferSize, bufferSize
  case eventMask, leEventMask, leHostSupport
  case subratingHostSupport, defaultSubrate
  case shortestInterval, rateHostSupport, defaultRate
  case leStates
  case acceptListSize, resolvingListSize, maximumDataLength, suggestedDataLength
  case advertisingSets, maximumAdvertisingData
  case randomAddress

  /// Whether the controller is useless when it refuses this.
  var isRequired: Bool {
    switch self {
    case .reset, .leFeatures, .leBufferSize, .randomAddress: true
    default: false  // A controller works without the others.
    }
  }

  /// The next step that such a controller needs; nil when it is up.
  func following(
    _ controller: ControllerCapabilities, usesRandomAddress: Bool, isExclusive: Bool
  ) -> Self? {
    var step = self
    while let next = Self(rawValue: step.rawValue + 1) {
      let isOurs = isExclusive || next.goesBesideKernel
      if isOurs, next.isWanted(controller, usesRandomAddress: usesRandomAddress) { return next }
      step = next
    }
    return nil
  }

  /// Whether the step changes nothing for a kernel that runs the controller: it reads, or sets the random address,
  /// which the kernel sets only when it advertises or scans itself.
  private var goesBesideKernel: Bool {
    switch self {
    case .reset, .eventMask, .leEventMask, .leHostSupport, .subratingHostSupport, .defaultSubrate, .suggestedDataLength:
      false
    // Of use only with the step after them that changes something.
    case .leFeaturePages, .shortestInterval, .rateHostSupport, .defaultRate: false
    default: true  // The others only read, or set the random address.
    }
  }

  /// Where the bring-up begins.
  static func first(isExclusive: Bool) -> Self { isExclusive ? .reset : .localVersion }

  private func isWanted(_ controller: ControllerCapabilities, usesRandomAddress: Bool) -> Bool {
    let commands = controller.commands
    return switch self {
    case .reset, .localVersion, .supportedCommands, .supportedFeatures, .publicAddress, .leFeatures: true
    case .eventMask, .leEventMask: true
    case .leBufferSizeV2: commands.contains(HCI.LEReadBufferSizeV2.self)
    case .leBufferSize: controller.aclLength == 0
    // Zero octets of LE buffers: LE uses the ones of BR/EDR (Vol 4, Part E, 7.8.2).
    case .bufferSize: controller.aclLength == 0 || controller.aclCount == 0
    case .leHostSupport: controller.features.contains(.leSupported) && commands.contains(HCI.WriteLEHostSupport.self)
    case .subratingHostSupport: controller.subrates
    case .defaultSubrate: controller.subrates && commands.contains(HCI.LESetDefaultSubrate.self)
    case .leFeaturePages:
      controller.leFeatures.contains(.llExtendedFeatureSet)
        && commands.contains(HCI.LEReadAllLocalSupportedFeatures.self)
    case .shortestInterval:
      controller.canChangeRates && commands.contains(HCI.LEReadMinimumSupportedConnectionInterval.self)
    case .rateHostSupport: controller.canChangeRates
    case .defaultRate: controller.changesRates && commands.contains(HCI.LESetDefaultRateParameters.self)
    case .leStates: commands.contains(HCI.LEReadSupportedStates.self)
    case .acceptListSize: commands.contains(HCI.LEReadFilterAcceptListSize.self)
    case .resolvingListSize: commands.contains(HCI.LEReadResolvingListSize.self)
    case .maximumDataLength:
      controller.leFeatures.contains(.dataPacketLengthExtension) && commands.contains(HCI.LEReadMaximumDataLength.self)
    case .suggestedDataLength:
      controller.maximumDataLength.supportedMaxTXOctets > 27
        && commands.contains(HCI.LEWriteSuggestedDefaultDataLength.self)
    case .advertisingSets:
      controller.usesExtendedCommands && commands.contains(HCI.LEReadNumberOfSupportedAdvertisingSets.self)
    case .maximumAdvertisingData:
      controller.usesExtendedCommands && commands.contains(HCI.LEReadMaximumAdvertisingDataLength.self)
    case .randomAddress: usesRandomAddress
    }
  }
}

/// The command of each step.
extension SetupStep {
  var opcode: HCIOpcode {
    command(ControllerCapabilities(), DeviceAddress(octets: BD_ADDR(), kind: .public)).opcode
  }

  /// - Parameters:
  ///   - capabilities: what the steps before have returned.
  ///   - address: the address that the controller is to use, where it is a random one.
  func command(_ capabilities: ControllerCapabilities, _ address: DeviceAddress) -> EncodedCommand {
    switch self {
    case .reset: .init(HCI.Reset())
    case .localVersion: .init(HCI.ReadLocalVersionInformation())
    case .supportedCommands: .init(HCI.ReadLocalSupportedCommands())
    case .supportedFeatures: .init(HCI.ReadLocalSupportedFeatures())
    case .publicAddress: .init(HCI.ReadBDADDR())
    case .leFeatures: .init(HCI.LEReadLocalSupportedFeatures())
    case .leBufferSizeV2: .init(HCI.LEReadBufferSizeV2())
    case .leBufferSize: .init(HCI.LEReadBufferSize())
    case .bufferSize: .init(HCI.ReadBufferSize())
    case .eventMask:
      .init(HCI.SetEventMask { $0.eventMask = capabilities.hasFirstEvents ? Self.firstEvents : Self.events })
    case .leEventMask: .init(HCI.LESetEventMask { $0.eventMask = Self.leEvents(for: capabilities) })
    case .leHostSupport: .init(HCI.WriteLEHostSupport { $0.leSupportedHost = true })
    // Bit 38 (Vol 6, Part B, 4.6.33.1).
    case .subratingHostSupport: .init(HCI.LESetHostFeature { ($0.bitNumber, $0.bitValue) = (38, true) })
    case .defaultSubrate: .init(HCI.LESetDefaultSubrate { $0.parameters = SubratingParameters.acceptable.wire })
    case .leFeaturePages: .init(HCI.LEReadAllLocalSupportedFeatures())
    case .shortestInterval: .init(HCI.LEReadMinimumSupportedConnectionInterval())
    // Shorter Connection Intervals (Host Support) (Vol 6, Part B, 4.6).
    case .rateHostSupport: .init(HCI.LESetHostFeatureV2 { ($0.bitNumber, $0.bitValue) = (73, true) })
    case .defaultRate:
      .init(HCI.LESetDefaultRateParameters { $0.parameters = LinkRateParameters.acceptable(to: capabilities).wire })
    case .leStates: .init(HCI.LEReadSupportedStates())
    case .acceptListSize: .init(HCI.LEReadFilterAcceptListSize())
    case .resolvingListSize: .init(HCI.LEReadResolvingListSize())
    case .maximumDataLength: .init(HCI.LEReadMaximumDataLength())
    case .suggestedDataLength:
      .init(
        HCI.LEWriteSuggestedDefaultDataLength {
          $0.suggestedMaxTXOctets = capabilities.maximumDataLength.supportedMaxTXOctets
          $0.suggestedMaxTXTime = capabilities.maximumDataLength.supportedMaxTXTime
        })
    case .advertisingSets: .init(HCI.LEReadNumberOfSupportedAdvertisingSets())
    case .maximumAdvertisingData: .init(HCI.LEReadMaximumAdvertisingDataLength())
    case .randomAddress: .init(HCI.LESetRandomAddress { $0.randomAddress = address.octets })
    }
  }

  /// The events of a host (Vol 4, Part E, 7.3.1): disconnection, encryption, version, hardware, buffers, key refresh,
  /// LE meta. It does nothing with the version, as with the end of a scan.
  private static let events: HCI.EventMask = [
    .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .hardwareError,
    .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
  ]

  /// The mask that a controller has after a reset, and LE Meta.
  private static let firstEvents = HCI.EventMask(rawValue: 0x0000_1FFF_FFFF_FFFF).union(.leMeta)

  /// The events of Bluetooth 4.0, which are those of a controller that was given no mask (Vol 4, Part E, 7.8.1).
  static let firstLEEvents: HCI.LEEventMask = [
    .connectionComplete, .advertisingReport, .connectionUpdateComplete, .readRemoteFeaturesComplete,
    .longTermKeyRequest,
  ]

  static func leEvents(for controller: ControllerCapabilities) -> HCI.LEEventMask {
    var mask = firstLEEvents
    if controller.leFeatures.contains(.connectionParametersRequest) {
      mask.insert(.remoteConnectionParameterRequest)
    }
    if controller.leFeatures.contains(.dataPacketLengthExtension) { mask.insert(.dataLengthChange) }
    if controller.leFeatures.contains(.llPrivacy) { mask.insert(.enhancedConnectionComplete) }
    if controller.phys != .le1M { mask.insert(.phyUpdateComplete) }
    if controller.leFeatures.contains(.connectionSubrating) { mask.insert(.subrateChange) }
    mask.formUnion(powerEvents(for: controller))
    if controller.canChangeRates {
      mask.insert(.readAllRemoteFeaturesComplete)
      mask.insert(.connectionRateChange)
    }
    if controller.usesExtendedCommands {
      mask.formUnion([.phyUpdateComplete, .extendedAdvertisingReport, .advertisingSetTerminated, .scanTimeout])
    }
    if controller.receivesPeriodicAdvertising {
      mask.formUnion([
        .periodicAdvertisingSyncEstablished, .periodicAdvertisingReport, .periodicAdvertisingSyncLost,
      ])
    }
    if controller.receivesTransfers {
      mask.formUnion([
        .periodicAdvertisingReport, .periodicAdvertisingSyncLost, .periodicAdvertisingSyncTransferReceived,
      ])
    }
    return mask
  }
}

extension ControllerCapabilities {
  /// Takes what the command of one step returned.
  mutating func learn(_ step: SetupStep, from returned: Bytes) throws(CodecError) {
    switch step {
    case .localVersion: version = try .init(returned: returned)
    case .supportedCommands:
      commands.reported = try HCI.ReadLocalSupportedCommands.Response(returned: returned).supportedCommands
    case .supportedFeatures:
      features = try HCI.ReadLocalSupportedFeatures.Response(returned: returned).features
    case .publicAddress: publicAddress = try HCI.ReadBDADDR.Response(returned: returned).address
    case .leFeatures:
      leFeatures = try HCI.LEReadLocalSupportedFeatures.Response(returned: returned).features
    case .leBufferSizeV2:
      let buffers = try HCI.LEReadBufferSizeV2.Response(returned: returned)
      (aclLength, aclCount) = (
        Int(buffers.aclDataPacketLength), Int(buffers.totalNumACLDataPackets)
      )
    case .leBufferSize:
      let buffers = try HCI.LEReadBufferSize.Response(returned: returned)
      (aclLength, aclCount) = (
        Int(buffers.aclDataPacketLength), Int(buffers.totalNumACLDataPackets)
      )
    case .bufferSize:
      let buffers = try HCI.ReadBufferSize.Response(returned: returned)
      (aclLength, aclCount) = (
        Int(buffers.aclDataPacketLength), Int(buffers.totalNumACLDataPackets)
      )
    case .leFeaturePages:
      furtherFeatures = try HCI.LEReadAllLocalSupportedFeatures.Response(returned: returned).features.furtherFeatures
    case .shortestInterval:
      let intervals = try HCI.LEReadMinimumSupportedConnectionInterval.Response(returned: returned)
      shortestInterval = UInt16(intervals.minimumSupportedConnectionInterval)
    case .rateHostSupport: hasRateHostSupport = true
    case .leStates: states.bits = try HCI.LEReadSupportedStates.Response(returned: returned).states
    case .acceptListSize:
      acceptListSize = Int(
        try HCI.LEReadFilterAcceptListSize.Response(returned: returned).filterAcceptListSize)
    case .resolvingListSize:
      resolvingListSize = Int(
        try HCI.LEReadResolvingListSize.Response(returned: returned).resolvingListSize)
    case .maximumDataLength: maximumDataLength = try .init(returned: returned)
    case .advertisingSets:
      advertisingSets = Int(
        try HCI.LEReadNumberOfSupportedAdvertisingSets.Response(returned: returned).numSupportedAdvertisingSets)
    case .maximumAdvertisingData:
      maximumAdvertisingData = Int(
        try HCI.LEReadMaximumAdvertisingDataLength.Response(returned: returned).maxAdvertisingDataLength)
    case .reset, .eventMask, .leEventMask, .leHostSupport, .subratingHostSupport, .defaultSubrate, .defaultRate,
      .suggestedDataLength, .randomAddress:
      break
    }
  }
}
