import BLEHost
import BLESMP
import Synchronization
import Testing

@testable import BLEKit
@testable import BLELinux
@testable import ble

/// The lines of the log about pairings that failed, beside the errors of the tool.
struct PairingFailuresTests {
  private static func line(_ text: String, _ category: BluetoothLog.Category = .peer) -> BluetoothLog.Line {
    .notice(text, category)
  }

  private static let failure = line("peer (link 1): the pairing failed, Confirm Value Failed")

  /// The lines that were written, in order: at once or later.
  private final class Written: Sendable {
    private let lines = Mutex<[BluetoothLog.Line]>([])
    private let ended = Mutex(false)

    func failures() -> PairingFailures {
      PairingFailures(
        write: { line in self.lines.withLock { $0.append(line) } }, isEnding: { self.ended.withLock { $0 } })
    }

    var texts: [String] { lines.withLock { $0.map(\.text) } }
    func end() { ended.withLock { $0 = true } }
  }

  @Test func anErrorWithThePairingReplacesTheLine() async {
    let written = Written()
    let failures = written.failures()
    await #expect(throws: BLEError.self) {
      try await failures.during {
        #expect(!failures.admits(Self.failure))
        #expect(failures.admits(Self.line("peer (link 1): something else")))
        #expect(failures.admits(Self.line("the pairing failed, x", .application)))
        throw BLEError(PairingFailure(.authenticationRequirements, .peer))
      }
    }
    #expect(written.texts.isEmpty)
    // Without an operation it is news.
    #expect(failures.admits(Self.failure))
  }

  /// A pairing that failed, and an operation that succeeds or fails for another reason.
  @Test(arguments: [nil, BLEError(.timedOut, "no answer")]) func theLineFollowsWithoutSuchAnError(error: BLEError?)
    async
  {
    let written = Written()
    let failures = written.failures()
    _ = try? await failures.during {
      #expect(!failures.admits(Self.failure))
      if let error { throw error }
    }
    #expect(written.texts == [Self.failure.text])
  }

  @Test func anOperationThatWaitsHoldsNoLineBack() async throws {
    let written = Written()
    let failures = written.failures()
    try await failures.during {
      #expect(!failures.admits(Self.failure))
      failures.operationWaits()
      #expect(written.texts == [Self.failure.text])
      #expect(failures.admits(Self.failure))
    }
    try await failures.during { #expect(!failures.admits(Self.failure)) }
    #expect(written.texts.count == 2)
  }

  @Test func theNumberOfKeptLinesIsLimited() async throws {
    let written = Written()
    let failures = written.failures()
    try await failures.during {
      for number in 0...PairingFailures.limit {
        #expect(failures.admits(Self.failure) == (number == PairingFailures.limit))
      }
    }
    #expect(written.texts.count == PairingFailures.limit)
  }

  @Test func theEndOfTheToolIsNoNews() {
    let written = Written()
    let failures = written.failures()
    written.end()
    #expect(!failures.admits(Self.failure) && failures.admits(Self.line("something else")))
    #expect(written.texts.isEmpty)
  }
}
