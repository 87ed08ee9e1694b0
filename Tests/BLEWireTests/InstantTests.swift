import Testing

@testable import BLEWire

@Suite struct InstantTests {
  @Test func aSumIsExactToTheNanosecond() {
    let instant = Instant.start + .nanoseconds(1_999_999_999) + Duration(secondsComponent: 0, attosecondsComponent: 999)
    #expect(instant - .start == .nanoseconds(1_999_999_999))
    #expect(instant + .seconds(-2) < .start)
    #expect(Instant.start - instant == .nanoseconds(-1_999_999_999))
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(300 * 365 * 86_400)])
  func aSumBeyondTheScaleIsItsEnd(_ long: Duration) {
    let late = Instant.start + .seconds(1) + long
    #expect(late == late + long && late > .start + .seconds(290 * 365 * 86_400))
    let early = Instant.start + (.zero - long)
    #expect(early == early + (.zero - long) && early < .start + .seconds(-290 * 365 * 86_400))
  }
}
