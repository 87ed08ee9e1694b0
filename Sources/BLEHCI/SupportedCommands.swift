public import BLEWire

extension HCI {
  /// Which commands a controller has: 64 octets, a bit a command (Vol 4, Part E, 6.27).
  ///
  /// ```swift
  /// if response.supportedCommands.contains(.leSetExtendedAdvertisingParameters) { … }
  /// ```
  public struct SupportedCommands: FieldGroup {
    private var octets: Bytes = []

    public init() {}

    public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.octets("Supported_Commands", count: 64, &octets)
    }

    /// Whether the controller has the command; false for an opcode that has no bit.
    public func contains(_ opcode: HCIOpcode) -> Bool {
      guard let place = Self.places[opcode] else { return false }
      return contains(octet: place.octet, bit: place.bit)
    }

    /// Whether the bit is set; false outside the 64 octets.
    public func contains(octet: Int, bit: Int) -> Bool {
      let index = octets.startIndex + octet
      guard octets.indices.contains(index), (0..<8).contains(bit) else { return false }
      return octets[index] >> UInt8(bit) & 1 == 1
    }

    /// Sets the command's bit. An opcode that has none changes nothing.
    public mutating func insert(_ opcode: HCIOpcode) {
      guard let place = Self.places[opcode] else { return }
      octets = octets.prefix(64) + repeatElement(0, count: 64 - min(octets.count, 64))
      octets[octets.startIndex + place.octet] |= 1 << UInt8(place.bit)
    }

    /// Clears the command's bit. An opcode that has none changes nothing.
    public mutating func remove(_ opcode: HCIOpcode) {
      guard let place = Self.places[opcode], place.octet < octets.count else { return }
      octets[octets.startIndex + place.octet] &= ~(1 << UInt8(place.bit))
    }

    /// The commands with a name here that the controller has, in the order of their bits.
    public var opcodes: [HCIOpcode] { Self.bits.filter { contains(octet: $0.octet, bit: $0.bit) }.map(\.opcode) }

    /// Every command with a name here.
    public static var all: Self {
      var all = Self()
      for place in bits { all.insert(place.opcode) }
      return all
    }

    /// Where each command has its bit.
    static let bits: [(opcode: HCIOpcode, octet: Int, bit: Int)] = rows.flatMap { octet, opcodes in
      opcodes.enumerated().compactMap { bit, opcode in opcode.map { ($0, octet, bit) } }
    }

    private static let places: [HCIOpcode: (octet: Int, bit: Int)] = Dictionary(
      bits.map { ($0.opcode, ($0.octet, $0.bit)) }, uniquingKeysWith: { first, _ in first })
  }
}

extension HCI.SupportedCommands {
  /// The octets of the table with the commands of their bits, bit 0 first; nil for a command of BR/EDR or a reserved bit.
  fileprivate static let rows: [(Int, [HCIOpcode?])] = [
    (
      0,
      [
        nil, nil, nil, nil, nil, .disconnect,
      ]
    ),
    (
      2,
      [
        nil, nil, nil, nil, nil, nil, nil, .readRemoteVersionInformation,
      ]
    ),
    (
      5,
      [
        nil, nil, nil, nil, nil, nil, .setEventMask, .reset,
      ]
    ),
    (
      10,
      [
        nil, nil, .readTransmitPowerLevel, nil, nil, .setControllerToHostFlowControl, .hostBufferSize,
        .hostNumberOfCompletedPackets,
      ]
    ),
    (
      14,
      [
        nil, nil, nil, .readLocalVersionInformation, nil, .readLocalSupportedFeatures, nil, .readBufferSize,
      ]
    ),
    (
      15,
      [
        nil, .readBDADDR, nil, nil, nil, .readRSSI,
      ]
    ),
    (
      22,
      [
        nil, nil, .setEventMaskPage2,
      ]
    ),
    (
      24,
      [
        nil, nil, nil, nil, nil, .readLEHostSupport, .writeLEHostSupport,
      ]
    ),
    (
      25,
      [
        .leSetEventMask, .leReadBufferSize, .leReadLocalSupportedFeatures, nil, .leSetRandomAddress,
        .leSetAdvertisingParameters, .leReadAdvertisingPhysicalChannelTxPower, .leSetAdvertisingData,
      ]
    ),
    (
      26,
      [
        .leSetScanResponseData, .leSetAdvertisingEnable, .leSetScanParameters, .leSetScanEnable,
        .leCreateConnection, .leCreateConnectionCancel, .leReadFilterAcceptListSize, .leClearFilterAcceptList,
      ]
    ),
    (
      27,
      [
        .leAddDeviceToFilterAcceptList, .leRemoveDeviceFromFilterAcceptList, .leConnectionUpdate,
        .leSetHostChannelClassification, .leReadChannelMap, .leReadRemoteFeatures, .leEncrypt, .leRand,
      ]
    ),
    (
      28,
      [
        .leEnableEncryption, .leLongTermKeyRequestReply, .leLongTermKeyRequestNegativeReply,
        .leReadSupportedStates, .leReceiverTest, .leTransmitterTest, .leTestEnd,
      ]
    ),
    (
      32,
      [
        nil, nil, nil, nil, .readAuthenticatedPayloadTimeout, .writeAuthenticatedPayloadTimeout,
      ]
    ),
    (
      33,
      [
        nil, nil, nil, nil, .leRemoteConnectionParameterRequestReply,
        .leRemoteConnectionParameterRequestNegativeReply, .leSetDataLength, .leReadSuggestedDefaultDataLength,
      ]
    ),
    (
      34,
      [
        .leWriteSuggestedDefaultDataLength, .leReadLocalP256PublicKey, .leGenerateDHKey,
        .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leClearResolvingList,
        .leReadResolvingListSize, .leReadPeerResolvableAddress,
      ]
    ),
    (
      35,
      [
        .leReadLocalResolvableAddress, .leSetAddressResolutionEnable, .leSetResolvablePrivateAddressTimeout,
        .leReadMaximumDataLength, .leReadPHY, .leSetDefaultPHY, .leSetPHY, .leReceiverTestV2,
      ]
    ),
    (
      36,
      [
        .leTransmitterTestV2, .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters,
        .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable,
        .leReadMaximumAdvertisingDataLength, .leReadNumberOfSupportedAdvertisingSets,
      ]
    ),
    (
      37,
      [
        .leRemoveAdvertisingSet, .leClearAdvertisingSets, .leSetPeriodicAdvertisingParameters,
        .leSetPeriodicAdvertisingData, .leSetPeriodicAdvertisingEnable, .leSetExtendedScanParameters,
        .leSetExtendedScanEnable, .leExtendedCreateConnection,
      ]
    ),
    (
      38,
      [
        .lePeriodicAdvertisingCreateSync, .lePeriodicAdvertisingCreateSyncCancel,
        .lePeriodicAdvertisingTerminateSync, .leAddDeviceToPeriodicAdvertiserList,
        .leRemoveDeviceFromPeriodicAdvertiserList, .leClearPeriodicAdvertiserList,
        .leReadPeriodicAdvertiserListSize, .leReadTransmitPower,
      ]
    ),
    (
      39,
      [
        .leReadRFPathCompensation, .leWriteRFPathCompensation, .leSetPrivacyMode, .leReceiverTestV3,
        .leTransmitterTestV3, .leSetConnectionlessCTETransmitParameters, .leSetConnectionlessCTETransmitEnable,
        .leSetConnectionlessIQSamplingEnable,
      ]
    ),
    (
      40,
      [
        .leSetConnectionCTEReceiveParameters, .leSetConnectionCTETransmitParameters,
        .leConnectionCTERequestEnable, .leConnectionCTEResponseEnable, .leReadAntennaInformation,
        .leSetPeriodicAdvertisingReceiveEnable, .lePeriodicAdvertisingSyncTransfer,
        .lePeriodicAdvertisingSetInfoTransfer,
      ]
    ),
    (
      41,
      [
        .leSetPeriodicAdvertisingSyncTransferParameters, .leSetDefaultPeriodicAdvertisingSyncTransferParameters,
        .leGenerateDHKeyV2, nil, .leModifySleepClockAccuracy, .leReadBufferSizeV2, .leReadISOTXSync,
        .leSetCIGParameters,
      ]
    ),
    (
      42,
      [
        .leSetCIGParametersTest, .leCreateCIS, .leRemoveCIG, .leAcceptCISRequest, .leRejectCISRequest,
        .leCreateBIG, .leCreateBIGTest, .leTerminateBIG,
      ]
    ),
    (
      43,
      [
        .leBIGCreateSync, .leBIGTerminateSync, .leRequestPeerSCA, .leSetupISODataPath, .leRemoveISODataPath,
        .leISOTransmitTest, .leISOReceiveTest, .leISOReadTestCounters,
      ]
    ),
    (
      44,
      [
        .leISOTestEnd, .leSetHostFeature, .leReadISOLinkQuality, .leEnhancedReadTransmitPowerLevel,
        .leReadRemoteTransmitPowerLevel, .leSetPathLossReportingParameters, .leSetPathLossReportingEnable,
        .leSetTransmitPowerReportingEnable,
      ]
    ),
    (
      45,
      [
        .leTransmitterTestV4, nil, nil, nil, nil, .configureDataPath, .leSetDataRelatedAddressChanges,
        .setMinEncryptionKeySize,
      ]
    ),
    (
      46,
      [
        .leSetDefaultSubrate, .leSubrateRequest, .leSetExtendedAdvertisingParametersV2, nil, nil,
        .leSetPeriodicAdvertisingSubeventData, .leSetPeriodicAdvertisingResponseData, .leSetPeriodicSyncSubevent,
      ]
    ),
    (
      47,
      [
        .leExtendedCreateConnectionV2, .leSetPeriodicAdvertisingParametersV2,
      ]
    ),
  ]
}
