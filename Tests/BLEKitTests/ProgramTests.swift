import Glibc
import Synchronization
import Testing

@testable import BLEKit

/// `Adapter.runProgram` ends the process, so that each test has one of its own.
@Suite struct ProgramTests {
  private static func text(_ result: ExitTest.Result?) -> [String] {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func anErrorIsOneLineWithItsRemedy() async {
    let result = await #expect(processExitsWith: .exitCode(69), observing: [\.standardErrorContent]) {
      await Adapter.runProgram {
        _ = try await Adapter.open(AdapterOptions(transport: "unix-client:/nonexistent/radio"))
      }
    }
    let lines = Self.text(result)
    #expect(lines.count == 1)
    #expect(lines.first?.hasPrefix("unix-client:/nonexistent/radio: ") == true)
  }

  @Test func anErrorOfTheProgramHasTheStatus1() async {
    let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
      struct Full: Error, CustomStringConvertible { var description: String { "the disk is full" } }
      await Adapter.runProgram { throw Full() }
    }
    #expect(Self.text(result) == ["the disk is full"])
  }

  /// A program that serves until the signal arrives, when another device has found it.
  private static func runUntilSignal(_ number: Int32) async {
    await Adapter.runProgram {
      let adapter = try await Adapter.open(AdapterOptions(transport: "virtual:program"))
      async let serving: Void = adapter.serve([LocalService("180F", [])], advertisingAs: "Battery")
      let other = try await Adapter.open(AdapterOptions(transport: "virtual:other"))
      for try await _ in other.scan(ScanOptions(services: ["180F"])) { break }
      kill(getpid(), number)
      try await serving
    }
  }

  @Test func controlCEndsWhatIsServedAndIsNoError() async {
    let result = await #expect(processExitsWith: .exitCode(0), observing: [\.standardErrorContent]) {
      await ProgramTests.runUntilSignal(SIGINT)
    }
    #expect(!Self.text(result).contains { $0.contains("cancelled") })
  }

  @Test func systemdsSignalEndsWhatIsServedAndIsNoError() async {
    let result = await #expect(processExitsWith: .exitCode(0), observing: [\.standardErrorContent]) {
      await ProgramTests.runUntilSignal(SIGTERM)
    }
    #expect(!Self.text(result).contains { $0.contains("cancelled") })
  }

  /// A task that waits for something that never comes.
  @Test func aTaskThatDoesNotEndAfterASignalIsNotWaitedFor() async {
    await #expect(processExitsWith: .exitCode(128 + SIGTERM)) {
      let signals = ProgramSignals(whenLate: { number in exit(128 + number) })
      let held = Mutex<UnsafeContinuation<Void, Never>?>(nil)
      let work = signals.task {
        kill(getpid(), SIGTERM)
        await withUnsafeContinuation { task in held.withLock { $0 = task } }
      }
      try await work.value
    }
  }

  @Test func aSecondSignalEndsTheProcessUnlessItRepeatsTheFirst() {
    let signals = ProgramSignals()
    let start = ContinuousClock.now
    #expect(signals.effect(of: SIGTERM, at: start) == .cancels)
    #expect(signals.received == SIGTERM)
    #expect(signals.effect(of: SIGTERM, at: start + .milliseconds(199)) == .isRepeated)
    #expect(signals.effect(of: SIGINT, at: start + .milliseconds(199)) == .ends)
    #expect(signals.effect(of: SIGTERM, at: start + .milliseconds(200)) == .ends)
    #expect(signals.received == SIGTERM)
  }

  /// SIGINT is that of an operation, SIGTERM that of the program.
  @Test func anOperationTakesControlC() {
    let signals = ProgramSignals()
    let start = ContinuousClock.now
    let taken = Mutex((count: 0, takes: true))
    signals.setInterruption {
      taken.withLock { taken in
        taken.count += 1
        return taken.takes
      }
    }
    #expect(signals.effect(of: SIGINT, at: start) == .interrupts)
    // The next operation.
    #expect(signals.effect(of: SIGINT, at: start + .milliseconds(1)) == .interrupts)
    #expect(taken.withLock(\.count) == 2 && signals.received == nil)
    // An operation that does not end leaves the signal to the program, unless it repeats the one before.
    taken.withLock { $0.takes = false }
    #expect(signals.effect(of: SIGINT, at: start + .milliseconds(200)) == .isRepeated)
    #expect(signals.effect(of: SIGINT, at: start + .milliseconds(201)) == .cancels)
    #expect(signals.effect(of: SIGINT, at: start + .seconds(2)) == .ends)
    #expect(taken.withLock(\.count) == 4 && signals.received == SIGINT)
  }

  @Test func anOperationDoesNotTakeSystemdsSignal() {
    let signals = ProgramSignals()
    let start = ContinuousClock.now
    signals.setInterruption { true }
    #expect(signals.effect(of: SIGINT, at: start) == .interrupts)
    #expect(signals.effect(of: SIGTERM, at: start + .milliseconds(1)) == .cancels)
    #expect(signals.effect(of: SIGINT, at: start + .seconds(1)) == .ends)
    // Without an operation, SIGINT is that of the program.
    let others = ProgramSignals()
    others.setInterruption { true }
    others.setInterruption(nil)
    #expect(others.effect(of: SIGINT, at: start) == .cancels)
  }

  @Test func aLineIsWrittenAtOnce() async {
    // `_exit` writes nothing that waits in a buffer.
    let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
      await Adapter.runProgram {
        print("a line")
        _exit(3)
      }
    }
    let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    #expect(output.split(separator: "\n").contains("a line"))
  }
}
