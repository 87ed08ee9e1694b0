import TestSupport
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

  @Test func theNanosecondsOfADurationAreTheQuotient() {
    var random = SplitMix64(seed: 7)
    var durations: [Int128] = [0, 1, 999_999_999, 1_000_000_000, .max, .min]
    for limit in [Int128(Int64.max), Int128(Int64.min), 1 << 31, 1 << 32, 1 << 62] {
      durations += (-2...2).map { limit * 1_000_000_000 + $0 } + (-2...2).map { (limit + $0) * 1_000_000_000 - 1 }
    }
    for _ in 0..<10_000 {
      durations.append(
        Int128(truncatingIfNeeded: UInt128.random(in: 0...(.max), using: &random)) >> Int128(random.next() % 127))
    }
    for attoseconds in durations {
      let nanoseconds = Duration(attoseconds: attoseconds).wholeNanoseconds
      #expect(nanoseconds == Int64(clamping: attoseconds / 1_000_000_000), "\(attoseconds)")
    }
  }

  @Test(arguments: [0, 1, -1, 1_500_000, Int64.max / 1000, Int64.min / 1000]) func countsMicroseconds(count: Int64) {
    let instant = Instant(microseconds: count)
    #expect(instant == .start + .microseconds(count))
    #expect(instant.microseconds == count)
  }

  @Test func microsecondsBeyondTheScaleAreItsEnd() {
    #expect(Instant(microseconds: .max).nanoseconds == .max)
    #expect(Instant(microseconds: .min).nanoseconds == .min)
  }
}
