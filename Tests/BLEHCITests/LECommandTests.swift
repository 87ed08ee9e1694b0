import BLEHCI
import BLEWire
import Testing

/// LE controller, advertising and scanning commands: octets from the definitions of Vol 4, Part E, 7.8.
@Suite struct LECommandTests {
  @Test(arguments: golden) func commandHasTheOctetsOfItsDefinition(of golden: Golden) throws { try golden.check() }

  /// Found by the fuzzer: octets beyond the limit were accepted, and then cut in the encoding.
  @Test(arguments: [251: true, 252: false, 255: false])
  func rejectsMoreAdvertisingDataThanAPacketHolds(count: Int, isAccepted: Bool) {
    let octets: [UInt8] = [0x00, 0x03, 0x01, UInt8(count)] + [UInt8](repeating: 0, count: count)
    for rest in [[], [0x00]] as [[UInt8]] {
      let command = try? HCI.LESetExtendedAdvertisingData(decoding: (octets + rest)[...])
      #expect((command != nil) == (isAccepted && rest.isEmpty))
    }
  }

  static let golden: [Golden] = controller + advertising + extendedAdvertising + scanning

  static let controller: [Golden] = [
    .command(
      HCI.LESetEventMask { $0.eventMask = [.connectionComplete, .enhancedConnectionComplete, .scanTimeout] },
      "01 0120 08 0102010000000000"),
    .response(HCI.LESetEventMask.self, "00"),
    .command(HCI.LEReadBufferSize(), "01 0220 00"),
    .response(HCI.LEReadBufferSize.self, "00 FB00 0F") {
      $0.aclDataPacketLength = 251
      $0.totalNumACLDataPackets = 15
    },
    .command(HCI.LEReadBufferSizeV2(), "01 6020 00"),
    .response(HCI.LEReadBufferSizeV2.self, "00 FB00 0F FD03 18") {
      $0.aclDataPacketLength = 251
      $0.totalNumACLDataPackets = 15
      $0.isoDataPacketLength = 1021
      $0.totalNumISODataPackets = 24
    },
    .command(HCI.LEReadLocalSupportedFeatures(), "01 0320 00"),
    .response(HCI.LEReadLocalSupportedFeatures.self, "00 0111008000000000") {
      $0.features = [.encryption, .le2MPHY, .extendedAdvertising, .synchronizedReceiver]
    },
    .command(HCI.LEReadSupportedStates(), "01 1C20 00"),
    .response(HCI.LEReadSupportedStates.self, "00 FFFFFFFF FF030000") { $0.states = 0x3FF_FFFF_FFFF },
    .command(
      HCI.LESetHostFeature {
        $0.bitNumber = 32
        $0.bitValue = true
      }, "01 7420 02 20 01"),
    .response(HCI.LESetHostFeature.self, "00"),
    .command(
      HCI.LESetHostFeatureV2 {
        $0.bitNumber = 73
        $0.bitValue = true
      }, "01 9720 03 4900 01"),
    .response(HCI.LESetHostFeatureV2.self, "00"),
    .command(HCI.LEReadAllLocalSupportedFeatures(), "01 8720 00"),
    .response(
      HCI.LEReadAllLocalSupportedFeatures.self,
      "00 01 0100000000000080 0001000000000000" + String(repeating: "00", count: 232)
    ) {
      $0.maxPage = 1
      $0.features.features = [.encryption, .llExtendedFeatureSet]
      $0.features.furtherFeatures = [.shorterConnectionIntervals]
      $0.features.rest = Bytes(repeating: 0, count: 232)
    },
    .command(HCI.LEReadTransmitPower(), "01 4B20 00"),
    .response(HCI.LEReadTransmitPower.self, "00 9C 04") {
      $0.minTXPower = -100
      $0.maxTXPower = 4
    },
    .command(HCI.LEReadRFPathCompensation(), "01 4C20 00"),
    .response(HCI.LEReadRFPathCompensation.self, "00 6400 9CFF") {
      $0.rfTXPathCompensation = 100
      $0.rfRXPathCompensation = -100
    },
    .command(
      HCI.LEWriteRFPathCompensation {
        $0.rfTXPathCompensation = -2
        $0.rfRXPathCompensation = 3
      }, "01 4D20 04 FEFF 0300"),
    .response(HCI.LEWriteRFPathCompensation.self, "00"),
    .command(HCI.LEModifySleepClockAccuracy { $0.action = 1 }, "01 5F20 01 01"),
    .response(HCI.LEModifySleepClockAccuracy.self, "00"),
  ]

  static let advertising: [Golden] = [
    .command(HCI.LESetRandomAddress { $0.randomAddress = peer.octets }, "01 0520 06 5544332211C0"),
    .response(HCI.LESetRandomAddress.self, "00"),
    .command(
      HCI.LESetAdvertisingParameters {
        $0.advertisingIntervalMin = 0x00A0
        $0.advertisingIntervalMax = 0x00F0
        $0.advertisingType = .scannableUndirected
        $0.ownAddressType = .random
        $0.peerAddress = peer
        $0.advertisingChannelMap = [.channel37, .channel39]
        $0.advertisingFilterPolicy = .acceptListOnly
      }, "01 0620 0F A000 F000 02 01 01 5544332211C0 05 03"),
    .response(HCI.LESetAdvertisingParameters.self, "00"),
    .command(HCI.LEReadAdvertisingPhysicalChannelTxPower(), "01 0720 00"),
    .response(HCI.LEReadAdvertisingPhysicalChannelTxPower.self, "00 07") { $0.txPowerLevel = 7 },
    .command(
      HCI.LESetAdvertisingData { $0.advertisingData = [0x02, 0x01, 0x06] },
      "01 0820 20 03 020106" + String(repeating: "00", count: 28)),
    .response(HCI.LESetAdvertisingData.self, "00"),
    .command(
      HCI.LESetScanResponseData { $0.scanResponseData = [0x02, 0x0A, 0x00] },
      "01 0920 20 03 020A00" + String(repeating: "00", count: 28)),
    .response(HCI.LESetScanResponseData.self, "00"),
    .command(HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }, "01 0A20 01 01"),
    .response(HCI.LESetAdvertisingEnable.self, "00"),
  ]

  static let extendedAdvertising: [Golden] = [
    .command(
      HCI.LESetAdvertisingSetRandomAddress {
        $0.advertisingHandle = 1
        $0.randomAddress = peer.octets
      }, "01 3520 07 01 5544332211C0"),
    .response(HCI.LESetAdvertisingSetRandomAddress.self, "00"),
    .command(
      HCI.LESetExtendedAdvertisingParameters(set),
      "01 3620 19 01 1300 A00000 F00001 07 01 01 5544332211C0 02 F6 01 02 03 0A 01"),
    .response(HCI.LESetExtendedAdvertisingParameters.self, "00 F8") { $0.selectedTXPower = -8 },
    .command(
      HCI.LESetExtendedAdvertisingParametersV2 {
        $0.parameters = HCI.LESetExtendedAdvertisingParameters(set)
        $0.primaryAdvertisingPHYOptions = .prefersS8
        $0.secondaryAdvertisingPHYOptions = .requiresS2
      }, "01 7F20 1B 01 1300 A00000 F00001 07 01 01 5544332211C0 02 F6 01 02 03 0A 01 02 03"),
    .response(HCI.LESetExtendedAdvertisingParametersV2.self, "00 F8") { $0.selectedTXPower = -8 },
    .command(
      HCI.LESetExtendedAdvertisingData {
        $0.advertisingHandle = 1
        $0.operation = .last
        $0.fragmentPreference = .controllerShouldNotFragment
        $0.advertisingData = [0x02, 0x01, 0x06]
      }, "01 3720 07 01 02 01 03 020106"),
    .response(HCI.LESetExtendedAdvertisingData.self, "00"),
    .command(
      HCI.LESetExtendedScanResponseData {
        $0.advertisingHandle = 2
        $0.operation = .complete
        $0.scanResponseData = [0x01, 0x0A]
      }, "01 3820 06 02 03 00 02 010A"),
    .response(HCI.LESetExtendedScanResponseData.self, "00"),
    .command(
      HCI.LESetExtendedAdvertisingEnable {
        $0.enable = true
        $0.sets = [
          HCI.EnabledAdvertisingSet {
            $0.advertisingHandle = 1
            $0.duration = 0x0102
            $0.maxExtendedAdvertisingEvents = 3
          }, HCI.EnabledAdvertisingSet { $0.advertisingHandle = 2 },
        ]
      }, "01 3920 0A 01 02 01 0201 03 02 0000 00"),
    .response(HCI.LESetExtendedAdvertisingEnable.self, "00"),
    .command(HCI.LEReadMaximumAdvertisingDataLength(), "01 3A20 00"),
    .response(HCI.LEReadMaximumAdvertisingDataLength.self, "00 7206") { $0.maxAdvertisingDataLength = 1650 },
    .command(HCI.LEReadNumberOfSupportedAdvertisingSets(), "01 3B20 00"),
    .response(HCI.LEReadNumberOfSupportedAdvertisingSets.self, "00 10") { $0.numSupportedAdvertisingSets = 16 },
    .command(HCI.LERemoveAdvertisingSet { $0.advertisingHandle = 1 }, "01 3C20 01 01"),
    .response(HCI.LERemoveAdvertisingSet.self, "00"),
    .command(HCI.LEClearAdvertisingSets(), "01 3D20 00"),
    .response(HCI.LEClearAdvertisingSets.self, "00"),
    .command(
      HCI.LESetDataRelatedAddressChanges {
        $0.advertisingHandle = 1
        $0.changeReasons = 3
      }, "01 7C20 02 01 03"),
    .response(HCI.LESetDataRelatedAddressChanges.self, "00"),
  ]

  @Sendable private static func set(_ parameters: inout HCI.LESetExtendedAdvertisingParameters) {
    parameters.advertisingHandle = 1
    parameters.advertisingEventProperties = .legacyConnectableUndirected
    parameters.primaryAdvertisingIntervalMin = 0x0000A0
    parameters.primaryAdvertisingIntervalMax = 0x0100F0
    parameters.ownAddressType = .random
    parameters.peerAddress = peer
    parameters.advertisingFilterPolicy = .connectionsFromAcceptList
    parameters.advertisingTXPower = -10
    parameters.secondaryAdvertisingMaxSkip = 2
    parameters.secondaryAdvertisingPHY = .leCoded
    parameters.advertisingSID = 10
    parameters.scanRequestNotificationEnable = true
  }

  static let scanning: [Golden] = [
    .command(
      HCI.LESetScanParameters {
        $0.scanType = .active
        $0.scanInterval = 0x01E0
        $0.scanWindow = 0x0030
        $0.ownAddressType = .resolvableElseRandom
        $0.scanningFilterPolicy = .allAndUnresolved
      }, "01 0B20 07 01 E001 3000 03 02"),
    .response(HCI.LESetScanParameters.self, "00"),
    .command(HCI.LESetScanEnable { $0.filterDuplicates = true }, "01 0C20 02 00 01"),
    .response(HCI.LESetScanEnable.self, "00"),
    .command(
      HCI.LESetExtendedScanParameters {
        $0.ownAddressType = .random
        $0.scanningFilterPolicy = .acceptList
        $0.scanningPHYs = [.le1M, .leCoded]
        $0.scans = [
          HCI.ScanParameters {
            $0.scanType = .active
            $0.scanInterval = 0x0102
            $0.scanWindow = 0x0101
          },
          HCI.ScanParameters {
            $0.scanInterval = 0x0304
            $0.scanWindow = 0x0303
          },
        ]
      }, "01 4120 0D 01 01 05 01 0201 0101 00 0403 0303"),
    .response(HCI.LESetExtendedScanParameters.self, "00"),
    .command(
      HCI.LESetExtendedScanEnable {
        $0.enable = true
        $0.filterDuplicates = .resetEachPeriod
        $0.duration = 0x0010
        $0.period = 0x0002
      }, "01 4220 06 01 02 1000 0200"),
    .response(HCI.LESetExtendedScanEnable.self, "00"),
  ]
}
