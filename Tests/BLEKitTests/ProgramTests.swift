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
