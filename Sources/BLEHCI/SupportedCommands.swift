public import BLEWire

extension HCI {
  /// Which commands a controller has: 64 octets, a bit a command (Vol 4, Part E, 6.27).
  ///
  /// ```swift
  /// if response.supportedCommands.contains(.leSetExtendedAdvertisingParameters) { … }
  /// ```
  public struct SupportedCommands: Packet {
    private var octets = Bytes(repeating: 0, count: 64)

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
      octets[octets.startIndex + place.octet] |= 1 << UInt8(place.bit)
    }

    /// Clears the command's bit. An opcode that has none changes nothing.
    public mutating func remove(_ opcode: HCIOpcode) {
      guard let place = Self.places[opcode] else { return }
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
    static let bits: [(opcode: HCIOpcode, octet: Int, bit: Int)] = rows.flatMap { row in
      row.opcodes.enumerated().compactMap { index, opcode in opcode.map { ($0, row.octet, row.bit + index) } }
    }

    private static let places: [HCIOpcode: (octet: Int, bit: Int)] = Dictionary(
      bits.map { ($0.opcode, ($0.octet, $0.bit)) }, uniquingKeysWith: { first, _ in first })
  }
}

extension HCI.SupportedCommands {
  private typealias Row = (octet: Int, bit: Int, opcodes: [HCIOpcode?])

  /// The commands that the bits of `octet` stand for, from `bit` up; nil for a bit of BR/EDR or a reserved one.
  private static func row(_ octet: Int, from bit: Int = 0, _ opcodes: HCIOpcode?...) -> Row { (octet, bit, opcodes) }

  private static let rows: [Row] = [
    row(0, from: 5, .disconnect),
    row(2, from: 7, .readRemoteVersionInformation),
    row(5, from: 6, .setEventMask, .reset),
    row(
      10, from: 2, .readTransmitPowerLevel, nil, nil, .setControllerToHostFlowControl, .hostBufferSize,
      .hostNumberOfCompletedPackets),
    row(14, from: 3, .readLocalVersionInformation, nil, .readLocalSupportedFeatures, nil, .readBufferSize),
    row(15, from: 1, .readBDADDR, nil, nil, nil, .readRSSI),
    row(22, from: 2, .setEventMaskPage2),
    row(24, from: 5, .readLEHostSupport, .writeLEHostSupport),
    row(
      25, .leSetEventMask, .leReadBufferSize, .leReadLocalSupportedFeatures, nil, .leSetRandomAddress,
      .leSetAdvertisingParameters, .leReadAdvertisingPhysicalChannelTxPower, .leSetAdvertisingData),
    row(
      26, .leSetScanResponseData, .leSetAdvertisingEnable, .leSetScanParameters, .leSetScanEnable,
      .leCreateConnection, .leCreateConnectionCancel, .leReadFilterAcceptListSize, .leClearFilterAcceptList),
    row(
      27, .leAddDeviceToFilterAcceptList, .leRemoveDeviceFromFilterAcceptList, .leConnectionUpdate,
      .leSetHostChannelClassification, .leReadChannelMap, .leReadRemoteFeatures, .leEncrypt, .leRand),
    row(
      28, .leEnableEncryption, .leLongTermKeyRequestReply, .leLongTermKeyRequestNegativeReply,
      .leReadSupportedStates, .leReceiverTest, .leTransmitterTest, .leTestEnd),
    row(32, from: 4, .readAuthenticatedPayloadTimeout, .writeAuthenticatedPayloadTimeout),
    row(
      33, from: 4, .leRemoteConnectionParameterRequestReply, .leRemoteConnectionParameterRequestNegativeReply,
      .leSetDataLength, .leReadSuggestedDefaultDataLength),
    row(
      34, .leWriteSuggestedDefaultDataLength, .leReadLocalP256PublicKey, .leGenerateDHKey,
      .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leClearResolvingList,
      .leReadResolvingListSize, .leReadPeerResolvableAddress),
    row(
      35, .leReadLocalResolvableAddress, .leSetAddressResolutionEnable, .leSetResolvablePrivateAddressTimeout,
      .leReadMaximumDataLength, .leReadPHY, .leSetDefaultPHY, .leSetPHY, .leReceiverTestV2),
    row(
      36, .leTransmitterTestV2, .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters,
      .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable,
      .leReadMaximumAdvertisingDataLength, .leReadNumberOfSupportedAdvertisingSets),
    row(
      37, .leRemoveAdvertisingSet, .leClearAdvertisingSets, .leSetPeriodicAdvertisingParameters,
      .leSetPeriodicAdvertisingData, .leSetPeriodicAdvertisingEnable, .leSetExtendedScanParameters,
      .leSetExtendedScanEnable, .leExtendedCreateConnection),
    row(
      38, .lePeriodicAdvertisingCreateSync, .lePeriodicAdvertisingCreateSyncCancel,
      .lePeriodicAdvertisingTerminateSync, .leAddDeviceToPeriodicAdvertiserList,
      .leRemoveDeviceFromPeriodicAdvertiserList, .leClearPeriodicAdvertiserList, .leReadPeriodicAdvertiserListSize,
      .leReadTransmitPower),
    row(
      39, .leReadRFPathCompensation, .leWriteRFPathCompensation, .leSetPrivacyMode, .leReceiverTestV3,
      .leTransmitterTestV3, .leSetConnectionlessCTETransmitParameters, .leSetConnectionlessCTETransmitEnable,
      .leSetConnectionlessIQSamplingEnable),
    row(
      40, .leSetConnectionCTEReceiveParameters, .leSetConnectionCTETransmitParameters,
      .leConnectionCTERequestEnable, .leConnectionCTEResponseEnable, .leReadAntennaInformation,
      .leSetPeriodicAdvertisingReceiveEnable, .lePeriodicAdvertisingSyncTransfer,
      .lePeriodicAdvertisingSetInfoTransfer),
    row(
      41, .leSetPeriodicAdvertisingSyncTransferParameters, .leSetDefaultPeriodicAdvertisingSyncTransferParameters,
      .leGenerateDHKeyV2, nil, .leModifySleepClockAccuracy, .leReadBufferSizeV2, .leReadISOTXSync,
      .leSetCIGParameters),
    row(
      42, .leSetCIGParametersTest, .leCreateCIS, .leRemoveCIG, .leAcceptCISRequest, .leRejectCISRequest,
      .leCreateBIG, .leCreateBIGTest, .leTerminateBIG),
    row(
      43, .leBIGCreateSync, .leBIGTerminateSync, .leRequestPeerSCA, .leSetupISODataPath, .leRemoveISODataPath,
      .leISOTransmitTest, .leISOReceiveTest, .leISOReadTestCounters),
    row(
      44, .leISOTestEnd, .leSetHostFeature, .leReadISOLinkQuality, .leEnhancedReadTransmitPowerLevel,
      .leReadRemoteTransmitPowerLevel, .leSetPathLossReportingParameters, .leSetPathLossReportingEnable,
      .leSetTransmitPowerReportingEnable),
    row(
      45, .leTransmitterTestV4, nil, nil, nil, nil, .configureDataPath, .leSetDataRelatedAddressChanges,
      .setMinEncryptionKeySize),
    row(
      46, .leSetDefaultSubrate, .leSubrateRequest, .leSetExtendedAdvertisingParametersV2, nil, nil,
      .leSetPeriodicAdvertisingSubeventData, .leSetPeriodicAdvertisingResponseData, .leSetPeriodicSyncSubevent),
    row(47, .leExtendedCreateConnectionV2, .leSetPeriodicAdvertisingParametersV2),
  ]
}
