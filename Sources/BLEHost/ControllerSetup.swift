import BLEHCI
import BLEWire

/// The steps that bring a controller up, in order (Vol 6, Part D, 2; Vol 4, Part E, 4).
///
/// Each is one command; a step that the controller does not support is left out, and of the ones that only tell what more
/// there is a refusal is taken as "nothing more".
///
/// ```
///   reset → who are you → what can you do → how large are your buffers → which events → limits → address → poweredOn
/// ```
enum SetupStep: Int, CaseIterable, Sendable {
  case reset
  case localVersion, supportedCommands, supportedFeatures, publicAddress
  case leFeatures, leBufferSizeV2, leBufferSize, bufferSize
  case eventMask, leEventMask, leHostSupport
  case acceptListSize, resolvingListSize, maximumDataLength, suggestedDataLength
  case advertisingSets, maximumAdvertisingData
  case randomAddress

  /// Whether the controller is useless when it refuses this.
  var isRequired: Bool {
    switch self {
    case .reset, .publicAddress, .leFeatures, .leBufferSize, .eventMask, .leEventMask: true
    default: false
    }
  }

  /// The step behind this one that has work with such a controller; nil when it is up.
  func following(
    _ controller: ControllerCapabilities, usesRandomAddress: Bool, ownership: ControllerOwnership
  ) -> Self? {
    var step = self
    while let next = Self(rawValue: step.rawValue + 1) {
      let isOurs = ownership == .exclusive || next.goesBesideKernel
      if isOurs, next.isWanted(controller, usesRandomAddress: usesRandomAddress) { return next }
      step = next
    }
    return nil
  }

  /// Whether it takes nothing from the kernel where that runs the controller: it reads, or tells it the random address,
  /// which the kernel tells it only when it advertises or scans itself.
  private var goesBesideKernel: Bool {
    switch self {
    case .reset, .eventMask, .leEventMask, .leHostSupport, .suggestedDataLength: false
    default: true
    }
  }

  /// Where the bring-up begins.
  static func first(_ ownership: ControllerOwnership) -> Self { ownership == .exclusive ? .reset : .localVersion }

  private func isWanted(_ controller: ControllerCapabilities, usesRandomAddress: Bool) -> Bool {
    let commands = controller.commands
    return switch self {
    case .reset, .localVersion, .supportedCommands, .supportedFeatures, .publicAddress, .leFeatures: true
    case .eventMask, .leEventMask: true
    case .leBufferSizeV2: commands.contains(.leReadBufferSizeV2)
    case .leBufferSize: controller.aclLength == 0
    // Zero octets of LE buffers: LE uses the ones of BR/EDR (Vol 4, Part E, 7.8.2).
    case .bufferSize: controller.aclLength == 0 || controller.aclCount == 0
    case .leHostSupport: controller.features.contains(.leSupported) && commands.contains(.writeLEHostSupport)
    case .acceptListSize: commands.contains(.leReadFilterAcceptListSize)
    case .resolvingListSize: commands.contains(.leReadResolvingListSize)
    case .maximumDataLength:
      controller.leFeatures.contains(.dataPacketLengthExtension) && commands.contains(.leReadMaximumDataLength)
    case .suggestedDataLength:
      controller.maximumDataLength.supportedMaxTXOctets > 27 && commands.contains(.leWriteSuggestedDefaultDataLength)
    case .advertisingSets:
      controller.usesExtendedCommands && commands.contains(.leReadNumberOfSupportedAdvertisingSets)
    case .maximumAdvertisingData:
      controller.usesExtendedCommands && commands.contains(.leReadMaximumAdvertisingDataLength)
    case .randomAddress: usesRandomAddress
    }
  }
}

extension HostCore {
  /// Sends the command of one step.
  mutating func sendSetup(_ step: SetupStep, now: Instant, into output: inout HostOutput) {
    let purpose = Purpose.setup(step)
    switch step {
    case .reset: send(HCI.Reset(), for: purpose, now: now, into: &output)
    case .localVersion: send(HCI.ReadLocalVersionInformation(), for: purpose, now: now, into: &output)
    case .supportedCommands: send(HCI.ReadLocalSupportedCommands(), for: purpose, now: now, into: &output)
    case .supportedFeatures: send(HCI.ReadLocalSupportedFeatures(), for: purpose, now: now, into: &output)
    case .publicAddress: send(HCI.ReadBDADDR(), for: purpose, now: now, into: &output)
    case .leFeatures: send(HCI.LEReadLocalSupportedFeatures(), for: purpose, now: now, into: &output)
    case .leBufferSizeV2: send(HCI.LEReadBufferSizeV2(), for: purpose, now: now, into: &output)
    case .leBufferSize: send(HCI.LEReadBufferSize(), for: purpose, now: now, into: &output)
    case .bufferSize: send(HCI.ReadBufferSize(), for: purpose, now: now, into: &output)
    case .eventMask:
      send(HCI.SetEventMask { $0.eventMask = Self.eventMask }, for: purpose, now: now, into: &output)
    case .leEventMask:
      let mask = Self.leEventMask(for: controller)
      send(HCI.LESetEventMask { $0.eventMask = mask }, for: purpose, now: now, into: &output)
    case .leHostSupport:
      send(HCI.WriteLEHostSupport { $0.leSupportedHost = true }, for: purpose, now: now, into: &output)
    case .acceptListSize: send(HCI.LEReadFilterAcceptListSize(), for: purpose, now: now, into: &output)
    case .resolvingListSize: send(HCI.LEReadResolvingListSize(), for: purpose, now: now, into: &output)
    case .maximumDataLength: send(HCI.LEReadMaximumDataLength(), for: purpose, now: now, into: &output)
    case .suggestedDataLength:
      let maximum = controller.maximumDataLength
      let command = HCI.LEWriteSuggestedDefaultDataLength {
        $0.suggestedMaxTXOctets = maximum.supportedMaxTXOctets
        $0.suggestedMaxTXTime = maximum.supportedMaxTXTime
      }
      send(command, for: purpose, now: now, into: &output)
    case .advertisingSets: send(HCI.LEReadNumberOfSupportedAdvertisingSets(), for: purpose, now: now, into: &output)
    case .maximumAdvertisingData:
      send(HCI.LEReadMaximumAdvertisingDataLength(), for: purpose, now: now, into: &output)
    case .randomAddress:
      let address = addressOnAir.octets
      send(HCI.LESetRandomAddress { $0.randomAddress = address }, for: purpose, now: now, into: &output)
    }
  }

  /// Takes in what one step's command returned.
  mutating func learn(_ step: SetupStep, from returned: Bytes) throws(CodecError) {
    switch step {
    case .localVersion: controller.version = try .init(returned: returned)
    case .supportedCommands:
      controller.commands = try HCI.ReadLocalSupportedCommands.Response(returned: returned).supportedCommands
    case .supportedFeatures:
      controller.features = try HCI.ReadLocalSupportedFeatures.Response(returned: returned).features
    case .publicAddress: controller.publicAddress = try HCI.ReadBDADDR.Response(returned: returned).address
    case .leFeatures:
      controller.leFeatures = try HCI.LEReadLocalSupportedFeatures.Response(returned: returned).features
    case .leBufferSizeV2:
      let buffers = try HCI.LEReadBufferSizeV2.Response(returned: returned)
      (controller.aclLength, controller.aclCount) = (
        Int(buffers.aclDataPacketLength), Int(buffers.totalNumACLDataPackets)
      )
    case .leBufferSize:
      let buffers = try HCI.LEReadBufferSize.Response(returned: returned)
      (controller.aclLength, controller.aclCount) = (
        Int(buffers.aclDataPacketLength), Int(buffers.totalNumACLDataPackets)
      )
    case .bufferSize:
      let buffers = try HCI.ReadBufferSize.Response(returned: returned)
      (controller.aclLength, controller.aclCount) = (
        Int(buffers.aclDataPacketLength), Int(buffers.totalNumACLDataPackets)
      )
    case .acceptListSize:
      controller.acceptListSize = Int(
        try HCI.LEReadFilterAcceptListSize.Response(returned: returned).filterAcceptListSize)
    case .resolvingListSize:
      controller.resolvingListSize = Int(
        try HCI.LEReadResolvingListSize.Response(returned: returned).resolvingListSize)
    case .maximumDataLength: controller.maximumDataLength = try .init(returned: returned)
    case .advertisingSets:
      controller.advertisingSets = Int(
        try HCI.LEReadNumberOfSupportedAdvertisingSets.Response(returned: returned).numSupportedAdvertisingSets)
    case .maximumAdvertisingData:
      controller.maximumAdvertisingData = Int(
        try HCI.LEReadMaximumAdvertisingDataLength.Response(returned: returned).maxAdvertisingDataLength)
    case .reset, .eventMask, .leEventMask, .leHostSupport, .suggestedDataLength, .randomAddress: break
    }
  }
}
