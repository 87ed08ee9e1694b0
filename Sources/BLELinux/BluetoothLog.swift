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
/// BluetoothLog.setHandler { line in print(line.level, line.category, line.text) }
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

  /// The part of the system that a line is about.
  public enum Category: String, Sendable, CaseIterable {
    /// The program: a call without an effect, a handler that failed.
    case application
    /// A device, or the link to it.
    case peer
    /// The controller.
    case controller
    /// The connection to the controller: a socket, a serial line, an adapter of the kernel.
    case transport
    /// A file with bonds, with devices, or with what a manager restores.
    case storage
  }

  /// One line of the log.
  public struct Line: Hashable, Sendable, CustomStringConvertible {
    /// How the line is to be treated.
    public var level: Level
    /// The part of the system that the line is about.
    public var category: Category
    /// The line, without a line break.
    public var text: String
    /// What the line is about, as far as that is known: `adapter` is the transport, `link` the number of a link in this
    /// process, and `device` the address of the other device on it.
    public var metadata: [String: String]

    /// A line with these fields.
    public init(_ level: Level, _ category: Category, _ text: String, metadata: [String: String] = [:]) {
      (self.level, self.category, self.text, self.metadata) = (level, category, text, metadata)
    }

    public var description: String { text }

    package static func misuse(_ text: String) -> Self { Self(.misuse, .application, text) }

    package static func notice(
      _ text: String, _ category: Category = .application, metadata: [String: String] = [:]
    ) -> Self {
      Self(.notice, category, text, metadata: metadata)
    }
  }

  /// A function that receives each line of the log. It can be called on any thread.
  public typealias Handler = @Sendable (Line) -> Void

  /// A struct, because each access to a closure in a `Mutex` would take memory that is never freed.
  private struct HeldHandler: Sendable { var handler: Handler? }

  private static let held = Mutex(HeldHandler())

  /// Replaces the handler of the whole process; nil restores the default. It may be called on any thread.
  public static func setHandler(_ new: Handler?) { held.withLock { $0.handler = new } }

  /// A function that decides whether a line is written.
  package typealias Filter = @Sendable (Line) -> Bool

  private struct HeldFilter: Sendable { var filter: Filter? }

  private static let heldFilter = Mutex(HeldFilter())

  /// Sets the filter of the process, for a program whose errors say what some lines say; nil for none. It may be called
  /// on any thread.
  package static func setFilter(_ new: Filter?) { heldFilter.withLock { $0.filter = new } }

  private static let clock = MonotonicClock()

  private struct Limiter {
    var limits = LogLimiter()
    /// Whether a thread waits to write its summaries.
    var isWaiting = false
  }

  private static let limiter = Mutex(Limiter())

  package static func write(_ line: Line) {
    if let filter = heldFilter.withLock({ $0.filter }), !filter(line) { return }
    let (isAdmitted, begins) = limiter.withLock { limiter in
      let isAdmitted = limiter.limits.admits(line, now: clock.now())
      let begins = !isAdmitted && !limiter.isWaiting
      if begins { limiter.isWaiting = true }
      return (isAdmitted, begins)
    }
    if isAdmitted { deliver(line) }
    guard begins else { return }
    do throws(SystemError) { try LoopThread.start { summarize() } } catch {
      // The next line that is left out tries again.
      limiter.withLock { $0.isWaiting = false }
    }
  }

  private static func deliver(_ line: Line) {
    if let handler = held.withLock({ $0.handler }) {
      handler(line)
    } else {
      LineOutput.standardError.write("[BluetoothLE] \(line.text)\n")
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
        for line in summaries { deliver(line) }
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
    guard held.withLock({ $0.handler == nil }) else { return }
    let summaries = limiter.withLock { $0.limits.takeSummaries(now: clock.now() + LogLimiter.period) }
    for line in summaries { deliver(line) }
  }
}

/// The log of one client, which tests replace.
package typealias Log = BluetoothLog.Handler
