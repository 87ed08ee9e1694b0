import BLEWire
import Testing

@testable import BLEAdapter

@Suite struct BondSaveScheduleTests {
  private let start = Instant.start

  @Test func aChangeOfTrustIsDueAtOnce() {
    var schedule = BondSaveSchedule()
    #expect(schedule.deadline == nil)
    for second in 0..<3 {
      let now = start + .seconds(second) / 10
      schedule.change(.atOnce, now: now)
      #expect(schedule.deadline == now)
      schedule.begin(now: now)
      #expect(schedule.deadline == nil && schedule.succeed() == 0)
    }
  }

  @Test func otherChangesAreDueOnceASecond() {
    var schedule = BondSaveSchedule()
    schedule.change(.soon, now: start)
    #expect(schedule.deadline == start, "the first one does not wait")
    schedule.begin(now: start)
    _ = schedule.succeed()
    schedule.change(.soon, now: start + .milliseconds(10))
    schedule.change(.soon, now: start + .milliseconds(990))
    #expect(schedule.deadline == start + .seconds(1))
    schedule.change(.atOnce, now: start + .milliseconds(995))
    #expect(schedule.deadline == start + .milliseconds(995), "trust takes the others along")
    schedule.begin(now: start + .milliseconds(995))
    _ = schedule.succeed()
    schedule.change(.soon, now: start + .seconds(9))
    #expect(schedule.deadline == start + .seconds(9), "after a second of rest")
  }

  @Test func pausesDoubleUpToAMinuteUntilAnAttemptSucceeds() {
    var schedule = BondSaveSchedule()
    var now = start
    schedule.change(.atOnce, now: now)
    for (number, pause) in [1, 2, 4, 8, 16, 32, 60, 60, 60].enumerated() {
      schedule.begin(now: now)
      #expect(schedule.fail(now: now) == (number == 0), "the log has one line of it")
      #expect(schedule.deadline == now + .seconds(pause))
      schedule.change(.atOnce, now: now)
      schedule.change(.soon, now: now)
      #expect(schedule.deadline == now + .seconds(pause), "a change does not shorten the pause")
      now = now + .seconds(pause)
    }
    schedule.begin(now: now)
    #expect(schedule.succeed() == 9 && schedule.deadline == nil)
    schedule.change(.atOnce, now: now)
    schedule.begin(now: now)
    #expect(schedule.fail(now: now) && schedule.deadline == now + .seconds(1))
  }

  /// A device subscribes right after it has paired.
  @Test func theFirstChangeAfterAPairingDoesNotWait() {
    var schedule = BondSaveSchedule()
    for number in 0..<2 {
      schedule.change(.atOnce, now: start + .milliseconds(number))
      schedule.begin(now: start + .milliseconds(number))
      _ = schedule.succeed()
    }
    schedule.change(.soon, now: start + .milliseconds(3))
    #expect(schedule.deadline == start + .milliseconds(3))
  }

  @Test func aChangeDuringAnAttemptIsSavedByTheNext() {
    var schedule = BondSaveSchedule()
    schedule.change(.soon, now: start)
    schedule.begin(now: start)
    schedule.change(.soon, now: start + .milliseconds(3))
    _ = schedule.succeed()
    #expect(schedule.deadline == start + .seconds(1))
  }
}
