import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// The throughput of a link with airtime. The figures follow from Vol 6, Part B, 2.1, 2.2 and 4.5.1.
struct ThroughputTests {
  /// Data PDUs of a peripheral whose buffers are always full.
  struct Load: CustomTestStringConvertible {
    let name: String
    /// In units of 1.25 ms.
    let interval: UInt16
    /// The payload of one data PDU.
    let octets: Int
    /// The airtimes of an empty PDU and of a data PDU, in microseconds.
    let empty: Int
    let full: Int
    var phy = HCI.PHYs.le1M
    var options: UInt16 = 0
    var isEncrypted = false

    var testDescription: String { name }
    /// Empty PDU, T_IFS, data PDU, T_IFS.
    var exchange: Int { empty + 150 + full + 150 }
    var perEvent: Int { Int(interval) * 1250 / exchange }
  }

  static let loads = [
    // (1 + 4 + 2 + payload + 3) octets of 8 µs, and a message integrity check of 4 octets.
    Load(name: "27 on 1M", interval: 6, octets: 27, empty: 80, full: 296),
    Load(name: "27 on 1M, encrypted", interval: 6, octets: 27, empty: 80, full: 328, isEncrypted: true),
    Load(name: "251 on 1M", interval: 6, octets: 251, empty: 80, full: 2088),
    Load(name: "251 on 1M, encrypted", interval: 6, octets: 251, empty: 80, full: 2120, isEncrypted: true),
    Load(name: "251 on 1M, 30 ms", interval: 24, octets: 251, empty: 80, full: 2088),
    // (2 + 4 + 2 + payload + 3) octets of 4 µs.
    Load(name: "251 on 2M", interval: 6, octets: 251, empty: 44, full: 1048, phy: .le2M),
    Load(name: "251 on 2M, encrypted", interval: 6, octets: 251, empty: 44, full: 1064, phy: .le2M, isEncrypted: true),
    Load(name: "251 on 2M, 11.25 ms", interval: 9, octets: 251, empty: 44, full: 1048, phy: .le2M),
    // 376 µs, then 64 µs an octet of header, payload and CRC, and 24 µs.
    Load(name: "27 on Coded S=8", interval: 6, octets: 27, empty: 720, full: 2448, phy: .leCoded),
    Load(name: "251 on Coded S=8, 50 ms", interval: 40, octets: 251, empty: 720, full: 16_784, phy: .leCoded),
    // 376 µs, then 16 µs an octet, and 6 µs.
    Load(name: "27 on Coded S=2", interval: 6, octets: 27, empty: 462, full: 894, phy: .leCoded, options: 1),
    Load(
      name: "251 on Coded S=2, 30 ms, encrypted", interval: 24, octets: 251, empty: 462, full: 4542, phy: .leCoded,
      options: 1, isEncrypted: true),
  ]

  @Test func figuresOfOneMegabit() {
    // 297 octets in 7.5 ms with the shortest PDUs, 753 with the longest: 39.6 and 100.4 kB/s.
    #expect(Self.loads[0].perEvent == 11 && Self.loads[2].perEvent == 3)
  }

  @Test(arguments: loads) func eventsAreFull(_ load: Load) throws {
    var link = try AirtimeLink(interval: load.interval)
    if load.octets > 27 { try link.extendDataLength() }
    if load.phy != .le1M { try link.setPHY(load.phy, options: load.options) }
    if load.isEncrypted { try link.encrypt() }
    let events = 100
    let arrivals = link.floodFromPeripheral(events: events)
    let full = arrivals.filter { $0.packet.count == 5 + load.octets }
    // ACL packets of 251 octets end with a PDU that is not full where PDUs take 27.
    let isWhole = load.octets == 251
    if isWhole { #expect(full.count == arrivals.count) }
    #expect((events * load.perEvent - load.perEvent...events * load.perEvent + load.perEvent).contains(arrivals.count))
    // Between two PDUs of one event lies one exchange.
    let gaps = zip(full, full.dropFirst()).map { $1.time - $0.time }
    if load.perEvent > 1 { #expect(gaps.min() == .microseconds(Int64(load.exchange))) }
    #expect(link.stage.radio.complaints(about: link.peripheral).isEmpty)
  }

  /// Both sides at once: data in both directions of each exchange.
  @Test func bothDirectionsAtOnce() throws {
    var link = try AirtimeLink(interval: 6)
    try link.extendDataLength()
    var credits = [8, 8]
    var seen = (0, 0)
    link.run(for: link.interval * 100) { link in
      for arrival in link.atCentral[seen.0...] { credits[0] += arrival.completed }
      for arrival in link.atPeripheral[seen.1...] { credits[1] += arrival.completed }
      seen = (link.atCentral.count, link.atPeripheral.count)
      for (side, id) in [link.central, link.peripheral].enumerated() {
        while credits[side] > 0 {
          credits[side] -= 1
          link.send(251, from: id)
        }
      }
    }
    // One exchange of 2088 + 150 + 2088 + 150 µs fits into 7.5 ms, and then a PDU of the central with an empty answer.
    #expect((99...101).contains(link.atCentral.filter(\.isData).count))
    #expect((198...202).contains(link.atPeripheral.filter(\.isData).count))
  }

  /// Data Length Update limits PDUs by octets and by time.
  @Test(arguments: [(100, 17_040, 100), (251, 1000, 115), (251, 328, 31)])
  func dataLengthLimits(octets: UInt16, time: UInt16, expected: Int) throws {
    var link = try AirtimeLink(interval: 24)
    try link.extendDataLength(octets: octets, time: time)
    link.send(251, from: link.central)
    link.run(for: .seconds(1))
    let sizes = link.atPeripheral.filter(\.isData).map { $0.packet.count - 5 }
    #expect(sizes.first == expected && sizes.reduce(0, +) == 251)
    // One start, then continuations; one completed packet for the whole.
    #expect(
      link.atPeripheral.filter(\.isData).map { $0.packet[2] >> 4 } == [0b10] + sizes.dropFirst().map { _ in 0b01 })
    #expect(link.atCentral.map(\.completed) == [1])
  }

  /// At an interval of 100 ms a request is sent in one event and its response in the next. The next request is too late
  /// for that event: 5 exchanges a second.
  @Test func requestAndResponseTakeTwoEvents() throws {
    var link = try AirtimeLink(interval: 80)
    link.clear()
    var (requests, responses) = (0, 0)
    link.send(7, from: link.central)
    link.run(for: .seconds(10)) { link in
      let (requested, responded) = (link.atPeripheral.filter(\.isData).count, link.atCentral.filter(\.isData).count)
      if requested > requests { link.send(5, from: link.peripheral) }
      if responded > responses { link.send(7, from: link.central) }
      (requests, responses) = (requested, responded)
    }
    #expect((49...50).contains(responses))
  }

  /// One PDU is sent in each event of 100 ms, without a response: 10 a second.
  @Test func oneRequestAnEventAreTenASecond() throws {
    var link = try AirtimeLink(interval: 80)
    link.clear()
    var credits = 1
    var seen = 0
    link.run(for: .seconds(10)) { link in
      for arrival in link.atCentral[seen...] { credits += arrival.completed }
      seen = link.atCentral.count
      while credits > 0 {
        credits -= 1
        link.send(7, from: link.central)
      }
    }
    #expect((99...100).contains(link.atPeripheral.filter(\.isData).count))
  }
}
