import BLEHCI
import BLEWire
import Testing

/// Periodic advertising, power, direction and isochronous streams.
extension LEMetaEventTests {
  @Sendable private static func synchronized(_ event: inout HCI.LEPeriodicAdvertisingSyncEstablished) {
    event.syncHandle = 0x0041
    event.advertisingSID = 5
    event.advertiserAddress = peer
    event.advertiserPHY = .le2M
    event.periodicAdvertisingInterval = 0x0102
    event.advertiserClockAccuracy = HCI.ClockAccuracy(rawValue: 4)
  }

  @Sendable private static func transferred(_ event: inout HCI.LEPeriodicAdvertisingSyncTransferReceived) {
    event.connectionHandle = link
    event.serviceData = 0x0304
    event.syncHandle = 0x0041
    event.advertisingSID = 5
    event.advertiserAddress = peer
    event.advertiserPHY = .le2M
    event.periodicAdvertisingInterval = 0x0102
    event.advertiserClockAccuracy = HCI.ClockAccuracy(rawValue: 4)
  }

  /// 02 06 03 04
  private static let subevents = HCI.SubeventTiming {
    $0.numSubevents = 2
    $0.subeventInterval = 6
    $0.responseSlotDelay = 3
    $0.responseSlotSpacing = 4
  }

  static let periodic: [Golden] = [
    .meta(
      HCI.LEPeriodicAdvertisingSyncEstablished(synchronized), "04 3E 10 0E 00 4100 05 01 5544332211C0 02 0201 04"),
    .meta(
      HCI.LEPeriodicAdvertisingSyncEstablishedV2 {
        $0.sync = HCI.LEPeriodicAdvertisingSyncEstablished(synchronized)
        $0.subevents = subevents
      }, "04 3E 14 24 00 4100 05 01 5544332211C0 02 0201 04 02 06 03 04"),
    .meta(
      HCI.LEPeriodicAdvertisingReport {
        $0.syncHandle = 0x0041
        $0.txPower = -4
        $0.rssi = -60
        $0.dataStatus = 1
        $0.data = [0xAA, 0xBB]
      }, "04 3E 0A 0F 4100 FC C4 FF 01 02 AABB"),
    .meta(
      HCI.LEPeriodicAdvertisingReportV2 {
        $0.syncHandle = 0x0041
        $0.txPower = -4
        $0.rssi = -60
        $0.cteType = 0
        $0.periodicEventCounter = 0x0102
        $0.subevent = 3
        $0.dataStatus = 2
        $0.data = [0xAA]
      }, "04 3E 0C 25 4100 FC C4 00 0201 03 02 01 AA"),
    .meta(HCI.LEPeriodicAdvertisingSyncLost { $0.syncHandle = 0x0041 }, "04 3E 03 10 4100"),
    .meta(
      HCI.LEPeriodicAdvertisingSyncTransferReceived(transferred),
      "04 3E 14 18 00 4000 0403 4100 05 01 5544332211C0 02 0201 04"),
    .meta(
      HCI.LEPeriodicAdvertisingSyncTransferReceivedV2 {
        $0.transfer = HCI.LEPeriodicAdvertisingSyncTransferReceived(transferred)
        $0.subevents = subevents
      }, "04 3E 18 26 00 4000 0403 4100 05 01 5544332211C0 02 0201 04 02 06 03 04"),
    .meta(
      HCI.LEPeriodicAdvertisingSubeventDataRequest {
        $0.advertisingHandle = 1
        $0.subeventStart = 2
        $0.subeventDataCount = 3
      }, "04 3E 04 27 01 02 03"),
    .meta(
      HCI.LEPeriodicAdvertisingResponseReport {
        $0.advertisingHandle = 1
        $0.subevent = 2
        $0.txStatus = 0
        $0.responses = [
          HCI.PeriodicAdvertisingResponse {
            $0.rssi = -60
            $0.responseSlot = 3
            $0.data = [0xAA]
          }
        ]
      }, "04 3E 0C 28 01 02 00 01 7F C4 FF 03 00 01 AA"),
  ]

  static let other: [Golden] = [
    .meta(
      HCI.LEPathLossThreshold {
        $0.connectionHandle = link
        $0.currentPathLoss = 80
        $0.zoneEntered = 2
      }, "04 3E 05 20 4000 50 02"),
    .meta(
      HCI.LETransmitPowerReporting {
        $0.connectionHandle = link
        $0.reason = 1
        $0.phy = 3
        $0.txPowerLevel = -8
        $0.txPowerLevelFlag = 1
        $0.delta = -2
      }, "04 3E 09 21 00 4000 01 03 F8 01 FE"),
    .meta(
      HCI.LEConnectionlessIQReport {
        $0.syncHandle = 0x0041
        $0.channelIndex = 37
        $0.rssi = -600
        $0.rssiAntennaID = 1
        $0.cteType = 2
        $0.slotDurations = 1
        $0.periodicEventCounter = 0x0102
        $0.samples = [
          HCI.IQSample {
            $0.iSample = -1
            $0.qSample = 2
          }
        ]
      }, "04 3E 0F 15 4100 25 A8FD 01 02 01 00 0201 01 FF 02"),
    .meta(
      HCI.LEConnectionIQReport {
        $0.connectionHandle = link
        $0.rxPHY = .le2M
        $0.dataChannelIndex = 36
        $0.rssi = -600
        $0.rssiAntennaID = 1
        $0.slotDurations = 2
        $0.packetStatus = 0xFF
        $0.connectionEventCounter = 0x0102
      }, "04 3E 0E 16 4000 02 24 A8FD 01 00 02 FF 0201 00"),
    .meta(
      HCI.LECTERequestFailed {
        $0.status = .unsupportedRemoteFeature
        $0.connectionHandle = link
      }, "04 3E 04 17 1A 4000"),
  ]

  private static let streams = [0x0060, 0x0061].map { handle in
    HCI.LinkReference { $0.connectionHandle = ConnectionHandle(rawValue: handle) }
  }

  static let isochronous: [Golden] = [
    .meta(
      HCI.LECISEstablished {
        $0.connectionHandle = ConnectionHandle(rawValue: 0x0060)
        $0.cigSyncDelay = 0x010203
        $0.cisSyncDelay = 0x040506
        $0.transportLatencyCToP = 0x070809
        $0.transportLatencyPToC = 0x0A0B0C
        $0.phyCToP = .le2M
        $0.phyPToC = .leCoded
        $0.nse = 3
        $0.bnCToP = 1
        $0.bnPToC = 2
        $0.ftCToP = 4
        $0.ftPToC = 5
        $0.maxPDUCToP = 120
        $0.maxPDUPToC = 60
        $0.isoInterval = 8
      }, "04 3E 1D 19 00 6000 030201 060504 090807 0C0B0A 02 03 03 01 02 04 05 7800 3C00 0800"),
    .meta(
      HCI.LECISRequest {
        $0.aclConnectionHandle = link
        $0.cisConnectionHandle = ConnectionHandle(rawValue: 0x0060)
        $0.cigID = 1
        $0.cisID = 2
      }, "04 3E 07 1A 4000 6000 01 02"),
    .meta(
      HCI.LECreateBIGComplete {
        $0.bigHandle = 1
        $0.bigSyncDelay = 0x010203
        $0.transportLatencyBIG = 0x040506
        $0.phy = .le2M
        $0.nse = 3
        $0.bn = 1
        $0.pto = 2
        $0.irc = 4
        $0.maxPDU = 120
        $0.isoInterval = 8
        $0.streams = streams
      }, "04 3E 17 1B 00 01 030201 060504 02 03 01 02 04 7800 0800 02 6000 6100"),
    .meta(HCI.LETerminateBIGComplete { $0.bigHandle = 1 }, "04 3E 03 1C 01 13"),
    .meta(
      HCI.LEBIGSyncEstablished {
        $0.bigHandle = 1
        $0.transportLatencyBIG = 0x040506
        $0.nse = 3
        $0.bn = 1
        $0.pto = 2
        $0.irc = 4
        $0.maxPDU = 120
        $0.isoInterval = 8
        $0.streams = streams
      }, "04 3E 13 1D 00 01 060504 03 01 02 04 7800 0800 02 6000 6100"),
    .meta(
      HCI.LEBIGSyncLost {
        $0.bigHandle = 1
        $0.reason = .terminatedMICFailure
      }, "04 3E 03 1E 01 3D"),
    .meta(
      HCI.LEBIGInfoAdvertisingReport {
        $0.syncHandle = 0x0041
        $0.numBIS = 2
        $0.nse = 3
        $0.isoInterval = 8
        $0.bn = 1
        $0.pto = 4
        $0.irc = 5
        $0.maxPDU = 120
        $0.sduInterval = 10000
        $0.maxSDU = 121
        $0.phy = .le2M
        $0.framing = 1
        $0.encryption = true
      }, "04 3E 14 22 4100 02 03 0800 01 04 05 7800 102700 7900 02 01 01"),
  ]
}
