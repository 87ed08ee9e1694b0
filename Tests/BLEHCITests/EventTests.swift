import BLEHCI
import BLEWire
import Testing

/// Events: octets from the definitions of Vol 4, Part E, 7.7.
@Suite struct EventTests {
  @Test(arguments: golden) func eventHasTheOctetsOfItsDefinition(of golden: Golden) throws { try golden.check() }

  static let golden: [Golden] = [
    .event(
      HCI.DisconnectionComplete {
        $0.connectionHandle = link
        $0.reason = .connectionTimeout
      }, "04 05 04 00 4000 08"),
    .event(
      HCI.EncryptionChange {
        $0.connectionHandle = link
        $0.encryptionEnabled = .on
      }, "04 08 04 00 4000 01"),
    .event(
      HCI.EncryptionChangeV2 {
        $0.connectionHandle = link
        $0.encryptionEnabled = .on
        $0.encryptionKeySize = 16
      }, "04 59 05 00 4000 01 10"),
    .event(
      HCI.ReadRemoteVersionInformationComplete {
        $0.connectionHandle = link
        $0.version = 13
        $0.companyIdentifier = 0x004C
        $0.subversion = 0x1234
      }, "04 0C 08 00 4000 0D 4C00 3412"),
    .event(
      HCI.CommandStatus {
        $0.status = .commandDisallowed
        $0.numHCICommandPackets = 2
        $0.opcode = .leCreateConnection
      }, "04 0F 04 0C 02 0D20"),
    .event(HCI.HardwareError { $0.hardwareCode = 0x42 }, "04 10 01 42"),
    .event(
      HCI.NumberOfCompletedPackets {
        $0.links = [(UInt16(0x0001), UInt16(3)), (0x0002, 0x0104)].map { handle, count in
          HCI.CompletedPackets {
            $0.connectionHandle = ConnectionHandle(rawValue: handle)
            $0.numCompletedPackets = count
          }
        }
      }, "04 13 09 02 0100 0300 0200 0401"),
    .event(HCI.DataBufferOverflow { $0.linkType = 1 }, "04 1A 01 01"),
    .event(HCI.EncryptionKeyRefreshComplete { $0.connectionHandle = link }, "04 30 03 00 4000"),
    .event(HCI.AuthenticatedPayloadTimeoutExpired { $0.connectionHandle = link }, "04 57 02 4000"),
  ]

  @Test func `Command Complete keeps return parameters as octets`() throws {
    let octets: Bytes = [0x0E, 0x05, 0x02, 0x07, 0x20, 0x00, 0xF8]
    guard let event = try HCIEvent(decoding: octets).parameters as? HCI.CommandComplete else {
      Issue.record("no Command Complete event")
      return
    }
    #expect(event.numHCICommandPackets == 2 && event.opcode == .leReadAdvertisingPhysicalChannelTxPower)
    #expect(try event.response(to: HCI.LEReadAdvertisingPhysicalChannelTxPower.self).txPowerLevel == -8)
    #expect(HCIEventPacket(event).encoded[...] == octets)
    for length in 0..<5 { #expect(throws: CodecError.self) { try HCIEvent(decoding: octets.prefix(length)) } }
  }

  @Test func `octets after the declared return parameters are ignored`() throws {
    let response = try HCI.LEReadFilterAcceptListSize.Response(returned: [0x00, 0x19, 0xAA])
    #expect(response.status.isSuccess && response.filterAcceptListSize == 25)
    #expect(throws: CodecError.truncated(field: "Filter_Accept_List_Size")) {
      try HCI.LEReadFilterAcceptListSize.Response(returned: [0x00])
    }
    let refusal = try HCI.LEReadFilterAcceptListSize.Response(returned: [0x01, 0x00])
    #expect(refusal.status == .unknownCommand)
  }

  @Test func `vendor-specific and unknown events keep their octets`() throws {
    let vendor = try HCIEvent(decoding: [0xFF, 0x02, 0xAA, 0xBB])
    let octets = HCIEventPacket {
      $0.eventCode = .vendorSpecific
      $0.parameters = [0xAA, 0xBB]
    }
    #expect(vendor == .undeclared(octets) && vendor.eventCode == .vendorSpecific)
    #expect(vendor.packet.encoded == [0xFF, 0x02, 0xAA, 0xBB])

    let unknown = try HCIEvent(decoding: [0x60, 0x01, 0x02])
    #expect(unknown.eventCode.rawValue == 0x60 && unknown.parameters == nil)
    #expect(unknown.packet.encoded == [0x60, 0x01, 0x02])

    let meta = try HCIEvent(decoding: [0x3E, 0x03, 0x77, 0x01, 0x02])
    #expect(meta.eventCode == .leMeta && meta.parameters == nil)
    #expect(meta.packet.encoded == [0x3E, 0x03, 0x77, 0x01, 0x02])
    #expect(throws: CodecError.truncated(field: "Subevent_Code")) { try HCIEvent(decoding: [0x3E, 0x00]) }
  }

  @Test func `a failed connection is decoded with a handle out of range`() throws {
    let octets: Bytes = [0x3E, 0x13, 0x01, 0x3E, 0xFF, 0xFF, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    guard let event = try HCIEvent(decoding: octets).parameters as? HCI.LEConnectionComplete else {
      Issue.record("no connection complete event")
      return
    }
    #expect(event.status == .connectionFailedToBeEstablished)
    #expect(event.connectionHandle.rawValue == 0x0FFF)
  }
}
