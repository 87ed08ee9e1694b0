import BLEWire
import Testing

@testable import BLELinux

@Suite struct DeadlineTimerTests {
  private let clock = MonotonicClock()

  /// Whether the timer goes off before an hour has passed.
  private func goesOff(_ timer: borrowing DeadlineTimer) throws -> Bool {
    var poller = try Poller()
    try poller.watch(timer.descriptor, token: 1, for: .reading)
    return try poller.wait(until: clock.now() + .seconds(3_600), on: clock) == 1
  }

  @Test func anEarlierDeadlineIsSet() throws {
    var timer = try DeadlineTimer()
    timer.set(by: clock.now() + .seconds(86_400), on: clock)
    timer.set(by: .start, on: clock)
    #expect(try goesOff(timer))
    let (hadPassed, hadAgain) = (timer.drain(), timer.drain())
    #expect(hadPassed && !hadAgain)
  }

  @Test func aLaterDeadlineAndNoneLeaveIt() throws {
    var timer = try DeadlineTimer()
    timer.set(by: .start, on: clock)
    timer.set(by: clock.now() + .seconds(86_400), on: clock)
    timer.set(by: nil, on: clock)
    #expect(try goesOff(timer))
  }

  @Test func aDeadlineIsSetAgainAfterTheTimerHasGoneOff() throws {
    var timer = try DeadlineTimer()
    for _ in 0..<3 {
      timer.set(by: .start, on: clock)
      #expect(try goesOff(timer))
      let hadPassed = timer.drain()
      #expect(hadPassed)
    }
  }
}
