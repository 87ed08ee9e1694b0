import BLEHCI
import BLEWire
import Testing

@testable import BLEKernel

/// Links that other programs made before the adapter was opened.
@Suite struct ForeignLinkListTests {
  private static let other = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)

  @Test func theyAreAnnouncedAsLaterOnesAre() {
    var stage = TranslatorStage()
    let existing = stage.announce([(handle: 0x0041, peer: Self.other)].map { (ConnectionHandle(rawValue: $0), $1) })
    #expect(existing.actions == [])
    #expect(existing.packets.count == 1)
    let event = TranslatorStage.connection(.central, handle: ConnectionHandle(rawValue: 0x41), peer: Self.other)
    #expect(existing.packets.first == KernelTranslatorTests.octets(event))
    // It has no socket, and nothing of it reaches the host but its end.
    #expect(stage.translator.links.isEmpty && stage.translator.deadline == nil)
    #expect(stage.event(KernelTranslatorTests.disconnection(ConnectionHandle(rawValue: 0x41))).packets.count == 1)
  }

  @Test func aLinkThatIsOursIsNotAnnounced() {
    var stage = TranslatorStage()
    stage.link()
    #expect(stage.announce([(TranslatorStage.handle, TranslatorStage.peer)]).isEmpty)
  }

  /// Get Connections (BlueZ, doc/mgmt-api.txt): a count, and an address with its type for each.
  @Test func connectionsHaveAddressesOfThreeTypes() throws {
    let octets: [UInt8] = [3, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 1, 0x55, 0x44, 0x33, 0x22, 0x11, 0xC0, 2]
    var rest = octets[...]
    let response = try Management.ReadConnections.Response(decodingPrefixOf: &rest)
    #expect(response.devices.map(\.device?.description) == [nil, "06:05:04:03:02:01 (public)", "\(Self.other)"])
    for length in 0..<octets.count {
      var part = octets[..<length]
      #expect(throws: CodecError.self) { try Management.ReadConnections.Response(decodingPrefixOf: &part) }
    }
  }
}
