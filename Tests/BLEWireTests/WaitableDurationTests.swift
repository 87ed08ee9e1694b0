import BLEWire
import Testing

@Suite struct WaitableDurationTests {
  private static let century = Duration.seconds(100 * 365 * 86_400)

  @Test(
    arguments: [
      (.zero, .zero), (.nanoseconds(1), .nanoseconds(1)), (.seconds(30), .seconds(30)), (.seconds(-1), .zero),
      (.seconds(Int64.min), .zero), (Duration(attoseconds: .min), .zero), (century, century),
      (century + .nanoseconds(1), century), (.seconds(Int64.max), century), (Duration(attoseconds: .max), century),
    ] as [(Duration, Duration)])
  func aDurationOfAnySizeCanBeWaitedFor(_ duration: Duration, _ waitable: Duration) {
    #expect(duration.waitable == waitable)
    #expect(Instant.start + Self.century + duration.waitable >= .start + Self.century)
  }
}
