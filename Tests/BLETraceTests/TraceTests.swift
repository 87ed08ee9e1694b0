import BLEATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire
import Foundation
import TestSupport
import Testing
import ToolCore

@testable import BLETrace

/// The entries of packets that the codecs make.
struct TraceTests {
  private var reader = TraceReader()
  private let link = ConnectionHandle(rawValue: 0x40)

  private mutating func entry(_ packet: HCIPacket, _ direction: HCIPacketDirection, at time: Int64 = 0) -> TraceEntry? {
    reader.entry(for: BTSnoopRecord(packet: packet.encoded[...], direction: direction, microseconds: time))
  }

  private mutating func frame(
    _ channel: ChannelID, _ payload: [UInt8], _ direction: HCIPacketDirection
  ) -> TraceEntry? {
    var packet = HCIACLDataPacket()
    packet.connectionHandle = link
    packet.packetBoundaryFlag = direction == .hostToController ? .firstNonFlushable : .firstFlushable
    packet.data = BasicFrame(channel: channel, payload: payload[...]).encoded[...]
    return entry(.aclData(packet), direction)
  }

  @Test mutating func namesAttributesThatTheDiscoveryRevealed() throws {
    var request = ReadByTypeRequest()
    (request.startingHandle, request.endingHandle, request.attributeType) = (
      AttributeHandle(rawValue: 1), AttributeHandle(rawValue: 0xFFFF), "2803"
    )
    let asked = frame(.attributeProtocol, request.encodedPDU, .hostToController)
    #expect(
      asked?.line
        == "   0.000000 > ATT   Read By Type Request: Characteristic in 0x0001-0xFFFF")
    var response = ReadByTypeResponse()
    var item = ReadByTypeResponse.AttributeData()
    (item.handle, item.value) = (AttributeHandle(rawValue: 2), [0x10, 0x03, 0x00, 0x37, 0x2A])
    response.attributeDataList = [item]
    _ = frame(.attributeProtocol, response.encodedPDU, .controllerToHost)
    var notification = HandleValueNotification()
    (notification.handle, notification.value) = (AttributeHandle(rawValue: 3), [0x00, 0x48])
    let found1 = frame(.attributeProtocol, notification.encodedPDU, .controllerToHost)
    let notified = try #require(found1)
    #expect(
      notified.name == "Handle Value Notification" && notified.details == "0x0003 Heart Rate Measurement = 72 bpm")
    // The same handle of the other device's server is another attribute.
    let found2 = frame(.attributeProtocol, notification.encodedPDU, .hostToController)
    let other = try #require(found2)
    #expect(other.details == "0x0003 = 00 48")
  }

  @Test mutating func marksRejectionsButNotTheEndOfADiscovery() throws {
    var error = ErrorResponse()
    (error.requestOpcode, error.handle, error.code) = (
      ReadRequest.opcode, AttributeHandle(rawValue: 3), .readNotPermitted
    )
    let found3 = frame(.attributeProtocol, error.encodedPDU, .controllerToHost)
    let rejection = try #require(found3)
    #expect(rejection.isFailure && rejection.details == "Read Not Permitted (0x02) for Read Request of 0x0003")
    error.code = .attributeNotFound
    let end = frame(.attributeProtocol, error.encodedPDU, .controllerToHost)
    #expect(end?.isFailure == false)
  }

  @Test mutating func theSetUpOfTheControllerIsRoutineAndItsFailuresAreNot() throws {
    func command<Command: HCICommand>(_ command: Command) -> HCIPacket {
      var packet = HCICommandPacket()
      (packet.opcode, packet.parameters) = (Command.opcode, command.encoded[...])
      return .command(packet)
    }
    let setUp: [HCIPacket] = [
      command(HCI.Reset()), command(HCI.LESetEventMask()), command(HCI.ReadLocalVersionInformation()),
    ]
    for packet in setUp {
      let found = entry(packet, .hostToController)
      #expect(found?.isRoutine == true && found.map(TraceFilter().admits) == false)
    }
    let scan = entry(command(HCI.LESetScanEnable { $0.scanEnable = true }), .hostToController)
    #expect(scan.map(TraceFilter().admits) == true)
    var complete = HCI.CommandComplete()
    (complete.opcode, complete.returnParameters) = (HCI.Reset.opcode, [0x0C])
    let failure = entry(.event(HCIEventPacket(complete)), .controllerToHost)
    #expect(failure?.isFailure == true && failure.map(TraceFilter().admits) == true)
  }

  @Test mutating func joinsFragments() throws {
    let response = ReadResponse().encodedPDU + [UInt8](repeating: 0x41, count: 40)
    let octets = BasicFrame(channel: .attributeProtocol, payload: response[...]).encoded
    var packet = HCIACLDataPacket()
    (packet.connectionHandle, packet.packetBoundaryFlag) = (link, .firstFlushable)
    packet.data = octets.prefix(20)
    let part = entry(.aclData(packet), .controllerToHost)
    #expect(part == nil)
    (packet.packetBoundaryFlag, packet.data) = (.continuing, octets.dropFirst(20))
    let whole = entry(.aclData(packet), .controllerToHost)
    #expect(whole?.name == "Read Response")
  }

  @Test mutating func showsNoKeys() throws {
    var command = HCI.LEEnableEncryption()
    command.longTermKey = 0x1122_3344_5566_7788_99AA_BBCC_DDEE_FF00
    var packet = HCICommandPacket()
    (packet.opcode, packet.parameters) = (HCI.LEEnableEncryption.opcode, command.encoded[...])
    let found4 = entry(.command(packet), .hostToController)
    let shown = try #require(found4)
    #expect(shown.details == "with a key")
    for code in UInt8(1)...0x0E {
      let shown = frame(.securityManager, [code] + [UInt8](repeating: 0xAB, count: 16), .hostToController)
      #expect(shown?.name == "Malformed packet" || shown?.details.contains("ab") != true)
    }
  }

  @Test mutating func keepsTheDeviceOfALinkAndTheReasonOfItsEnd() throws {
    var event = HCI.LEConnectionComplete()
    event.connectionHandle = link
    event.peerAddress = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    event.connectionInterval = 24
    let found5 = entry(.event(HCIEventPacket(event)), .controllerToHost)
    let opened = try #require(found5)
    #expect(opened.peer == event.peerAddress && opened.details.contains("interval 30.0 ms"))
    var end = HCI.DisconnectionComplete()
    (end.connectionHandle, end.reason) = (link, .connectionTimeout)
    let found6 = entry(.event(HCIEventPacket(end)), .controllerToHost, at: 1_500_000)
    let closed = try #require(found6)
    #expect(closed.seconds == "1.500000" && closed.details.contains("Connection Timeout (0x08)"))
  }

  @Test(arguments: [
    (0, "0.000000"), (1, "0.000001"), (-1, "-0.000001"), (-1_500_000, "-1.500000"),
    (Int64.max, "9223372036854.775807"), (Int64.min, "-9223372036854.775808"),
  ]) mutating func timesAreAsTheTraceHasThem(difference: Int64, text: String) throws {
    _ = reader.entry(for: BTSnoopRecord(packet: [][...], direction: .controllerToHost, microseconds: 1000))
    let record = BTSnoopRecord(packet: [][...], direction: .controllerToHost, microseconds: 1000 &+ difference)
    let found = reader.entry(for: record)
    let entry = try #require(found)
    #expect(entry.seconds == text)
  }

  @Test mutating func describesOctetsThatAreNoPacket() throws {
    for octets: [UInt8] in [
      [], [0x00], [0x04], [0x04, 0x3E], [0x04, 0x3E, 0x01, 0x01], [0x02, 0x40, 0x20, 0xFF, 0xFF],
    ] {
      let record = BTSnoopRecord(packet: octets[...], direction: .controllerToHost, microseconds: 0)
      let found7 = reader.entry(for: record)
      let found = try #require(found7)
      #expect(found.isFailure && found.name == "Malformed packet")
    }
  }

  @Test mutating func readsRandomOctetsWithoutATrap() {
    var random = SplitMix64(seed: 1)
    for _ in 0..<20_000 {
      var octets = (0..<Int.random(in: 1...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      octets[0] = UInt8.random(in: 1...5, using: &random)
      let direction: HCIPacketDirection = Bool.random(using: &random) ? .hostToController : .controllerToHost
      _ = reader.entry(for: BTSnoopRecord(packet: octets[...], direction: direction, microseconds: 0))
    }
  }

  @Test mutating func drawsALineForEachDeviceAndEscapesText() throws {
    var request = WriteRequest()
    (request.handle, request.value) = (AttributeHandle(rawValue: 3), Array("<&>abc".utf8)[...])
    var event = HCI.LEConnectionComplete()
    (event.connectionHandle, event.peerAddress) = (
      link, try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    )
    let found8 = entry(.event(HCIEventPacket(event)), .controllerToHost)
    let opened = try #require(found8)
    let found9 = frame(.attributeProtocol, request.encodedPDU, .hostToController)
    let written = try #require(found9)
    let svg = LadderDiagram([opened, written]).svg
    #expect(svg.contains("C0:11:22:33:44:55 (random)") && svg.contains("&lt;&amp;&gt;abc") && !svg.contains("<&"))
    #expect(svg.components(separatedBy: "<path").count == 3)
  }
}
