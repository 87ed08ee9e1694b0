internal import BLEWire
import Glibc
import Synchronization

/// The log of the stack: misused commands, requests without an answer, faults of peers and controllers.
///
/// Without a handler the lines go to standard error. The log never blocks the stack: if standard error is slow or full,
/// at most 256 KiB wait, and of further lines the log has the number. If it is closed, they are dropped.
///
/// A peer cannot fill the log: of the lines that differ in numbers and quoted text only, 8 pass in 10 s, and one line
/// has the number of the others. That is so with a handler, too.
///
/// ```swift
/// BluetoothLog.setHandler { level, text in print(level, text) }
/// ```
public enum BluetoothLog {
  /// The levels of a line.
  public enum Level: String, Sendable {
    /// The program used the API in a way that has no effect.
    case misuse
    /// A peer, the controller or the transport did something that concerns the program, or a command of the program has
    /// an effect that it may not expect.
    case notice
  }

  /// A function that receives each line of the log, without a line break. It can be called on any thread.
  public typealias Handler = @Sendable (Level, String) -> Void

  private static let handler = Mutex<Handler?>(nil)

  /// Replaces the handler of the whole process; nil restores the default. It may be called on any thread.
  public static func setHandler(_ new: Handler?) { handler.withLock { $0 = new } }

  private static let clock = MonotonicClock()

  private struct Limiter {
    var limits = LogLimiter()
    /// Whether a thread waits to write its summaries.
    var isWaiting = false
  }

  private static let limiter = Mutex(Limiter())

  package static func write(_ level: Level, _ text: String) {
    let (isAdmitted, begins) = limiter.withLock { limiter in
      let isAdmitted = limiter.limits.admits(level, text, now: clock.now())
      let begins = !isAdmitted && !limiter.isWaiting
      if begins { limiter.isWaiting = true }
      return (isAdmitted, begins)
    }
    if isAdmitted { deliver(level, text) }
    guard begins else { return }
    do throws(SystemError) { try LoopThread.start { summarize() } } catch {
      // The next line that is left out tries again.
      limiter.withLock { $0.isWaiting = false }
    }
  }

  private static func deliver(_ level: Level, _ text: String) {
    if let handler = handler.withLock({ $0 }) {
      handler(level, text)
    } else {
      LineOutput.standardError.write("[BluetoothLE] \(text)\n")
    }
  }

  /// Writes the summaries as they are due, on a thread that ends with the last one.
  private static func summarize() {
    do throws(SystemError) {
      var poller = try Poller()
      while true {
        let (summaries, deadline) = limiter.withLock { limiter in
          let summaries = limiter.limits.takeSummaries(now: clock.now())
          if limiter.limits.deadline == nil { limiter.isWaiting = false }
          return (summaries, limiter.limits.deadline)
        }
        for (level, text) in summaries { deliver(level, text) }
        guard let deadline else { return }
        try poller.wait(until: deadline, on: clock)
      }
    } catch {
      // Without a descriptor nothing can wait. The next line that is left out tries again.
      limiter.withLock { $0.isWaiting = false }
    }
  }

  /// Writes all summaries at the end of the process. A handler is not called: it may use what has ended already.
  static func summarizeAll() {
    guard handler.withLock({ $0 == nil }) else { return }
    let summaries = limiter.withLock { $0.limits.takeSummaries(now: clock.now() + LogLimiter.period) }
    for (level, text) in summaries { deliver(level, text) }
  }
}

/// The log of one client, which tests replace.
package typealias Log = BluetoothLog.Handler
