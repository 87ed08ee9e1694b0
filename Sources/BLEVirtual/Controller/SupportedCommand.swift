internal import BLEHCI

/// The two sets of advertising commands. After the first command of one set the other set is disallowed until a reset (Vol 4, Part E,
/// 3.1.1).
enum AdvertisingCommandSet: Sendable { case legacy, extended }

/// A command that a virtual controller can have.
struct SupportedCommand: Sendable {
  /// The feature without which a controller does not have the command.
  let feature: HCI.LEFeatures
  /// The set of advertising commands that it belongs to.
  let commandSet: AdvertisingCommandSet?

  /// Every command that a controller can have.
  static let all: [HCIOpcode: Self] = {
    var all: [HCIOpcode: Self] = [:]
    func add(_ opcodes: [HCIOpcode], of commandSet: AdvertisingCommandSet? = nil, for feature: HCI.LEFeatures = []) {
      for opcode in opcodes { all[opcode] = Self(feature: feature, commandSet: commandSet) }
    }
    add([
      .disconnect, .readRemoteVersionInformation,
      .setControllerToHostFlowControl, .hostBufferSize, .hostNumberOfCompletedPackets,
      .setEventMask, .reset, .readTransmitPowerLevel, .setEventMaskPage2, .readLEHostSupport, .writeLEHostSupport,
      .readLocalVersionInformation, .readLocalSupportedCommands, .readLocalSupportedFeatures, .readBufferSize,
      .readBDADDR, .readRSSI,
      .leSetEventMask, .leReadBufferSize, .leReadLocalSupportedFeatures, .leSetRandomAddress,
      .leReadAdvertisingPhysicalChannelTxPower,
      .leCreateConnectionCancel, .leReadFilterAcceptListSize, .leClearFilterAcceptList,
      .leAddDeviceToFilterAcceptList, .leRemoveDeviceFromFilterAcceptList, .leConnectionUpdate,
      .leSetHostChannelClassification, .leReadChannelMap, .leReadRemoteFeatures, .leEncrypt, .leRand,
      .leReadSupportedStates, .leReadLocalP256PublicKey, .leGenerateDHKey, .leReadBufferSizeV2, .leSetHostFeature,
      .leReadTransmitPower, .leReadRFPathCompensation, .leWriteRFPathCompensation, .leRequestPeerSCA,
    ])
    add(
      [
        .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable,
        .leSetScanParameters, .leSetScanEnable, .leCreateConnection,
      ], of: .legacy)
    add(
      [
        .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
        .leSetExtendedAdvertisingEnable, .leRemoveAdvertisingSet, .leClearAdvertisingSets,
        .leSetAdvertisingSetRandomAddress, .leSetExtendedScanParameters, .leSetExtendedScanEnable,
        .leExtendedCreateConnection,
      ], of: .extended, for: .extendedAdvertising)
    add([.leReadMaximumAdvertisingDataLength, .leReadNumberOfSupportedAdvertisingSets], for: .extendedAdvertising)
    add([.leEnableEncryption, .leLongTermKeyRequestReply, .leLongTermKeyRequestNegativeReply], for: .encryption)
    add([.readAuthenticatedPayloadTimeout, .writeAuthenticatedPayloadTimeout], for: .ping)
    add(
      [.leRemoteConnectionParameterRequestReply, .leRemoteConnectionParameterRequestNegativeReply],
      for: .connectionParametersRequest)
    add(
      [
        .leSetDataLength, .leReadSuggestedDefaultDataLength, .leWriteSuggestedDefaultDataLength,
        .leReadMaximumDataLength,
      ], for: .dataPacketLengthExtension)
    add(
      [
        .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leClearResolvingList, .leReadResolvingListSize,
        .leReadPeerResolvableAddress, .leReadLocalResolvableAddress, .leSetAddressResolutionEnable,
        .leSetResolvablePrivateAddressTimeout, .leSetPrivacyMode,
      ], for: .llPrivacy)
    add([.leReadPHY, .leSetDefaultPHY, .leSetPHY], for: .le2MPHY)
    return all
  }()
}
