import BLEGATT
import BLEHCI
import BLEHost
import BLEVirtual
import BLEWire
import Testing

/// Hosts on a radio with airtime: each PDU waits for a connection event.
@Suite("Hosts on a radio with airtime") struct AirtimeTests {
  /// A host pairs, and encrypts with the bond on the next link.
  @Test func pairsAndUsesTheBond() throws {
    var couple = Couple(pacing: .airtime)
    try couple.connect()
    couple.secure()
    couple.world.run(for: .seconds(5))
    #expect(couple.security(1)?.level == .encrypted && couple.paired(0).count == 1)
    #expect(couple.read(Couple.encrypted) == .success([7]))
    couple.disconnect()
    try couple.connect()
    couple.secure()
    couple.world.run(for: .seconds(1))
    #expect(couple.read(Couple.encrypted) == .success([7]) && couple.paired(0).count == 1)
    #expect(couple.world.complaints.isEmpty)
  }

  /// A read takes one to two intervals, from 30 ms on.
  @Test func readsTakeConnectionEvents() throws {
    var couple = Couple(pacing: .airtime)
    try couple.connect()
    couple.world.run(for: .seconds(2))
    let link = try #require(couple.links[1])
    let handle = try #require(couple.handles[Couple.plain])
    for number in UInt32(1)...20 {
      couple.forget()
      let begin = couple.world.now
      let operation = GATTClient.Operation(id: GATTClient.OperationID(rawValue: 1000 + number), .read(handle))
      couple.world.ask(1, .link(link.central, .client(operation)))
      func isAnswered() -> Bool {
        couple.events(1).contains { if case .client(_, .finished(operation.id, .success)) = $0 { true } else { false } }
      }
      while !isAnswered(), couple.world.now - begin < .seconds(1) { couple.world.run(for: .milliseconds(1)) }
      let time = couple.world.now - begin
      #expect(time >= .milliseconds(30) && time <= .milliseconds(62))
      couple.world.run(for: .milliseconds(Int64(number) * 7))
    }
  }

  /// Four centrals at once, with controllers of one buffer of 27 octets.
  @Test func smallControllers() throws {
    var small = VirtualControllerConfiguration()
    small.aclDataPacketLength = 27
    small.totalNumACLDataPackets = 1
    small.features.remove(.extendedAdvertising)
    var couple = Couple(centrals: 4, controller: small, pacing: .airtime)
    for central in 1...4 { try couple.connect(central) }
    for central in 1...4 { couple.secure(central) }
    couple.world.run(for: .seconds(20))
    for central in 1...4 { #expect(couple.read(Couple.encrypted, by: central) == .success([7])) }
    #expect(couple.world.complaints.isEmpty)
  }
}
