internal import BLEHCI

/// The two sets of advertising commands. After the first command of one set, the other set is disallowed until a reset
/// (Vol 4, Part E, 3.1.1).
enum AdvertisingCommandSet: Sendable { case legacy, extended }

/// A command that a virtual controller can have.
struct SupportedCommand: Sendable {
  /// The commands that the router performs in one function.
  enum Group: Sendable {
    case control, information, hostFlowControl, cryptography
    case filterAcceptList, resolvingList
    case advertising, extendedAdvertising, scanning, initiating
    case link, linkUpdate, linkDefaults, encryption
  }

  let group: Group
  /// The feature without which a controller does not have the command.
  let feature: HCI.LEFeatures
  /// The set of advertising commands that the command belongs to.
  let commandSet: AdvertisingCommandSet?

  /// Every command that a controller can have.
  static let all: [HCIOpcode: Self] = {
    var all: [HCIOpcode: Self] = [:]
    func add(
      _ group: Group, _ opcodes: [HCIOpcode], of commandSet: AdvertisingCommandSet? = nil,
      for feature: HCI.LEFeatures = []
    ) {
      for opcode in opcodes { all[opcode] = Self(group: group, feature: feature, commandSet: commandSet) }
    }
    add(
      .control,
      [
        .setEventMask, .reset, .setEventMaskPage2, .readLEHostSupport, .writeLEHostSupport, .leSetEventMask,
        .leSetRandomAddress, .leSetHostFeature, .leReadRFPathCompensation, .leWriteRFPathCompensation,
      ])
    add(
      .information,
      [
        .readLocalVersionInformation, .readLocalSupportedCommands, .readLocalSupportedFeatures, .readBufferSize,
        .readBDADDR, .leReadBufferSize, .leReadLocalSupportedFeatures, .leReadSupportedStates, .leReadBufferSizeV2,
        .leReadTransmitPower, .leReadAdvertisingPhysicalChannelTxPower,
      ])
    add(.hostFlowControl, [.setControllerToHostFlowControl, .hostBufferSize, .hostNumberOfCompletedPackets])
    add(.cryptography, [.leEncrypt, .leRand, .leReadLocalP256PublicKey, .leGenerateDHKey])

    add(
      .filterAcceptList,
      [
        .leReadFilterAcceptListSize, .leClearFilterAcceptList, .leAddDeviceToFilterAcceptList,
        .leRemoveDeviceFromFilterAcceptList,
      ])
    add(
      .resolvingList,
      [
        .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leClearResolvingList, .leReadResolvingListSize,
        .leReadPeerResolvableAddress, .leReadLocalResolvableAddress, .leSetAddressResolutionEnable,
        .leSetResolvablePrivateAddressTimeout, .leSetPrivacyMode,
      ], for: .llPrivacy)

    add(
      .advertising,
      [.leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable],
      of: .legacy)
    add(
      .extendedAdvertising,
      [
        .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
        .leSetExtendedAdvertisingEnable, .leRemoveAdvertisingSet, .leClearAdvertisingSets,
        .leSetAdvertisingSetRandomAddress,
      ], of: .extended, for: .extendedAdvertising)
    add(
      .extendedAdvertising, [.leReadMaximumAdvertisingDataLength, .leReadNumberOfSupportedAdvertisingSets],
      for: .extendedAdvertising)
    add(.scanning, [.leSetScanParameters, .leSetScanEnable], of: .legacy)
    add(
      .scanning, [.leSetExtendedScanParameters, .leSetExtendedScanEnable], of: .extended, for: .extendedAdvertising)
    add(.initiating, [.leCreateConnection], of: .legacy)
    add(.initiating, [.leExtendedCreateConnection], of: .extended, for: .extendedAdvertising)
    add(.initiating, [.leCreateConnectionCancel])

    add(
      .link,
      [
        .disconnect, .readRemoteVersionInformation, .readTransmitPowerLevel, .readRSSI, .leReadChannelMap,
        .leReadRemoteFeatures, .leRequestPeerSCA,
      ])
    add(.link, [.readAuthenticatedPayloadTimeout, .writeAuthenticatedPayloadTimeout], for: .ping)
    add(.link, [.leReadPHY], for: .le2MPHY)
    add(.linkUpdate, [.leConnectionUpdate])
    add(
      .linkUpdate, [.leRemoteConnectionParameterRequestReply, .leRemoteConnectionParameterRequestNegativeReply],
      for: .connectionParametersRequest)
    add(.linkUpdate, [.leSetDataLength], for: .dataPacketLengthExtension)
    add(.linkUpdate, [.leSetPHY], for: .le2MPHY)
    add(.linkDefaults, [.leSetHostChannelClassification])
    add(
      .linkDefaults,
      [.leReadSuggestedDefaultDataLength, .leWriteSuggestedDefaultDataLength, .leReadMaximumDataLength],
      for: .dataPacketLengthExtension)
    add(.linkDefaults, [.leSetDefaultPHY], for: .le2MPHY)
    add(
      .encryption, [.leEnableEncryption, .leLongTermKeyRequestReply, .leLongTermKeyRequestNegativeReply],
      for: .encryption)
    return all
  }()
}
