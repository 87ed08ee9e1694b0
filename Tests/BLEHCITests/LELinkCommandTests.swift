import BLEHCI
import BLEWire
import Testing

/// LE commands for links, lists and keys: octets from the definitions of Vol 4, Part E, 7.8.
@Suite struct LELinkCommandTests {
  @Test(arguments: golden) func commandHasTheOctetsOfItsDefinition(of golden: Golden) throws { try golden.check() }

  static let golden: [Golden] = connection + dataLength + lists + security + power

  /// 18 00 28 00 02 00 2A 00 01 00 03 00
  private static let parameters = HCI.ConnectionParameters {
    $0.connectionIntervalMin = 24
    $0.connectionIntervalMax = 40
    $0.maxLatency = 2
    $0.supervisionTimeout = 42
    $0.minCELength = 1
    $0.maxCELength = 3
  }

  private static let subrating = HCI.SubrateParameters {
    $0.subrateMin = 1
    $0.subrateMax = 5
    $0.maxLatency = 2
    $0.continuationNumber = 3
    $0.supervisionTimeout = 0x0400
  }

  private static let rate = HCI.ConnectionRateParameters {
    $0.connectionIntervalMin = 10
    $0.connectionIntervalMax = 20
    $0.subrateMin = 1
    $0.subrateMax = 5
    $0.maxLatency = 2
    $0.continuationNumber = 3
    $0.supervisionTimeout = 0x0400
    $0.minCELength = 2
    $0.maxCELength = 4
  }

  @Sendable private static func connect(_ command: inout HCI.LEExtendedCreateConnection) {
    command.initiatorFilterPolicy = .acceptList
    command.ownAddressType = .random
    command.peerAddress = peer
    command.initiatingPHYs = [.le1M, .leCoded]
    command.initiations = [
      HCI.InitiatingParameters {
        $0.scanInterval = 0x0102
        $0.scanWindow = 0x0101
        $0.parameters = parameters
      },
      HCI.InitiatingParameters {
        $0.scanInterval = 0x0304
        $0.scanWindow = 0x0303
        $0.parameters = parameters
      },
    ]
  }

  static let connection: [Golden] = [
    .command(
      HCI.LECreateConnection {
        $0.scanInterval = 0x0060
        $0.scanWindow = 0x0030
        $0.peerAddress = peer
        $0.ownAddressType = .random
        $0.parameters = parameters
      }, "01 0D20 19 6000 3000 00 01 5544332211C0 01 1800 2800 0200 2A00 0100 0300"),
    .command(HCI.LECreateConnectionCancel(), "01 0E20 00"),
    .response(HCI.LECreateConnectionCancel.self, "00"),
    .command(
      HCI.LEExtendedCreateConnection(connect),
      """
      01 4320 2A 01 01 01 5544332211C0 05 0201 0101 1800 2800 0200 2A00 0100 0300 \
      0403 0303 1800 2800 0200 2A00 0100 0300
      """),
    .command(
      HCI.LEExtendedCreateConnectionV2 {
        $0.advertisingHandle = 4
        $0.subevent = 5
        $0.connection = HCI.LEExtendedCreateConnection(connect)
      },
      """
      01 8520 2C 04 05 01 01 01 5544332211C0 05 0201 0101 1800 2800 0200 2A00 0100 0300 \
      0403 0303 1800 2800 0200 2A00 0100 0300
      """),
    .command(
      HCI.LEConnectionUpdate {
        $0.connectionHandle = link
        $0.parameters = parameters
      }, "01 1320 0E 4000 1800 2800 0200 2A00 0100 0300"),
    .command(
      HCI.LERemoteConnectionParameterRequestReply {
        $0.connectionHandle = link
        $0.parameters = parameters
      }, "01 2020 0E 4000 1800 2800 0200 2A00 0100 0300"),
    .response(HCI.LERemoteConnectionParameterRequestReply.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LERemoteConnectionParameterRequestNegativeReply { $0.connectionHandle = link }, "01 2120 03 4000 3B"),
    .response(HCI.LERemoteConnectionParameterRequestNegativeReply.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LESetHostChannelClassification { $0.channelMap = [0xFF, 0xFF, 0x00, 0xFF, 0x1F] },
      "01 1420 05 FFFF00FF1F"),
    .response(HCI.LESetHostChannelClassification.self, "00"),
    .command(HCI.LEReadChannelMap { $0.connectionHandle = link }, "01 1520 02 4000"),
    .response(HCI.LEReadChannelMap.self, "00 4000 FFFF00FF1F") {
      $0.connectionHandle = link
      $0.channelMap = [0xFF, 0xFF, 0x00, 0xFF, 0x1F]
    },
    .command(HCI.LEReadRemoteFeatures { $0.connectionHandle = link }, "01 1620 02 4000"),
    .command(HCI.LERequestPeerSCA { $0.connectionHandle = link }, "01 6D20 02 4000"),
    .command(HCI.LESetDefaultSubrate { $0.parameters = subrating }, "01 7D20 0A 0100 0500 0200 0300 0004"),
    .response(HCI.LESetDefaultSubrate.self, "00"),
    .command(
      HCI.LESubrateRequest {
        $0.connectionHandle = link
        $0.parameters = subrating
      }, "01 7E20 0C 4000 0100 0500 0200 0300 0004"),
    .command(
      HCI.LEReadAllRemoteFeatures {
        $0.connectionHandle = link
        $0.pagesRequested = 10
      }, "01 8820 03 4000 0A"),
    .command(
      HCI.LEConnectionRateRequest {
        $0.connectionHandle = link
        $0.parameters = rate
      }, "01 A120 14 4000 0A00 1400 0100 0500 0200 0300 0004 0200 0400"),
    .command(
      HCI.LESetDefaultRateParameters { $0.parameters = rate },
      "01 A220 12 0A00 1400 0100 0500 0200 0300 0004 0200 0400"),
    .response(HCI.LESetDefaultRateParameters.self, "00"),
    .command(HCI.LEReadMinimumSupportedConnectionInterval(), "01 A320 00"),
    .response(HCI.LEReadMinimumSupportedConnectionInterval.self, "00 03 02 0600 1400 0200 3C00 007D 0A00") {
      $0.minimumSupportedConnectionInterval = 3
      $0.groups = [
        HCI.ConnectionIntervalGroup {
          $0.groupMin = 6
          $0.groupMax = 20
          $0.groupStride = 2
        },
        HCI.ConnectionIntervalGroup {
          $0.groupMin = 60
          $0.groupMax = 32_000
          $0.groupStride = 10
        },
      ]
    },
  ]

  static let dataLength: [Golden] = [
    .command(
      HCI.LESetDataLength {
        $0.connectionHandle = link
        $0.txOctets = 251
        $0.txTime = 2120
      }, "01 2220 06 4000 FB00 4808"),
    .response(HCI.LESetDataLength.self, "00 4000") { $0.connectionHandle = link },
    .command(HCI.LEReadSuggestedDefaultDataLength(), "01 2320 00"),
    .response(HCI.LEReadSuggestedDefaultDataLength.self, "00 1B00 4801"),
    .command(
      HCI.LEWriteSuggestedDefaultDataLength {
        $0.suggestedMaxTXOctets = 251
        $0.suggestedMaxTXTime = 2120
      }, "01 2420 04 FB00 4808"),
    .response(HCI.LEWriteSuggestedDefaultDataLength.self, "00"),
    .command(HCI.LEReadMaximumDataLength(), "01 2F20 00"),
    .response(HCI.LEReadMaximumDataLength.self, "00 FB00 4808 FA00 9042") {
      $0.supportedMaxTXOctets = 251
      $0.supportedMaxTXTime = 2120
      $0.supportedMaxRXOctets = 250
      $0.supportedMaxRXTime = 17040
    },
    .command(HCI.LEReadPHY { $0.connectionHandle = link }, "01 3020 02 4000"),
    .response(HCI.LEReadPHY.self, "00 4000 02 03") {
      $0.connectionHandle = link
      $0.txPHY = .le2M
      $0.rxPHY = .leCoded
    },
    .command(
      HCI.LESetDefaultPHY {
        $0.allPHYs = [.receiver]
        $0.txPHYs = [.le1M, .le2M]
        $0.rxPHYs = [.leCoded]
      }, "01 3120 03 02 03 04"),
    .response(HCI.LESetDefaultPHY.self, "00"),
    .command(
      HCI.LESetPHY {
        $0.connectionHandle = link
        $0.allPHYs = [.transmitter]
        $0.txPHYs = [.le2M]
        $0.rxPHYs = [.le1M, .le2M]
        $0.phyOptions = 1
      }, "01 3220 07 4000 01 02 03 0100"),
  ]

  static let lists: [Golden] = [
    .command(HCI.LEReadFilterAcceptListSize(), "01 0F20 00"),
    .response(HCI.LEReadFilterAcceptListSize.self, "00 19") { $0.filterAcceptListSize = 25 },
    .command(HCI.LEClearFilterAcceptList(), "01 1020 00"),
    .response(HCI.LEClearFilterAcceptList.self, "00"),
    .command(HCI.LEAddDeviceToFilterAcceptList { $0.address = peer }, "01 1120 07 01 5544332211C0"),
    .response(HCI.LEAddDeviceToFilterAcceptList.self, "00"),
    .command(HCI.LERemoveDeviceFromFilterAcceptList { $0.address = peer }, "01 1220 07 01 5544332211C0"),
    .response(HCI.LERemoveDeviceFromFilterAcceptList.self, "00"),
    .command(
      HCI.LEAddDeviceToResolvingList {
        $0.peerIdentityAddress = peer
        $0.peerIRK = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100
        $0.localIRK = 0x1F1E_1D1C_1B1A_1918_1716_1514_1312_1110
      },
      """
      01 2720 27 01 5544332211C0 000102030405060708090A0B0C0D0E0F \
      101112131415161718191A1B1C1D1E1F
      """),
    .response(HCI.LEAddDeviceToResolvingList.self, "00"),
    .command(HCI.LERemoveDeviceFromResolvingList { $0.peerIdentityAddress = peer }, "01 2820 07 01 5544332211C0"),
    .response(HCI.LERemoveDeviceFromResolvingList.self, "00"),
    .command(HCI.LEClearResolvingList(), "01 2920 00"),
    .response(HCI.LEClearResolvingList.self, "00"),
    .command(HCI.LEReadResolvingListSize(), "01 2A20 00"),
    .response(HCI.LEReadResolvingListSize.self, "00 08") { $0.resolvingListSize = 8 },
    .command(HCI.LEReadPeerResolvableAddress { $0.peerIdentityAddress = peer }, "01 2B20 07 01 5544332211C0"),
    .response(HCI.LEReadPeerResolvableAddress.self, "00 0F0E0D0C0B4A") { $0.peerResolvableAddress = privateAddress },
    .command(HCI.LEReadLocalResolvableAddress { $0.peerIdentityAddress = peer }, "01 2C20 07 01 5544332211C0"),
    .response(HCI.LEReadLocalResolvableAddress.self, "00 0F0E0D0C0B4A") {
      $0.localResolvableAddress = privateAddress
    },
    .command(HCI.LESetAddressResolutionEnable { $0.addressResolutionEnable = true }, "01 2D20 01 01"),
    .response(HCI.LESetAddressResolutionEnable.self, "00"),
    .command(HCI.LESetResolvablePrivateAddressTimeout(), "01 2E20 02 8403"),
    .response(HCI.LESetResolvablePrivateAddressTimeout.self, "00"),
    .command(
      HCI.LESetPrivacyMode {
        $0.peerIdentityAddress = peer
        $0.privacyMode = .device
      }, "01 4E20 08 01 5544332211C0 01"),
    .response(HCI.LESetPrivacyMode.self, "00"),
  ]

  static let security: [Golden] = [
    .command(
      HCI.LEEncrypt {
        $0.key = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF
        $0.plaintextData = 0x0213_2435_4657_6879_ACBD_CEDF_E0F1_0213
      },
      // The specification prints the numbers most significant octet first; they are sent in the other order.
      "01 1720 20 BF01FB9D4EF3BC36D874F5394138684C 1302F1E0DFCEBDAC7968574635241302"),
    .response(HCI.LEEncrypt.self, "00 100F0E0D0C0B0A090807060504030201") {
      $0.encryptedData = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10
    },
    .command(HCI.LERand(), "01 1820 00"),
    .response(HCI.LERand.self, "00 EFCDAB8967452301") { $0.randomNumber = 0x0123_4567_89AB_CDEF },
    .command(
      HCI.LEEnableEncryption {
        $0.connectionHandle = link
        $0.randomNumber = 0x0123_4567_89AB_CDEF
        $0.encryptedDiversifier = 0x2474
        $0.longTermKey = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF
      }, "01 1920 1C 4000 EFCDAB8967452301 7424 BF01FB9D4EF3BC36D874F5394138684C"),
    .command(
      HCI.LELongTermKeyRequestReply {
        $0.connectionHandle = link
        $0.longTermKey = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF
      }, "01 1A20 12 4000 BF01FB9D4EF3BC36D874F5394138684C"),
    .response(HCI.LELongTermKeyRequestReply.self, "00 4000") { $0.connectionHandle = link },
    .command(HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = link }, "01 1B20 02 4000"),
    .response(HCI.LELongTermKeyRequestNegativeReply.self, "00 4000") { $0.connectionHandle = link },
    .command(HCI.LEReadLocalP256PublicKey(), "01 2520 00"),
    .command(
      HCI.LEGenerateDHKey {
        $0.keyXCoordinate = coordinate(0x00)
        $0.keyYCoordinate = coordinate(0x80)
      }, "01 2620 40 \(coordinate(0x00).hexadecimal) \(coordinate(0x80).hexadecimal)"),
    .command(
      HCI.LEGenerateDHKeyV2 {
        $0.keyXCoordinate = coordinate(0x00)
        $0.keyYCoordinate = coordinate(0x80)
        $0.keyType = 1
      }, "01 5E20 41 \(coordinate(0x00).hexadecimal) \(coordinate(0x80).hexadecimal) 01"),
  ]

  static let power: [Golden] = [
    .command(
      HCI.LEEnhancedReadTransmitPowerLevel {
        $0.connectionHandle = link
        $0.phy = 2
      }, "01 7620 03 4000 02"),
    .response(HCI.LEEnhancedReadTransmitPowerLevel.self, "00 4000 02 FC 08") {
      $0.connectionHandle = link
      $0.phy = 2
      $0.currentTXPowerLevel = -4
      $0.maxTXPowerLevel = 8
    },
    .command(
      HCI.LEReadRemoteTransmitPowerLevel {
        $0.connectionHandle = link
        $0.phy = 3
      }, "01 7720 03 4000 03"),
    .command(
      HCI.LESetPathLossReportingParameters {
        $0.connectionHandle = link
        $0.highThreshold = 80
        $0.highHysteresis = 5
        $0.lowThreshold = 40
        $0.lowHysteresis = 6
        $0.minTimeSpent = 0x0102
      }, "01 7820 08 4000 50 05 28 06 0201"),
    .response(HCI.LESetPathLossReportingParameters.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LESetPathLossReportingEnable {
        $0.connectionHandle = link
        $0.enable = true
      }, "01 7920 03 4000 01"),
    .response(HCI.LESetPathLossReportingEnable.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LESetTransmitPowerReportingEnable {
        $0.connectionHandle = link
        $0.remoteEnable = true
      }, "01 7A20 04 4000 00 01"),
    .response(HCI.LESetTransmitPowerReportingEnable.self, "00 4000") { $0.connectionHandle = link },
  ]

  /// Vol 4, Part E, 7.8.123 and 7.8.154: at each limit, and past it. The third value is the latency, the fourth the
  /// continuation number, the last the timeout.
  @Test(
    arguments: [
      (1, 1, 0, 0, 10, true), (0, 1, 0, 0, 10, false), (2, 1, 0, 0, 100, false), (1, 500, 0, 499, 3200, true),
      (1, 501, 0, 0, 3200, false), (1, 1, 499, 0, 3200, true), (1, 1, 500, 0, 3200, false), (1, 100, 4, 0, 3200, true),
      (1, 100, 5, 0, 3200, false), (1, 4, 0, 3, 100, true), (1, 4, 0, 4, 100, false), (1, 1, 0, 0, 9, false),
      (1, 1, 0, 0, 3201, false), (1, 65_535, 65_535, 65_535, 65_535, false),
    ] as [(UInt16, UInt16, UInt16, UInt16, UInt16, Bool)])
  func subratingIsWithinItsLimits(
    least: UInt16, greatest: UInt16, latency: UInt16, continuation: UInt16, timeout: UInt16, isValid: Bool
  ) {
    let parameters = HCI.SubrateParameters {
      ($0.subrateMin, $0.subrateMax, $0.maxLatency) = (least, greatest, latency)
      ($0.continuationNumber, $0.supervisionTimeout) = (continuation, timeout)
    }
    #expect(parameters.isValid == isValid)
    let rate = HCI.ConnectionRateParameters {
      ($0.connectionIntervalMin, $0.connectionIntervalMax) = (3, 3)
      ($0.subrateMin, $0.subrateMax, $0.maxLatency) = (least, greatest, latency)
      ($0.continuationNumber, $0.supervisionTimeout) = (continuation, timeout)
    }
    #expect(rate.isValid == isValid && rate.subrating == parameters)
  }

  /// Intervals of 375 us to 4 s, and a timeout that is longer than twice the time between events.
  @Test(
    arguments: [
      (3, 32_000, 3200, true), (2, 3, 3200, false), (3, 32_001, 3200, false), (4, 3, 3200, false),
      (800, 800, 21, true), (800, 800, 20, false), (65_535, 65_535, 65_535, false),
    ] as [(UInt16, UInt16, UInt16, Bool)])
  func aConnectionRateIsWithinItsLimits(least: UInt16, greatest: UInt16, timeout: UInt16, isValid: Bool) {
    let rate = HCI.ConnectionRateParameters {
      ($0.connectionIntervalMin, $0.connectionIntervalMax, $0.supervisionTimeout) = (least, greatest, timeout)
    }
    #expect(rate.isValid == isValid)
  }
}
