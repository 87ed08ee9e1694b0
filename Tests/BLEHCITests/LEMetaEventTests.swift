import BLEHCI
import BLEWire
import Testing

/// LE meta events: octets from the definitions of Vol 4, Part E, 7.7.65.
@Suite struct LEMetaEventTests {
  @Test(arguments: golden) func octets(of golden: Golden) throws { try golden.check() }

  static let golden: [Golden] = connection + security + advertising + periodic + other + isochronous

  /// One of each, for tests that walk all.
  static let samples: [any LEEventParameters] = [
    HCI.LEConnectionComplete(),
    HCI.LEEnhancedConnectionComplete(),
    HCI.LEEnhancedConnectionCompleteV2(),
    HCI.LEConnectionUpdateComplete(),
    HCI.LEReadRemoteFeaturesComplete(),
    HCI.LERemoteConnectionParameterRequest(),
    HCI.LEDataLengthChange(),
    HCI.LEPHYUpdateComplete(),
    HCI.LEChannelSelectionAlgorithm(),
    HCI.LERequestPeerSCAComplete(),
    HCI.LESubrateChange(),
    HCI.LELongTermKeyRequest(),
    HCI.LEReadLocalP256PublicKeyComplete(),
    HCI.LEGenerateDHKeyComplete(),
    HCI.LEAdvertisingReport(),
    HCI.LEDirectedAdvertisingReport(),
    HCI.LEExtendedAdvertisingReport(),
    HCI.LEScanTimeout(),
    HCI.LEAdvertisingSetTerminated(),
    HCI.LEScanRequestReceived(),
    HCI.LEPeriodicAdvertisingSyncEstablished(),
    HCI.LEPeriodicAdvertisingSyncEstablishedV2(),
    HCI.LEPeriodicAdvertisingReport(),
    HCI.LEPeriodicAdvertisingReportV2(),
    HCI.LEPeriodicAdvertisingSyncLost(),
    HCI.LEPeriodicAdvertisingSyncTransferReceived(),
    HCI.LEPeriodicAdvertisingSyncTransferReceivedV2(),
    HCI.LEPeriodicAdvertisingSubeventDataRequest(),
    HCI.LEPeriodicAdvertisingResponseReport(),
    HCI.LEPathLossThreshold(),
    HCI.LETransmitPowerReporting(),
    HCI.LEConnectionlessIQReport(),
    HCI.LEConnectionIQReport(),
    HCI.LECTERequestFailed(),
    HCI.LECISEstablished(),
    HCI.LECISRequest(),
    HCI.LECreateBIGComplete(),
    HCI.LETerminateBIGComplete(),
    HCI.LEBIGSyncEstablished(),
    HCI.LEBIGSyncLost(),
    HCI.LEBIGInfoAdvertisingReport(),
  ]

  @Sendable private static func connected(_ event: inout HCI.LEEnhancedConnectionComplete) {
    event.connectionHandle = link
    event.role = .peripheral
    event.peerAddress = peer
    event.localResolvablePrivateAddress = privateAddress
    event.connectionInterval = 24
    event.peripheralLatency = 1
    event.supervisionTimeout = 0x0102
    event.centralClockAccuracy = HCI.ClockAccuracy(rawValue: 5)
  }

  static let connection: [Golden] = [
    .meta(
      HCI.LEConnectionComplete {
        $0.connectionHandle = link
        $0.role = .peripheral
        $0.peerAddress = peer
        $0.connectionInterval = 24
        $0.peripheralLatency = 1
        $0.supervisionTimeout = 0x0102
        $0.centralClockAccuracy = HCI.ClockAccuracy(rawValue: 5)
      }, "04 3E 13 01 00 4000 01 01 5544332211C0 1800 0100 0201 05"),
    .meta(
      HCI.LEEnhancedConnectionComplete(connected),
      "04 3E 1F 0A 00 4000 01 01 5544332211C0 0F0E0D0C0B4A 000000000000 1800 0100 0201 05"),
    .meta(
      HCI.LEEnhancedConnectionCompleteV2 {
        $0.connection = HCI.LEEnhancedConnectionComplete(connected)
        $0.advertisingHandle = 3
        $0.syncHandle = 0x0041
      }, "04 3E 22 29 00 4000 01 01 5544332211C0 0F0E0D0C0B4A 000000000000 1800 0100 0201 05 03 4100"),
    .meta(
      HCI.LEConnectionUpdateComplete {
        $0.connectionHandle = link
        $0.connectionInterval = 24
        $0.peripheralLatency = 1
        $0.supervisionTimeout = 0x0102
      }, "04 3E 0A 03 00 4000 1800 0100 0201"),
    .meta(
      HCI.LEReadRemoteFeaturesComplete {
        $0.connectionHandle = link
        $0.features = [.encryption, .le2MPHY]
      }, "04 3E 0C 04 00 4000 0101000000000000"),
    .meta(
      HCI.LERemoteConnectionParameterRequest {
        $0.connectionHandle = link
        $0.intervalMin = 24
        $0.intervalMax = 40
        $0.maxLatency = 2
        $0.timeout = 0x0102
      }, "04 3E 0B 06 4000 1800 2800 0200 0201"),
    .meta(
      HCI.LEDataLengthChange {
        $0.connectionHandle = link
        $0.maxTXOctets = 251
        $0.maxTXTime = 2120
        $0.maxRXOctets = 27
        $0.maxRXTime = 328
      }, "04 3E 0B 07 4000 FB00 4808 1B00 4801"),
    .meta(
      HCI.LEPHYUpdateComplete {
        $0.connectionHandle = link
        $0.txPHY = .le2M
        $0.rxPHY = .leCoded
      }, "04 3E 06 0C 00 4000 02 03"),
    .meta(
      HCI.LEChannelSelectionAlgorithm {
        $0.connectionHandle = link
        $0.channelSelectionAlgorithm = 1
      }, "04 3E 04 14 4000 01"),
    .meta(
      HCI.LERequestPeerSCAComplete {
        $0.connectionHandle = link
        $0.peerClockAccuracy = HCI.ClockAccuracy(rawValue: 7)
      }, "04 3E 05 1F 00 4000 07"),
    .meta(
      HCI.LESubrateChange {
        $0.connectionHandle = link
        $0.subrateFactor = 4
        $0.peripheralLatency = 2
        $0.continuationNumber = 3
        $0.supervisionTimeout = 0x0400
      }, "04 3E 0C 23 00 4000 0400 0200 0300 0004"),
  ]

  static let security: [Golden] = [
    .meta(
      HCI.LELongTermKeyRequest {
        $0.connectionHandle = link
        $0.randomNumber = 0x0123_4567_89AB_CDEF
        $0.encryptedDiversifier = 0x2474
      }, "04 3E 0D 05 4000 EFCDAB8967452301 7424"),
    .meta(
      HCI.LEReadLocalP256PublicKeyComplete {
        $0.keyXCoordinate = coordinate(0x00)
        $0.keyYCoordinate = coordinate(0x80)
      }, "04 3E 42 08 00 \(coordinate(0x00).hexadecimal) \(coordinate(0x80).hexadecimal)"),
    .meta(
      HCI.LEGenerateDHKeyComplete { $0.dhKey = coordinate(0x40) }, "04 3E 22 09 00 \(coordinate(0x40).hexadecimal)"),
  ]

  static let advertising: [Golden] = [
    .meta(
      HCI.LEAdvertisingReport {
        $0.reports = [
          HCI.AdvertisingReport {
            $0.eventType = .nonConnectable
            $0.address = peer
            $0.data = [0x02, 0x01, 0x06]
            $0.rssi = -55
          },
          HCI.AdvertisingReport {
            $0.eventType = .scanResponse
            $0.address = DeviceAddress(octets: privateAddress, kind: .public)
            $0.rssi = 20
          },
        ]
      }, "04 3E 19 02 02 03 01 5544332211C0 03 020106 C9 04 00 0F0E0D0C0B4A 00 14"),
    .meta(
      HCI.LEDirectedAdvertisingReport {
        $0.reports = [
          HCI.DirectedAdvertisingReport {
            $0.address = peer
            $0.directAddress = DeviceAddress(octets: privateAddress, kind: .random)
            $0.rssi = -90
          }
        ]
      }, "04 3E 12 0B 01 01 01 5544332211C0 01 0F0E0D0C0B4A A6"),
    .meta(
      HCI.LEExtendedAdvertisingReport {
        $0.reports = [
          HCI.ExtendedAdvertisingReport {
            $0.eventType = [.connectable, .scannable, .legacy]
            $0.address = peer
            $0.data = [0x02, 0x01, 0x06]
            $0.rssi = -66
          },
          HCI.ExtendedAdvertisingReport {
            $0.eventType = [.connectable]
            $0.eventType.dataStatus = .truncated
            $0.address = DeviceAddress(octets: privateAddress, kind: .publicIdentity)
            $0.secondaryPHY = .le2M
            $0.advertisingSID = 5
            $0.txPower = -10
            $0.rssi = -67
            $0.periodicAdvertisingInterval = 0x0102
            $0.directAddress = peer
          },
        ]
      },
      """
      04 3E 35 0D 02 1300 01 5544332211C0 01 00 FF 7F BE 0000 00 000000000000 03 020106 \
      4100 02 0F0E0D0C0B4A 01 02 05 F6 BD 0201 01 5544332211C0 00
      """),
    .meta(HCI.LEScanTimeout(), "04 3E 01 11"),
    .meta(
      HCI.LEAdvertisingSetTerminated {
        $0.status = .limitReached
        $0.advertisingHandle = 1
        $0.connectionHandle = link
        $0.numCompletedExtendedAdvertisingEvents = 2
      }, "04 3E 06 12 43 01 4000 02"),
    .meta(
      HCI.LEScanRequestReceived {
        $0.advertisingHandle = 1
        $0.scannerAddress = peer
      }, "04 3E 09 13 01 01 5544332211C0"),
  ]

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
