import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// Airtime and schedules by themselves.
struct RadioPHYTests {
  /// The least and the greatest times of Data Length Update are those of 27 and 251 octets with a message integrity check
  /// (Vol 6, Part B, 4.5.10).
  @Test(arguments: [
    (RadioPHY.le1M, 80, 328, 2120), (.le2M, 44, 168, 1064), (.codedS2, 462, 958, 4542), (.codedS8, 720, 2704, 17_040),
  ])
  func airtime(_ phy: RadioPHY, empty: Int64, least: Int64, greatest: Int64) {
    #expect(phy.airtime(payload: 0) == .microseconds(empty))
    // An empty PDU has no message integrity check.
    #expect(phy.airtime(payload: 0, isEncrypted: true) == .microseconds(empty))
    #expect(phy.airtime(payload: 27, isEncrypted: true) == .microseconds(least))
    #expect(phy.airtime(payload: 251, isEncrypted: true) == .microseconds(greatest))
    for payload in [0, 1, 27, 100, 251] {
      for isEncrypted in [false, true] where payload > 0 || !isEncrypted {
        let time = phy.airtime(payload: payload, isEncrypted: isEncrypted)
        #expect(phy.greatestPayload(within: time, isEncrypted: isEncrypted) == payload)
        let less = phy.greatestPayload(within: time - .microseconds(1), isEncrypted: isEncrypted)
        #expect(less == max(0, payload - 1))
      }
    }
    #expect(phy.greatestPayload(within: .zero, isEncrypted: true) == 0)
  }

  static let timing = LinkTiming(interval: 8, latency: 3, timeout: 100)

  /// The central reaches the peripheral at each fourth event with a latency of 3; the peripheral sends at any event.
  @Test func eventsWithLatency() {
    let first = Instant.start + .milliseconds(5)
    var schedule = ConnectionSchedule(timing: Self.timing, firstAnchor: first)
    #expect(schedule.nextEvent(after: .start, for: .central) == 0 && schedule.anchor(of: 0) == first)
    schedule.begin(0)
    for (elapsed, central, peripheral) in [(0, 4, 1), (9, 4, 1), (10, 4, 2), (39, 4, 4), (40, 8, 5), (79, 8, 8)] {
      let now = first + .milliseconds(Int64(elapsed))
      #expect(schedule.nextEvent(after: now, for: .central) == central)
      #expect(schedule.nextEvent(after: now, for: .peripheral) == peripheral)
    }
    // The peripheral sends at event 2: the fourth one is counted from there.
    schedule.begin(2)
    #expect(schedule.nextEvent(after: first + .milliseconds(20), for: .central) == 6)
    #expect(schedule.latestAnchor(at: first + .milliseconds(59)) == first + .milliseconds(20))
    #expect(schedule.latestAnchor(at: first + .milliseconds(60)) == first + .milliseconds(60))
  }

  /// Six events that the peripheral listens to before an instant (Vol 6, Part B, 5.1.1).
  @Test func instants() {
    var schedule = ConnectionSchedule(timing: Self.timing, firstAnchor: .start)
    schedule.begin(2)
    schedule.plan(.channelMap(1), from: .central)
    #expect(schedule.nextInstant == 2 + 6 * 4)
    schedule.begin(25)
    #expect(schedule.takeChanges().isEmpty)
    schedule.begin(26)
    #expect(schedule.takeChanges().count == 1 && schedule.nextInstant == nil)
    let anchor = schedule.anchor
    schedule.apply(LinkTiming(interval: 80, latency: 0, timeout: 100))
    #expect(schedule.anchor(of: 27) == anchor + .milliseconds(100))
  }
}
