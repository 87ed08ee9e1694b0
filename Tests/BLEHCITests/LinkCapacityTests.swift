import Testing

@testable import BLEHCI

/// What fits into a connection event. The figures are computed by hand from Vol 6, Part B, 2.1, 2.2 and 4.5.1.
@Suite("The capacity of a link") struct LinkCapacityTests {
  struct Row: CustomTestStringConvertible {
    let phy: HCI.PHY
    let dataLength: Int
    let isEncrypted: Bool
    /// Data packet, 150 µs, empty packet and 150 µs, in microseconds.
    let exchange: Int
    /// In units of 1.25 ms, of 7.5 to 15 ms.
    let best: UInt16?
    let packets: Int
    /// In thousandths of the interval.
    let share: Int

    var testDescription: String { "\(phy), \(dataLength) octets\(isEncrypted ? ", encrypted" : "")" }
    var capacity: LinkCapacity { LinkCapacity(phy: phy, dataLength: dataLength, isEncrypted: isEncrypted) }
  }

  static let rows = [
    Row(phy: .le1M, dataLength: 27, isEncrypted: false, exchange: 296 + 380, best: 6, packets: 11, share: 991),
    Row(phy: .le1M, dataLength: 27, isEncrypted: true, exchange: 328 + 380, best: 8, packets: 14, share: 991),
    Row(phy: .le1M, dataLength: 251, isEncrypted: false, exchange: 2088 + 380, best: 6, packets: 3, share: 987),
    // It fills the interval exactly: T_IFS after the last packet included.
    Row(phy: .le1M, dataLength: 251, isEncrypted: true, exchange: 2120 + 380, best: 6, packets: 3, share: 1000),
    Row(phy: .le2M, dataLength: 27, isEncrypted: false, exchange: 152 + 344, best: 6, packets: 15, share: 992),
    Row(phy: .le2M, dataLength: 27, isEncrypted: true, exchange: 168 + 344, best: 7, packets: 17, share: 994),
    Row(phy: .le2M, dataLength: 251, isEncrypted: false, exchange: 1048 + 344, best: 9, packets: 8, share: 989),
    Row(phy: .le2M, dataLength: 251, isEncrypted: true, exchange: 1064 + 344, best: 8, packets: 7, share: 985),
    // LE Coded with S=8.
    Row(phy: .leCoded, dataLength: 27, isEncrypted: false, exchange: 2448 + 1020, best: 6, packets: 2, share: 924),
    Row(
      phy: .leCoded, dataLength: 251, isEncrypted: false, exchange: 16_784 + 1020, best: nil, packets: 1, share: 2373),
  ]

  @Test(arguments: rows) func choosesTheIntervalThatPacketsFill(_ row: Row) {
    let capacity = row.capacity
    #expect(capacity.exchange == row.exchange)
    #expect([capacity, capacity].bestInterval(in: 6...12) == row.best)
    #expect(capacity.packets(in: row.best ?? 6) == row.packets)
    #expect(capacity.share(of: row.best ?? 6) / 1000 == row.share)
  }

  /// The time of a data packet limits its payload, where it is shorter than the data length.
  @Test func theTimeLimitsThePayload() {
    let capacity = LinkCapacity(phy: .le1M, dataLength: 251, time: 1048)
    #expect(capacity.payload == 121 && capacity.exchange == 1048 + 380)
    #expect(LinkCapacity(phy: .le1M, dataLength: 251, time: 0).payload == 27)
  }

  /// Different PHYs in the two directions: the acknowledgement has the other one.
  @Test func theAcknowledgementHasItsOwnPHY() {
    let capacity = LinkCapacity(phy: .le2M, acknowledgementPHY: .le1M, dataLength: 251)
    #expect(capacity.exchange == 1048 + 150 + 80 + 150)
  }

  @Test func figuresOfLE2M() {
    let capacity = LinkCapacity(phy: .le2M, dataLength: 251)
    #expect(capacity.packets(in: 6) == 5 && capacity.octetsPerSecond(at: 6) == 167_333)
    #expect(capacity.packets(in: 9) == 8 && capacity.octetsPerSecond(at: 9) == 178_488)
  }

  /// No value of a controller stops the program.
  @Test func extremesAreSafe() {
    let capacity = LinkCapacity(phy: .none, dataLength: 0, time: 0)
    #expect(capacity.packets(in: 0) == 1 && capacity.octetsPerSecond(at: .max) > 0)
  }

  /// Both ends send 27 octets on LE 1M: 296 µs and T_IFS each are 892 µs. In 2.5 ms the rest of 716 µs has room for one
  /// more packet with an empty answer, which take 676 µs; in 30 ms the rest of 564 µs has not.
  @Test(arguments: [(2, 2 * 54 + 27), (24, 33 * 54)] as [(UInt16, Int)])
  func bothDirectionsShareAnEvent(interval: UInt16, octets: Int) {
    #expect(LinkPackets().octetsOfBoth(in: interval) == octets)
  }
}
