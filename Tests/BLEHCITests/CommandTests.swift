import BLEHCI
import BLEWire
import Testing

/// Commands outside the LE group: octets from the definitions of Vol 4, Part E, 7.1 to 7.5.
@Suite struct CommandTests {
  @Test(arguments: golden) func commandHasTheOctetsOfItsDefinition(of golden: Golden) throws { try golden.check() }

  static let golden: [Golden] = [
    .command(
      HCI.Disconnect {
        $0.connectionHandle = link
        $0.reason = .remoteUserTerminatedConnection
      }, "01 0604 03 4000 13"),
    .command(HCI.ReadRemoteVersionInformation { $0.connectionHandle = link }, "01 1D04 02 4000"),
    .command(HCI.SetEventMask { $0.eventMask = [.disconnectionComplete, .leMeta] }, "01 010C 08 1000000000000020"),
    .response(HCI.SetEventMask.self, "00"),
    .command(HCI.Reset(), "01 030C 00"),
    .response(HCI.Reset.self, "00"),
    .command(
      HCI.ReadTransmitPowerLevel {
        $0.connectionHandle = link
        $0.kind = 1
      }, "01 2D0C 03 4000 01"),
    .response(HCI.ReadTransmitPowerLevel.self, "00 4000 F8") {
      $0.connectionHandle = link
      $0.txPowerLevel = -8
    },
    .command(HCI.SetControllerToHostFlowControl { $0.flowControlEnable = 1 }, "01 310C 01 01"),
    .response(HCI.SetControllerToHostFlowControl.self, "00"),
    .command(
      HCI.HostBufferSize {
        $0.hostACLDataPacketLength = 251
        $0.hostSynchronousDataPacketLength = 2
        $0.hostTotalNumACLDataPackets = 16
        $0.hostTotalNumSynchronousDataPackets = 4
      }, "01 330C 07 FB00 02 1000 0400"),
    .response(HCI.HostBufferSize.self, "00"),
    .command(
      HCI.HostNumberOfCompletedPackets {
        $0.links = [
          HCI.CompletedPackets {
            $0.connectionHandle = link
            $0.numCompletedPackets = 3
          }
        ]
      }, "01 350C 05 01 4000 0300"),
    .response(HCI.HostNumberOfCompletedPackets.self, "00"),
    .command(
      HCI.SetEventMaskPage2 { $0.eventMask = [.authenticatedPayloadTimeoutExpired, .encryptionChangeV2] },
      "01 630C 08 0000800200000000"),
    .response(HCI.SetEventMaskPage2.self, "00"),
    .command(HCI.ReadLEHostSupport(), "01 6C0C 00"),
    .response(HCI.ReadLEHostSupport.self, "00 01 00") { $0.leSupportedHost = true },
    .command(HCI.WriteLEHostSupport { $0.leSupportedHost = true }, "01 6D0C 02 01 00"),
    .response(HCI.WriteLEHostSupport.self, "00"),
    .command(HCI.ReadAuthenticatedPayloadTimeout { $0.connectionHandle = link }, "01 7B0C 02 4000"),
    .response(HCI.ReadAuthenticatedPayloadTimeout.self, "00 4000 B80B") {
      $0.connectionHandle = link
      $0.authenticatedPayloadTimeout = 3000
    },
    .command(
      HCI.WriteAuthenticatedPayloadTimeout {
        $0.connectionHandle = link
        $0.authenticatedPayloadTimeout = 0x0102
      }, "01 7C0C 04 4000 0201"),
    .response(HCI.WriteAuthenticatedPayloadTimeout.self, "00 4000") { $0.connectionHandle = link },
    .command(
      HCI.ConfigureDataPath {
        $0.dataPathDirection = 1
        $0.dataPathID = 2
        $0.vendorSpecificConfig = [0xAA, 0xBB]
      }, "01 830C 05 01 02 02 AABB"),
    .response(HCI.ConfigureDataPath.self, "00"),
    .command(HCI.SetMinEncryptionKeySize { $0.minEncryptionKeySize = 16 }, "01 840C 01 10"),
    .response(HCI.SetMinEncryptionKeySize.self, "00"),
    .command(HCI.ReadLocalVersionInformation(), "01 0110 00"),
    .response(HCI.ReadLocalVersionInformation.self, "00 0D 3412 0C 5F00 7856") {
      $0.hciVersion = 13
      $0.hciSubversion = 0x1234
      $0.lmpVersion = 12
      $0.companyIdentifier = 0x005F
      $0.lmpSubversion = 0x5678
    },
    .command(HCI.ReadLocalSupportedCommands(), "01 0210 00"),
    .response(
      HCI.ReadLocalSupportedCommands.self,
      // Disconnect: octet 0, bit 5. Reset: octet 5, bit 7. LE Rand: octet 27, bit 7.
      "00 20000000 00800000" + String(repeating: "00", count: 19) + "80" + String(repeating: "00", count: 36)
    ) {
      for opcode in [HCIOpcode.disconnect, .reset, .leRand] { $0.supportedCommands.insert(opcode) }
    },
    .command(HCI.ReadLocalSupportedFeatures(), "01 0310 00"),
    .response(HCI.ReadLocalSupportedFeatures.self, "00 0000000060000000") {
      $0.features = [.brEDRNotSupported, .leSupported]
    },
    .command(HCI.ReadBufferSize(), "01 0510 00"),
    .response(HCI.ReadBufferSize.self, "00 FD03 40 0600 0C00") {
      $0.aclDataPacketLength = 1021
      $0.synchronousDataPacketLength = 64
      $0.totalNumACLDataPackets = 6
      $0.totalNumSynchronousDataPackets = 12
    },
    .command(HCI.ReadBDADDR(), "01 0910 00"),
    .response(HCI.ReadBDADDR.self, "00 55443322 11C0") { $0.address = BD_ADDR(0xC011_2233_4455) },
    .command(HCI.ReadRSSI { $0.connectionHandle = link }, "01 0514 02 4000"),
    .response(HCI.ReadRSSI.self, "00 4000 C9") {
      $0.connectionHandle = link
      $0.rssi = -55
    },
  ]
}
