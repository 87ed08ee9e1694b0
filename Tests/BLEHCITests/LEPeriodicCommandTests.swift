import BLEHCI
import BLEWire
import Testing

/// Periodic advertising, direction finding and tests: octets from the definitions of Vol 4, Part E, 7.8.
@Suite struct LEPeriodicCommandTests {
  @Test(arguments: golden) func commandHasTheOctetsOfItsDefinition(of golden: Golden) throws { try golden.check() }

  static let golden: [Golden] = advertiser + synchronization + direction + tests

  @Sendable private static func train(_ parameters: inout HCI.LESetPeriodicAdvertisingParameters) {
    parameters.advertisingHandle = 1
    parameters.periodicAdvertisingIntervalMin = 0x0031
    parameters.periodicAdvertisingIntervalMax = 0x0132
    parameters.periodicAdvertisingProperties = 0x0040
  }

  static let advertiser: [Golden] = [
    .command(HCI.LESetPeriodicAdvertisingParameters(train), "01 3E20 07 01 3100 3201 4000"),
    .response(HCI.LESetPeriodicAdvertisingParameters.self, "00"),
    .command(
      HCI.LESetPeriodicAdvertisingParametersV2 {
        $0.parameters = HCI.LESetPeriodicAdvertisingParameters(train)
        $0.numSubevents = 2
        $0.subeventInterval = 6
        $0.responseSlotDelay = 3
        $0.responseSlotSpacing = 4
        $0.numResponseSlots = 5
      }, "01 8620 0C 01 3100 3201 4000 02 06 03 04 05"),
    .response(HCI.LESetPeriodicAdvertisingParametersV2.self, "00 01") { $0.advertisingHandle = 1 },
    .command(
      HCI.LESetPeriodicAdvertisingData {
        $0.advertisingHandle = 1
        $0.operation = .first
        $0.advertisingData = [0x02, 0x01, 0x06]
      }, "01 3F20 06 01 01 03 020106"),
    .response(HCI.LESetPeriodicAdvertisingData.self, "00"),
    .command(
      HCI.LESetPeriodicAdvertisingEnable {
        $0.enable = 3
        $0.advertisingHandle = 1
      }, "01 4020 02 03 01"),
    .response(HCI.LESetPeriodicAdvertisingEnable.self, "00"),
    .command(
      HCI.LEPeriodicAdvertisingSetInfoTransfer {
        $0.connectionHandle = link
        $0.serviceData = 0x0102
        $0.advertisingHandle = 3
      }, "01 5B20 05 4000 0201 03"),
    .response(HCI.LEPeriodicAdvertisingSetInfoTransfer.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LESetPeriodicAdvertisingSubeventData {
        $0.advertisingHandle = 1
        $0.subevents = [
          HCI.SubeventData {
            $0.subevent = 2
            $0.responseSlotStart = 3
            $0.responseSlotCount = 4
            $0.data = [0xAA, 0xBB]
          }, HCI.SubeventData { $0.subevent = 5 },
        ]
      }, "01 8220 0C 01 02 02 03 04 02 AABB 05 00 00 00"),
    .response(HCI.LESetPeriodicAdvertisingSubeventData.self, "00 01") { $0.advertisingHandle = 1 },
    .command(
      HCI.LESetPeriodicAdvertisingResponseData {
        $0.syncHandle = 0x0041
        $0.requestEvent = 0x0102
        $0.requestSubevent = 3
        $0.responseSubevent = 4
        $0.responseSlot = 5
        $0.responseData = [0xAA]
      }, "01 8320 09 4100 0201 03 04 05 01 AA"),
    .response(HCI.LESetPeriodicAdvertisingResponseData.self, "00 4100") { $0.syncHandle = 0x0041 },
  ]

  static let synchronization: [Golden] = [
    .command(
      HCI.LEPeriodicAdvertisingCreateSync {
        $0.options = 1
        $0.advertisingSID = 2
        $0.advertiserAddress = peer
        $0.skip = 0x0020
        $0.syncTimeout = 0x0400
        $0.syncCTEType = 3
      }, "01 4420 0E 01 02 01 5544332211C0 2000 0004 03"),
    .command(HCI.LEPeriodicAdvertisingCreateSyncCancel(), "01 4520 00"),
    .response(HCI.LEPeriodicAdvertisingCreateSyncCancel.self, "00"),
    .command(HCI.LEPeriodicAdvertisingTerminateSync { $0.syncHandle = 0x0041 }, "01 4620 02 4100"),
    .response(HCI.LEPeriodicAdvertisingTerminateSync.self, "00"),
    .command(
      HCI.LEAddDeviceToPeriodicAdvertiserList {
        $0.advertiserAddress = peer
        $0.advertisingSID = 5
      }, "01 4720 08 01 5544332211C0 05"),
    .response(HCI.LEAddDeviceToPeriodicAdvertiserList.self, "00"),
    .command(
      HCI.LERemoveDeviceFromPeriodicAdvertiserList {
        $0.advertiserAddress = peer
        $0.advertisingSID = 5
      }, "01 4820 08 01 5544332211C0 05"),
    .response(HCI.LERemoveDeviceFromPeriodicAdvertiserList.self, "00"),
    .command(HCI.LEClearPeriodicAdvertiserList(), "01 4920 00"),
    .response(HCI.LEClearPeriodicAdvertiserList.self, "00"),
    .command(HCI.LEReadPeriodicAdvertiserListSize(), "01 4A20 00"),
    .response(HCI.LEReadPeriodicAdvertiserListSize.self, "00 08") { $0.periodicAdvertiserListSize = 8 },
    .command(
      HCI.LESetPeriodicAdvertisingReceiveEnable {
        $0.syncHandle = 0x0041
        $0.enable = 1
      }, "01 5920 03 4100 01"),
    .response(HCI.LESetPeriodicAdvertisingReceiveEnable.self, "00"),
    .command(
      HCI.LEPeriodicAdvertisingSyncTransfer {
        $0.connectionHandle = link
        $0.serviceData = 0x0102
        $0.syncHandle = 0x0041
      }, "01 5A20 06 4000 0201 4100"),
    .response(HCI.LEPeriodicAdvertisingSyncTransfer.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LESetPeriodicAdvertisingSyncTransferParameters {
        $0.connectionHandle = link
        $0.mode = 2
        $0.skip = 0x0010
        $0.syncTimeout = 0x0100
        $0.cteType = 4
      }, "01 5C20 08 4000 02 1000 0001 04"),
    .response(HCI.LESetPeriodicAdvertisingSyncTransferParameters.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LESetDefaultPeriodicAdvertisingSyncTransferParameters {
        $0.mode = 1
        $0.skip = 0x0010
        $0.syncTimeout = 0x0100
      }, "01 5D20 06 01 1000 0001 00"),
    .response(HCI.LESetDefaultPeriodicAdvertisingSyncTransferParameters.self, "00"),
    .command(
      HCI.LESetPeriodicSyncSubevent {
        $0.syncHandle = 0x0041
        $0.periodicAdvertisingProperties = 0x0040
        $0.subevents = [1, 3]
      }, "01 8420 07 4100 4000 02 0103"),
    .response(HCI.LESetPeriodicSyncSubevent.self, "00 4100") { $0.syncHandle = 0x0041 },
  ]

  static let direction: [Golden] = [
    .command(
      HCI.LESetConnectionlessCTETransmitParameters {
        $0.advertisingHandle = 1
        $0.cteLength = 20
        $0.cteType = 2
        $0.cteCount = 3
        $0.antennaIDs = [0, 1]
      }, "01 5120 07 01 14 02 03 02 0001"),
    .response(HCI.LESetConnectionlessCTETransmitParameters.self, "00"),
    .command(
      HCI.LESetConnectionlessCTETransmitEnable {
        $0.advertisingHandle = 1
        $0.cteEnable = true
      }, "01 5220 02 01 01"),
    .response(HCI.LESetConnectionlessCTETransmitEnable.self, "00"),
    .command(
      HCI.LESetConnectionlessIQSamplingEnable {
        $0.syncHandle = 0x0041
        $0.samplingEnable = true
        $0.slotDurations = 2
        $0.maxSampledCTEs = 16
        $0.antennaIDs = [5, 6]
      }, "01 5320 08 4100 01 02 10 02 0506"),
    .response(HCI.LESetConnectionlessIQSamplingEnable.self, "00 4100") { $0.syncHandle = 0x0041 },
    .command(
      HCI.LESetConnectionCTEReceiveParameters {
        $0.connectionHandle = link
        $0.samplingEnable = true
        $0.slotDurations = 1
        $0.antennaIDs = [5, 6]
      }, "01 5420 07 4000 01 01 02 0506"),
    .response(HCI.LESetConnectionCTEReceiveParameters.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LESetConnectionCTETransmitParameters {
        $0.connectionHandle = link
        $0.cteTypes = 7
        $0.antennaIDs = [5]
      }, "01 5520 05 4000 07 01 05"),
    .response(HCI.LESetConnectionCTETransmitParameters.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LEConnectionCTERequestEnable {
        $0.connectionHandle = link
        $0.enable = true
        $0.cteRequestInterval = 0x0102
        $0.requestedCTELength = 3
        $0.requestedCTEType = 2
      }, "01 5620 07 4000 01 0201 03 02"),
    .response(HCI.LEConnectionCTERequestEnable.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.LEConnectionCTEResponseEnable {
        $0.connectionHandle = link
        $0.enable = true
      }, "01 5720 03 4000 01"),
    .response(HCI.LEConnectionCTEResponseEnable.self, "00 4000") { $0.connectionHandle = link },
    .command(HCI.LEReadAntennaInformation(), "01 5820 00"),
    .response(HCI.LEReadAntennaInformation.self, "00 07 04 4B 14") {
      $0.supportedSwitchingSamplingRates = 7
      $0.numAntennae = 4
      $0.maxSwitchingPatternLength = 75
      $0.maxCTELength = 20
    },
  ]

  /// 27 25 03
  private static let transmitter = HCI.LETransmitterTest {
    $0.txChannel = 39
    $0.testDataLength = 37
    $0.packetPayload = 3
  }
  private static let transmitterV2 = HCI.LETransmitterTestV2 {
    $0.test = transmitter
    $0.phy = 4
  }
  private static let transmitterV3 = HCI.LETransmitterTestV3 {
    $0.test = transmitterV2
    $0.cteLength = 20
    $0.cteType = 1
    $0.antennaIDs = [1, 2]
  }

  static let tests: [Golden] = [
    .command(HCI.LEReceiverTest { $0.rxChannel = 39 }, "01 1D20 01 27"),
    .response(HCI.LEReceiverTest.self, "00"),
    .command(
      HCI.LEReceiverTestV2 {
        $0.rxChannel = 39
        $0.phy = .le2M
        $0.modulationIndex = 1
      }, "01 3320 03 27 02 01"),
    .response(HCI.LEReceiverTestV2.self, "00"),
    .command(
      HCI.LEReceiverTestV3 {
        $0.rxChannel = 39
        $0.phy = .leCoded
        $0.modulationIndex = 1
        $0.expectedCTELength = 20
        $0.expectedCTEType = 2
        $0.slotDurations = 1
        $0.antennaIDs = [1, 2]
      }, "01 4F20 09 27 03 01 14 02 01 02 0102"),
    .response(HCI.LEReceiverTestV3.self, "00"),
    .command(transmitter, "01 1E20 03 27 25 03"),
    .response(HCI.LETransmitterTest.self, "00"),
    .command(transmitterV2, "01 3420 04 27 25 03 04"),
    .response(HCI.LETransmitterTestV2.self, "00"),
    .command(transmitterV3, "01 5020 09 27 25 03 04 14 01 02 0102"),
    .response(HCI.LETransmitterTestV3.self, "00"),
    .command(
      HCI.LETransmitterTestV4 {
        $0.test = transmitterV3
        $0.txPowerLevel = 127
      }, "01 7B20 0A 27 25 03 04 14 01 02 0102 7F"),
    .response(HCI.LETransmitterTestV4.self, "00"),
    .command(HCI.LETestEnd(), "01 1F20 00"),
    .response(HCI.LETestEnd.self, "00 2C01") { $0.numPackets = 300 },
  ]
}
