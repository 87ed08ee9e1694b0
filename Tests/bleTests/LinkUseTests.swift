import BLEHCI
import BLEWire
import Testing

@testable import ble

/// What `ble bench` reads in a packet trace.
@Suite("The use of a link") struct LinkUseTests {
  private static let handle = ConnectionHandle(rawValue: 0x40)

  /// A trace of one link at 7.5 ms on LE 1M, with packets of 251 octets: an event has room for three.
  private struct Trace {
    private(set) var octets = BTSnoopFile.header

    init() {
      event(
        HCI.LEConnectionComplete { ($0.connectionHandle, $0.connectionInterval) = (handle, 6) }, at: 0)
      event(
        HCI.LEDataLengthChange {
          ($0.connectionHandle, $0.maxTXOctets, $0.maxTXTime) = (handle, 251, 2120)
          ($0.maxRXOctets, $0.maxRXTime) = (251, 2120)
        }, at: 0)
    }

    private mutating func append(_ packet: [UInt8], _ direction: HCIPacketDirection, _ time: Int64) {
      BTSnoopFile.append(packet.span, direction, at: time, to: &octets)
    }

    mutating func event(_ event: some LEEventParameters, at time: Int64) {
      var packet: [UInt8] = []
      packet.append(hci: event)
      append(packet, .controllerToHost, time)
    }

    mutating func data(_ count: Int, _ direction: HCIPacketDirection, at time: Int64) {
      append(
        [2, 0x40, 0, UInt8(count & 0xFF), UInt8(count >> 8)] + [UInt8](repeating: 0, count: count), direction, time)
    }

    mutating func complete(_ count: UInt8, at time: Int64) {
      append([4, 0x13, 5, 1, 0x40, 0, count, 0], .controllerToHost, time)
    }
  }

  private func use(
    _ trace: Trace, _ direction: LinkUse.Direction, from start: Int64 = 0, to end: Int64 = 75_000
  ) throws -> LinkUse {
    try #require(LinkUse(try BTSnoopFile(trace.octets[...]), from: start, to: end, direction))
  }

  @Test func countsWhatArrives() throws {
    var trace = Trace()
    // Three full packets in nine intervals, none in the fifth.
    for interval in 0..<10 where interval != 4 {
      for packet in 1...3 { trace.data(251, .controllerToHost, at: Int64(interval) * 7500 + Int64(packet) * 2468) }
    }
    let use = try use(trace, .receive)
    #expect(use.count == 10 && use.octets == 27 * 251 && use.limit == 30 * 251)
    #expect(use.share == 0.9 && use.empty == 1 && use.withoutPacket == 0)
    let report = LinkReport(use)
    #expect(report.interval == 7.5 && report.receiveOctets == 251 && !report.encrypted)
    #expect(
      report.line == "  90.0 %: 90.4 of 100.4 kB/s on the link (LE 1M, 7.50 ms, 251 octets), 1 of 10 intervals empty")
  }

  /// The controller runs out of packets in one interval, because the program is late.
  @Test func seesThatTheControllerHadNoPacket() throws {
    var trace = Trace()
    for _ in 0..<3 { trace.data(251, .hostToController, at: 0) }
    for interval in 0..<10 {
      let begin = Int64(interval) * 7500
      trace.complete(interval == 5 ? 1 : 3, at: begin + 7000)
      // The next ones come at once; those of the sixth interval are late, and one is all.
      if interval == 4 {
        trace.data(251, .hostToController, at: begin + 7600)
      } else {
        for _ in 0..<3 { trace.data(251, .hostToController, at: begin + 7000) }
      }
    }
    let use = try use(trace, .transmit)
    #expect(use.octets == 28 * 251 && use.empty == 0 && use.withoutPacket == 1)
  }

  @Test func bothDirectionsShareTheLink() throws {
    var trace = Trace()
    trace.data(251, .hostToController, at: 0)
    trace.data(251, .controllerToHost, at: 100)
    trace.complete(1, at: 200)
    // One exchange with data in both directions, and one packet more.
    let use = try use(trace, .both, to: 7500)
    #expect(use.limit == 3 * 251 && use.octets == 2 * 251)
  }

  /// A simulated radio without pacing carries more than a real one: that has no share.
  @Test func moreThanTheLimitHasNoPercentage() throws {
    var trace = Trace()
    for interval in 0..<10 {
      for packet in 0..<30 {
        trace.data(251, .controllerToHost, at: Int64(interval) * 7500 + Int64(packet) * 100)
      }
    }
    let report = LinkReport(try use(trace, .receive))
    #expect(
      report.line
        == "  1004.0 kB/s on the link (LE 1M, 7.50 ms, 251 octets), without the timing of a radio, whose limit is 100.4 kB/s"
    )
  }

  @Test(arguments: [0, 7499]) func aPeriodBelowAnIntervalHasNoShare(_ end: Int64) throws {
    let file = try BTSnoopFile(Trace().octets[...])
    #expect(LinkUse(file, from: 0, to: end, .receive) == nil)
    #expect(LinkUse(try BTSnoopFile(BTSnoopFile.header[...]), from: 0, to: 75_000, .receive) == nil)
  }
}
