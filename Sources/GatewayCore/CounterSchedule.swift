/// Decides when the counters of a gateway are published: at once where something has happened, and once in
/// ``trafficInterval`` where only those of the traffic differ.
public struct CounterSchedule: Sendable {
  public static let trafficInterval = Duration.seconds(60)

  private var published: (counters: Messages.Counters, time: Duration)?

  public init() {}

  /// The broker may have lost them.
  public mutating func forget() { published = nil }

  /// Whether to publish the counters now; they count as published then.
  public mutating func isDue(_ counters: Messages.Counters, now: Duration) -> Bool {
    if let published {
      let interval = counters.withoutTraffic == published.counters.withoutTraffic ? Self.trafficInterval : .zero
      guard counters != published.counters, now - published.time >= interval else { return false }
    }
    published = (counters, now)
    return true
  }
}

extension Messages.Counters {
  /// Without what changes all the time.
  fileprivate var withoutTraffic: Self {
    var rest = self
    (rest.devices, rest.kept, rest.acknowledged, rest.coalescedAdvertisements) = (0, 0, 0, 0)
    return rest
  }
}
