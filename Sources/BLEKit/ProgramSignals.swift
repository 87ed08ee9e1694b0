import Dispatch
import Glibc
import Synchronization

/// SIGINT (Control-C) and SIGTERM of a program: the first one cancels its task, a second one ends the process at once.
///
/// The same signal again within 200 ms is the first one: GNU `timeout` sends its signal to the program and then to the
/// program's process group. The signals are watched until the process ends.
///
/// A program with a prompt takes SIGINT itself while it can (``setInterruption(_:)``); SIGTERM ends it at any time.
package final class ProgramSignals: Sendable {
  /// What a signal does.
  enum Effect { case cancels, isRepeated, ends, interrupts }

  static let numbers = [SIGINT, SIGTERM]
  static let repetition: Duration = .milliseconds(200)

  /// How long a program may wait for its task after the first signal: until then a link that is ended counts as ended,
  /// whatever the controller does, and the rest of two seconds is for the end of the adapters.
  package static let patience: Duration = .milliseconds(1_200)
  /// How long the adapters may take to end afterwards.
  package static let timeToEndLate: Duration = .milliseconds(600)

  private let first = Mutex<(number: Int32, time: ContinuousClock.Instant)?>(nil)

  /// Takes SIGINT for an operation of the program, as long as no signal has cancelled the task.
  ///
  /// - Returns: false if the signal is that of the whole program after all.
  package typealias Interruption = @Sendable () -> Bool

  private struct Interruptions {
    var interruption: Interruption?
    /// When the last signal was taken.
    var lastTime: ContinuousClock.Instant?
  }

  private let interruptions = Mutex(Interruptions())

  private let whenLate: (@Sendable (Int32) -> Void)?
  private let beforeEnd: @Sendable () -> Void

  /// - Parameters:
  ///   - whenLate: called ``patience`` after the first signal, if the process still runs: ends it. Nil waits for the
  ///     task.
  ///   - beforeEnd: runs before a second signal ends the process.
  package init(
    whenLate: (@Sendable (Int32) -> Void)? = nil, beforeEnd: @escaping @Sendable () -> Void = {}
  ) {
    (self.whenLate, self.beforeEnd) = (whenLate, beforeEnd)
  }

  /// Gives SIGINT to a part of the program from now on; nil gives it to the program again.
  package func setInterruption(_ new: Interruption?) { interruptions.withLock { $0.interruption = new } }

  /// The signal that has cancelled the task.
  package var received: Int32? { first.withLock { $0?.number } }

  /// How long the adapters may take to end: what is left of two seconds after the first signal, without time for the
  /// process itself; 1.5 s without a signal.
  package var timeToEnd: Duration {
    guard let time = first.withLock({ $0?.time }) else { return .milliseconds(1_500) }
    return max(.milliseconds(300), Self.patience + Self.timeToEndLate - time.duration(to: .now))
  }

  /// Runs `body` as soon as both signals are watched: a signal that arrives earlier ends the process, which has nothing
  /// to undo then.
  package func task(_ body: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
    let (watched, watch) = AsyncStream.makeStream(of: Int32.self)
    let work = Task {
      for await _ in watched.prefix(Self.numbers.count) {}
      try await body()
    }
    for number in Self.numbers {
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setRegistrationHandler { watch.yield(number) }
      source.setEventHandler { [self] in
        // A source that nobody refers to reports no signal.
        withExtendedLifetime(source) {}
        switch effect(of: number, at: .now) {
        case .cancels:
          work.cancel()
          guard let whenLate else { break }
          let (seconds, attoseconds) = Self.patience.components
          let time = Double(seconds) + Double(attoseconds) / 1e18
          DispatchQueue.global().asyncAfter(deadline: .now() + time) { whenLate(number) }
        case .isRepeated, .interrupts: break
        case .ends:
          beforeEnd()
          _exit(128 + number)
        }
      }
      source.activate()
    }
    return work
  }

  func effect(of number: Int32, at time: ContinuousClock.Instant) -> Effect {
    if number == SIGINT, received == nil, let effect = interruption(at: time) { return effect }
    return first.withLock { first in
      guard let earlier = first else {
        first = (number, time)
        return .cancels
      }
      return earlier.number == number && time - earlier.time < Self.repetition ? .isRepeated : .ends
    }
  }

  /// The effect of SIGINT on a part of the program; nil if it is a signal of the program.
  private func interruption(at time: ContinuousClock.Instant) -> Effect? {
    let now = interruptions.withLock { $0 }
    guard let interruption = now.interruption else { return nil }
    guard interruption() else { return now.lastTime.map { time - $0 < Self.repetition } == true ? .isRepeated : nil }
    interruptions.withLock { $0.lastTime = time }
    return .interrupts
  }
}
