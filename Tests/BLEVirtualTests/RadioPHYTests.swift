import BLEHCI
import BLEWire
import Testing

@testable import BLEVirtual

/// Airtime and schedules by themselves.
struct RadioPHYTests {
  /// The least and the greatest times of Data Length Update are those of 27 and 251 octets with a message integrity
  /// check (Vol 6, Part B, 4.5.10).
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

  /// Vol 6, Part B, 2.3: the octets of legacy advertising PDUs on LE 1M.
  @Test func legacyPDUs() {
    // ADV_IND with 31 octets, SCAN_REQ, CONNECT_IND.
    #expect(RadioPHY.le1M.airtime(payload: AdvertisingPDU.addressLength + 31) == .microseconds(376))
    #expect(RadioPHY.le1M.airtime(payload: AdvertisingPDU.scanRequestLength) == .microseconds(176))
    #expect(RadioPHY.le1M.airtime(payload: AdvertisingPDU.connectRequestLength) == .microseconds(352))
  }

  static let timing = LinkLayerTiming(interval: 8, latency: 3, timeout: 100)

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
    schedule.apply(LinkLayerTiming(interval: 80, latency: 0, timeout: 100))
    #expect(schedule.anchor(of: 27) == anchor + .milliseconds(100))
  }

  /// 30 ms of each 60 ms, on 37, 38, 39 in turn (Vol 6, Part B, 4.4.3).
  @Test func scanWindows() {
    var schedule = ScanSchedule([.le1M: .init(interval: 96, window: 48)])
    schedule.start = .start + .seconds(1)
    func receives(_ milliseconds: Int64, on channel: Int, _ phy: HCI.PHY = .le1M) -> Bool {
      let begin = schedule.start + .milliseconds(milliseconds)
      return schedule.receives(on: phy, channel: channel, from: begin, to: begin + .milliseconds(1))
    }
    #expect(receives(0, on: 37) && receives(29, on: 37) && !receives(30, on: 37) && !receives(59, on: 37))
    #expect(receives(60, on: 38) && receives(120, on: 39) && receives(180, on: 37))
    #expect(!receives(0, on: 38) && !receives(60, on: 37) && !receives(-1, on: 37) && !receives(0, on: 37, .leCoded))
    // A packet that goes on beyond the window is not received.
    let late = schedule.start + .microseconds(29_500)
    #expect(!schedule.receives(on: .le1M, channel: 37, from: late, to: late + .milliseconds(1)))
  }

  /// 1650 octets: one AUX_ADV_IND and six AUX_CHAIN_INDs, T_MAFS apart (Vol 6, Part B, 2.3.4.6).
  @Test func chains() {
    let nobody = DeviceAddress(octets: BD_ADDR(), kind: .public)
    func airtime(_ count: Int) -> Duration {
      var parameters = HCI.LESetExtendedAdvertisingParameters()
      parameters.secondaryAdvertisingPHY = .le1M
      let advertisement = AdvertisingPDU(
        sender: 0, handle: 0, address: nobody, properties: [], target: nobody, data: Bytes(repeating: 0, count: count),
        dataIdentifier: 0, parameters: parameters, txPower: 0, rssi: 0)
      return advertisement.secondaryAirtime(fixed: advertisement.auxiliaryFields, data: count)
    }
    // Length, flags, ADI and AdvA are 10 octets: 245 fit into one packet of 265 octets on the channel.
    let full: Int64 = 8 * 265
    #expect(airtime(245) == .microseconds(full))
    // One more: AuxPtr takes 3 octets, so 4 octets of data follow behind a header of 7.
    let short: Int64 = 8 * (10 + 7 + 4)
    #expect(airtime(246) == .microseconds(full + 300 + short))
    // 242, five times 248, and 168.
    let last: Int64 = 8 * (10 + 7 + 168)
    #expect(airtime(1650) == .microseconds(6 * full + 6 * 300 + last))
  }

  /// Three ADV_EXT_INDs of 136 µs, then the auxiliary packet T_MAFS behind the last (Vol 6, Part B, 4.4.2.2.2).
  @Test func auxiliaryOffset() throws {
    var parameters = HCI.LESetExtendedAdvertisingParameters()
    parameters.secondaryAdvertisingPHY = .le2M
    let nobody = DeviceAddress(octets: BD_ADDR(), kind: .public)
    let advertisement = AdvertisingPDU(
      sender: 0, handle: 0, address: nobody, properties: [], target: nobody, data: [1, 2, 3], dataIdentifier: 0,
      parameters: parameters, txPower: 0, rssi: 0)
    var event = try #require(AdvertisingEvent(advertisement, at: .start))
    var channels: [Int] = []
    var ends: [Instant] = []
    event.followers = [ControllerID(slot: 1, generation: 1)]
    repeat {
      if case .primary(let channel) = event.stage { channels.append(channel) }
      ends.append(event.end)
    } while event.advance()
    #expect(channels == [37, 38, 39])
    let gap = AdvertisingEvent.channelGap
    let first = Instant.start + .microseconds(136)
    let second = first + gap + .microseconds(136)
    let third = second + gap + .microseconds(136)
    // 44 µs, then 10 octets of extended header and 3 of data, 4 µs each.
    let auxiliary = third + .microseconds(300 + 44 + 52)
    #expect(ends == [first, second, third, auxiliary])
  }

  /// Nobody received an ADV_EXT_IND: the event is over without the auxiliary packet. Channels that the map leaves out
  /// are not used.
  @Test func eventWithoutFollowers() throws {
    var parameters = HCI.LESetExtendedAdvertisingParameters()
    parameters.primaryAdvertisingChannelMap = [.channel37, .channel39]
    let nobody = DeviceAddress(octets: BD_ADDR(), kind: .public)
    let advertisement = AdvertisingPDU(
      sender: 0, handle: 0, address: nobody, properties: .connectable, target: nobody, data: [], dataIdentifier: 0,
      parameters: parameters, txPower: 0, rssi: 0)
    var event = try #require(AdvertisingEvent(advertisement, at: .start))
    let hasSecond = event.advance()
    guard hasSecond, case .primary(channel: 39) = event.stage else {
      Issue.record("channel 39")
      return
    }
    let hasThird = event.advance()
    #expect(!hasThird)
  }
}
