import BLEHCI
import BLEWire
import Testing

/// Isochronous streams: octets from the definitions of Vol 4, Part E, 7.8.96 to 7.8.116.
@Suite struct LEIsochronousCommandTests {
  @Test(arguments: golden) func commandHasTheOctetsOfItsDefinition(of golden: Golden) throws { try golden.check() }

  static let golden: [Golden] = connected + broadcast + data

  private static let code = "000102030405060708090A0B0C0D0E0F"
  private static let stream = ConnectionHandle(rawValue: 0x0060)

  static let connected: [Golden] = [
    .command(
      HCI.LESetCIGParameters {
        $0.cigID = 1
        $0.sduIntervalCToP = 10000
        $0.sduIntervalPToC = 20000
        $0.worstCaseSCA = HCI.ClockAccuracy(rawValue: 2)
        $0.packing = 1
        $0.maxTransportLatencyCToP = 10
        $0.maxTransportLatencyPToC = 20
        $0.streams = [
          HCI.CISParameters {
            $0.cisID = 3
            $0.maxSDUCToP = 120
            $0.maxSDUPToC = 60
            $0.phyCToP = [.le2M]
            $0.phyPToC = [.le1M, .le2M]
            $0.rtnCToP = 2
            $0.rtnPToC = 4
          }
        ]
      }, "01 6220 18 01 102700 204E00 02 01 00 0A00 1400 01 03 7800 3C00 02 03 02 04"),
    .response(HCI.LESetCIGParameters.self, "00 01 02 6000 6100") {
      $0.cigID = 1
      $0.streams = [0x0060, 0x0061].map { handle in
        HCI.LinkReference { $0.connectionHandle = ConnectionHandle(rawValue: handle) }
      }
    },
    .command(
      HCI.LESetCIGParametersTest {
        $0.cigID = 1
        $0.sduIntervalCToP = 10000
        $0.sduIntervalPToC = 20000
        $0.ftCToP = 5
        $0.ftPToC = 6
        $0.isoInterval = 8
        $0.framing = 1
        $0.streams = [
          HCI.CISTestParameters {
            $0.cisID = 3
            $0.nse = 4
            $0.maxSDUCToP = 120
            $0.maxSDUPToC = 60
            $0.maxPDUCToP = 121
            $0.maxPDUPToC = 61
            $0.phyCToP = [.le2M]
            $0.phyPToC = [.le1M]
            $0.bnCToP = 1
            $0.bnPToC = 2
          }
        ]
      }, "01 6320 1D 01 102700 204E00 05 06 0800 00 00 01 01 03 04 7800 3C00 7900 3D00 02 01 01 02"),
    .response(HCI.LESetCIGParametersTest.self, "00 01 00") { $0.cigID = 1 },
    .command(
      HCI.LECreateCIS {
        $0.streams = [
          HCI.CISLink {
            $0.cisConnectionHandle = stream
            $0.aclConnectionHandle = link
          }
        ]
      }, "01 6420 05 01 6000 4000"),
    .command(HCI.LERemoveCIG { $0.cigID = 1 }, "01 6520 01 01"),
    .response(HCI.LERemoveCIG.self, "00 01") { $0.cigID = 1 },
    .command(HCI.LEAcceptCISRequest { $0.connectionHandle = stream }, "01 6620 02 6000"),
    .command(
      HCI.LERejectCISRequest {
        $0.connectionHandle = stream
        $0.reason = .rejectedSecurityReasons
      }, "01 6720 03 6000 0E"),
    .response(HCI.LERejectCISRequest.self, "00 6000") { $0.connectionHandle = stream },
  ]

  static let broadcast: [Golden] = [
    .command(
      HCI.LECreateBIG {
        $0.bigHandle = 1
        $0.advertisingHandle = 2
        $0.numBIS = 3
        $0.sduInterval = 10000
        $0.maxSDU = 120
        $0.maxTransportLatency = 10
        $0.rtn = 4
        $0.phys = [.le2M]
        $0.packing = 1
        $0.encryption = true
        $0.broadcastCode = Bytes(0..<16)
      }, "01 6820 1F 01 02 03 102700 7800 0A00 04 02 01 00 01 \(code)"),
    .command(
      HCI.LECreateBIGTest {
        $0.bigHandle = 1
        $0.advertisingHandle = 2
        $0.numBIS = 3
        $0.sduInterval = 10000
        $0.isoInterval = 8
        $0.nse = 4
        $0.maxSDU = 120
        $0.maxPDU = 121
        $0.phys = [.leCoded]
        $0.framing = 1
        $0.bn = 5
        $0.irc = 6
        $0.pto = 7
        $0.broadcastCode = Bytes(0..<16)
      }, "01 6920 24 01 02 03 102700 0800 04 7800 7900 04 00 01 05 06 07 00 \(code)"),
    .command(HCI.LETerminateBIG { $0.bigHandle = 1 }, "01 6A20 02 01 16"),
    .command(
      HCI.LEBIGCreateSync {
        $0.bigHandle = 1
        $0.syncHandle = 0x0041
        $0.encryption = true
        $0.broadcastCode = Bytes(0..<16)
        $0.mse = 2
        $0.bigSyncTimeout = 0x0100
        $0.streams = [1, 3]
      }, "01 6B20 1A 01 4100 01 \(code) 02 0001 02 0103"),
    .command(HCI.LEBIGTerminateSync { $0.bigHandle = 1 }, "01 6C20 01 01"),
    .response(HCI.LEBIGTerminateSync.self, "00 01") { $0.bigHandle = 1 },
  ]

  static let data: [Golden] = [
    .command(HCI.LEReadISOTXSync { $0.connectionHandle = stream }, "01 6120 02 6000"),
    .response(HCI.LEReadISOTXSync.self, "00 6000 0201 06050403 090807") {
      $0.connectionHandle = stream
      $0.packetSequenceNumber = 0x0102
      $0.txTimeStamp = 0x0304_0506
      $0.timeOffset = 0x070809
    },
    .command(
      HCI.LESetupISODataPath {
        $0.connectionHandle = stream
        $0.dataPathDirection = 1
        $0.dataPathID = 2
        $0.codecID = [0x03, 0, 0, 0, 0]
        $0.controllerDelay = 0x010203
        $0.codecConfiguration = [0xAA, 0xBB]
      }, "01 6E20 0F 6000 01 02 0300000000 030201 02 AABB"),
    .response(HCI.LESetupISODataPath.self, "00 6000") { $0.connectionHandle = stream },
    .command(
      HCI.LERemoveISODataPath {
        $0.connectionHandle = stream
        $0.dataPathDirection = 3
      }, "01 6F20 03 6000 03"),
    .response(HCI.LERemoveISODataPath.self, "00 6000") { $0.connectionHandle = stream },
    .command(
      HCI.LEISOTransmitTest {
        $0.connectionHandle = stream
        $0.payloadType = 1
      }, "01 7020 03 6000 01"),
    .response(HCI.LEISOTransmitTest.self, "00 6000") { $0.connectionHandle = stream },
    .command(
      HCI.LEISOReceiveTest {
        $0.connectionHandle = stream
        $0.payloadType = 2
      }, "01 7120 03 6000 02"),
    .response(HCI.LEISOReceiveTest.self, "00 6000") { $0.connectionHandle = stream },
    .command(HCI.LEISOReadTestCounters { $0.connectionHandle = stream }, "01 7220 02 6000"),
    .response(HCI.LEISOReadTestCounters.self, "00 6000 01000000 02000000 03000000", counters),
    .command(HCI.LEISOTestEnd { $0.connectionHandle = stream }, "01 7320 02 6000"),
    .response(HCI.LEISOTestEnd.self, "00 6000 01000000 02000000 03000000", counters),
    .command(HCI.LEReadISOLinkQuality { $0.connectionHandle = stream }, "01 7520 02 6000"),
    .response(
      HCI.LEReadISOLinkQuality.self,
      "00 6000 01000000 02000000 03000000 04000000 05000000 06000000 07000000"
    ) {
      $0.connectionHandle = stream
      $0.txUnACKedPackets = 1
      $0.txFlushedPackets = 2
      $0.txLastSubeventPackets = 3
      $0.retransmittedPackets = 4
      $0.crcErrorPackets = 5
      $0.rxUnreceivedPackets = 6
      $0.duplicatePackets = 7
    },
  ]

  @Sendable private static func counters(_ response: inout HCI.ISOTestCounters) {
    response.connectionHandle = stream
    response.receivedSDUCount = 1
    response.missedSDUCount = 2
    response.failedSDUCount = 3
  }
}
