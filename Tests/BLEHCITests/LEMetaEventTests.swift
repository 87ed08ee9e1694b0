import BLEHCI
import BLEWire
import Testing

/// LE meta events: octets from the definitions of Vol 4, Part E, 7.7.65.
@Suite struct LEMetaEventTests {
  @Test(arguments: golden) func eventHasTheOctetsOfItsDefinition(of golden: Golden) throws { try golden.check() }

  static let golden: [Golden] = connection + security + advertising + periodic + other + isochronous

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
    .meta(
      HCI.LEReadAllRemoteFeaturesComplete {
        $0.connectionHandle = link
        $0.maxRemotePage = 2
        $0.maxValidPage = 1
        $0.features.features = [.encryption, .llExtendedFeatureSet]
        $0.features.furtherFeatures = [.shorterConnectionIntervals, .shorterConnectionIntervalsHostSupport]
        $0.features.rest = Bytes(repeating: 0, count: 232)
      },
      "04 3E FE 2B 00 4000 02 01 0100000000000080 0003000000000000" + String(repeating: "00", count: 232)),
    .meta(
      HCI.LEConnectionRateChange {
        $0.connectionHandle = link
        $0.connectionInterval = 20
        $0.subrateFactor = 4
        $0.peripheralLatency = 2
        $0.continuationNumber = 3
        $0.supervisionTimeout = 0x0400
      }, "04 3E 0E 37 00 4000 1400 0400 0200 0300 0004"),
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
}
