package import BLEHCI

/// The purpose of a connection. Data length, PHY, connection interval and the depth of the queue are chosen together
/// for it.
///
/// | | throughput | balanced | low power |
/// |---|---|---|---|
/// | packets of the link layer | the longest of the controller | unchanged | unchanged |
/// | PHY | LE 2M, where both devices have it | LE 1M again | LE 1M again |
/// | interval, as the central | 7.5 to 15 ms, the one that packets fill best | 30 to 50 ms | 105 to 125 ms |
/// | interval requested as the peripheral | 15 ms | 30 to 50 ms | 105 to 125 ms |
/// | latency | 0 | 0 | 2 |
/// | with subrating: interval | as above | as above | at most 50 ms |
/// | with subrating: factor | 1 | 1 | the one with which the link is used every 100 to 125 ms |
/// | frames in the queue of the link before writes without response wait | 128 | 32 | 32 |
///
/// What a peripheral requests is within the Accessory Design Guidelines for Apple Devices, the older and the newer
/// ones: the shortest interval a multiple of 15 ms, the longest one 20 ms above it or both 15 ms, a latency of 4 at
/// most, and a supervision timeout of 6 s.
///
/// Where both devices have subrating (Bluetooth 5.3), low power keeps a short interval and uses one of several
/// connection events. The link takes as little time of the radio, and is fast at once: after an event with data all
/// events are used until none has data (Docs/Decisions/links-and-channels.md#low-power-by-subrating).
///
/// Each setting is requested as far as the controller and the peer support it. If the controller or the peer rejects a
/// setting, that is logged, and the others follow. The resulting timing is reported like any other change of the
/// timing.
///
/// A connection event has room for whole packets only: on LE 2M with packets of 251 octets 7.5 ms hold 5 of 5.39, and
/// 11.25 ms hold 8 of 8.08. The central of a link with the priority throughput therefore asks for the interval that
/// fits the PHY, the data length and the encryption, and asks anew when one of them changes, until a program or the
/// peer has requested another timing.
public enum ConnectionPriority: String, Sendable, CaseIterable {
  /// As many octets a second as possible: for files and firmware. It takes the most energy.
  case throughput
  /// The timing of connections without a priority.
  case balanced
  /// As little time of the radio as possible: for values that change rarely.
  case lowPower

  /// The intervals of throughput: 7.5 to 15 ms. A longer one fits packets better in few cases, and adds latency.
  static let throughputIntervals: ClosedRange<UInt16> = 6...12

  /// The intervals that are short enough for low power by subrating: those of balanced, and shorter ones.
  static let subratedIntervals: ClosedRange<UInt16> = 6...40

  /// The subrating of low power for the interval of a timing: the greatest factor with which the link is used every 125
  /// ms or more often, and all events after one with data. Nil for an interval that is too long.
  static func lowPowerSubrating(of timing: LinkTiming) -> SubratingParameters? {
    guard timing.rateInterval > 0, timing.interval <= subratedIntervals.upperBound else { return nil }
    // With a latency of 2 the specification allows 166 (Vol 4, Part E, 7.8.123).
    let factor = min(166, max(2, 1000 / timing.rateInterval))
    return SubratingParameters(factor: factor...factor, latency: 2, continuation: factor - 1)
  }

  /// The timing to request for a link with these packets (Vol 4, Part E, 7.8.18;
  /// Docs/Decisions/links-and-channels.md#the-interval-that-packets-fill).
  package func parameters(_ role: ConnectedLink.Role, _ packets: LinkPackets) -> ConnectionParameters {
    switch self {
    // iOS rejects an interval below 15 ms that a peripheral requests.
    case .throughput where role == .peripheral: ConnectionParameters(interval: 12...12)
    case .throughput:
      ConnectionParameters(
        interval: packets.bestInterval(in: Self.throughputIntervals).map { $0...$0 } ?? Self.throughputIntervals)
    case .balanced: ConnectionParameters()
    case .lowPower: ConnectionParameters(interval: 84...100, latency: 2)
    }
  }

  /// The number of frames waiting on the link at which its client stops sending commands, and below which it continues;
  /// nil is ``HostConfiguration/congestion``.
  var congestion: (from: Int, below: Int)? { self == .throughput ? (from: 128, below: 64) : nil }
}
