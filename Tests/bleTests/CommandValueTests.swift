import BLEKit
import Foundation
import Synchronization
import Testing
import ToolCore

@testable import ble

/// Values that commands print.
struct CommandValueTests {
  @Test func theOutputIsAValueOfTheCharacteristic() async throws {
    let value = CommandValue("echo '21.5 °C'; echo", of: "2A6E") { Issue.record("\($0)") }
    #expect(try await value.octets(notOlderThan: .zero) == [0x66, 0x08])
  }

  /// The shell has neither the input nor the ignored signals of the tool.
  @Test func aCommandReadsNothingAndHasTheUsualSignals() throws {
    signal(SIGPIPE, SIG_IGN)
    #expect(try CommandValue.output(of: "cat; echo end", within: .seconds(60)) == "end")
    #expect(try CommandValue.output(of: "yes | head -1", within: .seconds(60)) == "y")
    let error = #expect(throws: ToolError.self) {
      try CommandValue.output(of: "kill -PIPE $$; echo late", within: .seconds(60))
    }
    #expect(error?.description == "ended by signal 13")
  }

  @Test(arguments: [
    ("exit 3", 60_000, "exit status 3"), ("kill -9 $$", 60_000, "ended by signal 9"),
    ("exec sleep 600", 50, "more than"),
    ("sleep 600 & wait", 50, "more than"), ("exec >&-; sleep 600", 50, "more than"),
    ("yes", 60_000, "more than 4096 octets"),
    ("printf '\\377\\376'", 60_000, "not UTF-8"),
  ])
  func aCommandWithoutAValueIsAnError(command: String, milliseconds: Int, reason: String) {
    let error = #expect(throws: ToolError.self) {
      try CommandValue.output(of: command, within: .milliseconds(milliseconds))
    }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  @Test func theOutputIsLimited() throws {
    let limit = CommandValue.outputLimit
    func output(_ count: Int) throws -> String {
      try CommandValue.output(of: "head -c \(count) /dev/zero | tr '\\0' x", within: .seconds(60))
    }
    #expect(try output(limit).count == limit)
    #expect(throws: ToolError.self) { try output(limit + 1) }
  }

  @Test func aFailureIsReportedOnceUntilThereIsAValue() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    let reports = Mutex<[String]>([])
    let value = CommandValue("cat '\(file.path)' 2>/dev/null", of: "2A6E") { text in
      reports.withLock { $0.append(text) }
    }
    func fails(_ text: String?) async throws {
      if let text { try Data(text.utf8).write(to: file) }
      await #expect(throws: ATTErrorCode.unlikelyError) { try await value.octets(notOlderThan: .zero) }
    }
    try await fails(nil)
    try await fails(nil)
    #expect(
      reports.withLock { $0.count } == 1 && reports.withLock { $0[0] }.contains("2A6E has no value: the command 'cat "))
    try await fails("warm")
    #expect(
      reports.withLock { $0.count } == 2 && reports.withLock { $0[1] }.contains("'warm' is no value of Temperature"))
    try Data("20 °C".utf8).write(to: file)
    #expect(try await value.octets(notOlderThan: .zero) == [0xD0, 0x07])
    try await fails("warm")
    #expect(reports.withLock { $0.count } == 3)
    // A value that is not older is of use.
    #expect(try await value.octets(notOlderThan: .seconds(86_400)) == [0xD0, 0x07])
  }

  @Test func oneRunIsForAllThatWait() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    // It ends when the last task runs.
    let command = "echo run >> '\(file.path)'; until [ -e '\(file.path).go' ]; do sleep 0.01; done; echo uint8:7"
    defer { try? FileManager.default.removeItem(atPath: file.path + ".go") }
    let value = CommandValue(command, of: "FFF1", limit: .seconds(60)) { Issue.record("\($0)") }
    let values = try await withThrowingTaskGroup(of: [UInt8].self) { group in
      for number in 1...8 {
        group.addTask {
          // The others wait already, or get the value of the run, which is not too old.
          if number == 8 { try Data().write(to: URL(filePath: file.path + ".go")) }
          return try await value.octets(notOlderThan: .seconds(600))
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values == Array(repeating: [7], count: 8))
    #expect(try String(contentsOf: file, encoding: .utf8) == "run\n")
  }
}
