import BLEATT
import BLEGATT
import BLEHost
import BLESMP
import BLEWire
import Testing

/// Links on which the host of the central sends only what its owner requests (`InitiatingParameters.isBare`).
@Suite("Bare links") struct BareLinkTests {
  /// The opcodes of the ATT PDUs that the central has sent since.
  private func opcodes(_ couple: Couple, after start: Int) -> [UInt8] {
    // H4 indicator, handle, length, L2CAP length and channel, then the PDU.
    couple.world.sent[1].dropFirst(start).filter { $0.count > 9 && $0[0] == 2 && $0[7] == 4 }.map { $0[9] }
  }

  @Test func nothingIsSentThatTheOwnerHasNotRequested() throws {
    var couple = Couple(configure: { _, host in host.enhancedBearers = 2 })
    try couple.connect()
    couple.secure()
    #expect(opcodes(couple, after: 0).first == 0x02, "other links begin with an Exchange MTU Request")
    couple.disconnect()
    let start = couple.world.sent[1].count
    let isConnected = couple.attemptConnection(isBare: true)
    try #require(isConnected)
    couple.world.run(for: .seconds(60))
    #expect(opcodes(couple, after: start) == [])

    // The request of the owner is sent in the clear, and its refusal does not make the host pair.
    let handle = try #require(couple.handles[Couple.encrypted])
    let request: [UInt8] = [0x0A, UInt8(handle.rawValue), 0]
    guard case .success(.value(let refused))? = couple.inspect(.request(request)) else {
      Issue.record("no answer"); return
    }
    #expect(refused.first == 0x01)
    // With the key of the bond on the demand of the owner, and no verification of a cache, nor bearers, after it.
    couple.secure()
    #expect(couple.inspect(.request(request)) == .success(.value([0x0B, 7])))
    #expect(couple.inspect(.discoverPrimaryServices) != nil)
    #expect(opcodes(couple, after: start).filter { $0 != 0x10 } == [0x0A, 0x0A])
    // The MTU is exchanged when the owner requests it.
    #expect(couple.inspect(.request([0x02, 100, 0])) == .success(.value([0x03, 0x05, 0x02])))
  }
}
