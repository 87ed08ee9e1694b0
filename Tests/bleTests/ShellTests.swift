import Synchronization
import Testing
import ToolCore

@testable import ble

/// The lines of `ble shell`, and its subscriptions.
struct ShellTests {
  @Test(arguments: [
    ("read 2A19", ["read", "2A19"]), ("  read\t2A19  ", ["read", "2A19"]), ("", []), ("   ", []), ("# a comment", []),
    ("write 2A3D 'text:two words' # a comment", ["write", "2A3D", "text:two words"]),
    ("write 2A3D text:\"it's\"", ["write", "2A3D", "text:it's"]), ("write 2A3D ''", ["write", "2A3D", ""]),
    ("write 2A3D text:a#b", ["write", "2A3D", "text:a#b"]), ("write 2A3D '#'", ["write", "2A3D", "#"]),
    ("wait 'Battery Level' 64", ["wait", "Battery Level", "64"]),
  ])
  func aLineIsWords(line: String, words: [String]) throws { #expect(try ShellLine.words(line) == words) }

  @Test(arguments: ["read 'Battery Level", "write 2A3D text:\"it's", "'"])
  func aQuotationMarkHasASecondOne(line: String) {
    let error = #expect(throws: ToolError.self) { try ShellLine.words(line) }
    #expect(error?.status == 64 && error?.description.hasPrefix("a quotation mark") == true)
  }

  @Test func aLineHasALimit() throws {
    let limit = StandardInput.lineLimit
    #expect(try ShellLine.words(String(repeating: "x", count: limit)).map(\.count) == [limit])
    let error = #expect(throws: ToolError.self) { try ShellLine.words(String(repeating: "x", count: limit + 1)) }
    #expect(error?.description == "a line has at most \(limit) octets")
  }

  @Test(arguments: [
    ("raed", "unknown command 'raed'. Did you mean 'read'? The commands: help"),
    ("quit", "unknown command 'quit'. Did you mean 'exit'? The commands: help"),
    ("q", "unknown command 'q'. Did you mean 'exit'? The commands: help"),
    ("fly", "unknown command 'fly'. The commands: help"), ("\u{1B}", "unknown command '\\u{1B}'. The commands: help"),
  ])
  func anUnknownCommandIsNamed(name: String, reason: String) {
    let error = #expect(throws: ToolError.self) { try ShellCommand.named(name) }
    #expect(error?.status == 64 && error?.description == reason)
  }

  private func parsed(_ line: String) throws -> ParsedArguments {
    let words = try ShellLine.words(line)
    return try ParsedArguments(try ShellCommand.named(words[0]).declaration, words.dropFirst())
  }

  @Test func commandsHaveTheOperandsAndOptionsOfTheTool() throws {
    let write = try parsed("write 'Battery Level' 01ff --no-response --service 180F --handle 0x21")
    #expect(
      write.operands == ["Battery Level", "01ff"] && write.has("no-response") && write.value("service") == "180F")
    #expect(try write.handle("handle") == 0x21)
    #expect(
      try parsed("wait 2A19").operand(1) == nil && parsed("wait 2A19 64 --timeout 5").seconds("timeout") == .seconds(5))
    #expect(try parsed("help").operands.isEmpty && parsed("pair --authenticated").has("authenticated"))
  }

  @Test(arguments: [
    ("read", "CHARACTERISTIC is missing\nusage: read [OPTIONS] CHARACTERISTIC\nMore: read --help"),
    ("write 2A19", "VALUE is missing\nusage: write [OPTIONS] CHARACTERISTIC VALUE\nMore: write --help"),
    ("read 2A19 64", "unexpected operand '64'\nusage: read [OPTIONS] CHARACTERISTIC\nMore: read --help"),
    (
      "read Battery Level",
      "unexpected operand 'Level'. Words that belong together need quotation marks: 'Battery Level'\n"
        + "usage: read [OPTIONS] CHARACTERISTIC\nMore: read --help"
    ),
    (
      "write 2A19 50 %",
      "unexpected operand '%'. Words that belong together need quotation marks: '50 %'\n"
        + "usage: write [OPTIONS] CHARACTERISTIC VALUE\nMore: write --help"
    ),
    ("exit 1", "unexpected operand '1'\nusage: exit\nMore: exit --help"),
    (
      "read 2A19 --servce 180F",
      "unknown option --servce. Did you mean --service?\nusage: read [OPTIONS] CHARACTERISTIC\nMore: read --help"
    ),
  ])
  func aWrongLineIsExplainedByTheCommand(line: String, reason: String) {
    let error = #expect(throws: ToolError.self) { try parsed(line) }
    #expect(error?.status == 64 && error?.description == reason)
  }

  @Test func theHelpFitsEightyColumns() throws {
    #expect(Set(ShellCommand.all.map(\.declaration.name)).count == ShellCommand.all.count)
    for command in ShellCommand.all {
      for line in HelpText.text(of: command.declaration).split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }
    for line in try ShellCommand.help(nil).split(separator: "\n") { #expect(line.count <= 120, "\(line)") }
  }

  @Test func aSubscriptionKeepsTheValuesThatNobodyHasWaitedFor() async {
    let subscription = ShellSubscription()
    subscription.add([1])
    subscription.add([2])
    #expect(await subscription.next() == [1])
    #expect(await subscription.next() == [2])
    async let later = subscription.next()
    subscription.add([3])
    #expect(await later == [3])
    subscription.add([4])
    subscription.end()
    #expect(await subscription.next() == [4])
    #expect(await subscription.next() == nil)
  }

  @Test func aSubscriptionKeepsALimitedNumberOfValues() async {
    let subscription = ShellSubscription()
    let limit = ShellSubscription.limit
    for number in 0...limit { subscription.add([UInt8(truncatingIfNeeded: number), number == limit ? 1 : 0]) }
    var values: [[UInt8]] = []
    for _ in 0..<limit { values.append(await subscription.next() ?? []) }
    // The oldest one is left out.
    #expect(values.first == [1, 0] && values.last == [UInt8(truncatingIfNeeded: limit), 1])
    subscription.end()
    #expect(await subscription.next() == nil)
  }

  @Test func aWaitThatIsCancelledTakesNoValue() async {
    let subscription = ShellSubscription()
    let wait = Task { await subscription.next() }
    wait.cancel()
    #expect(await wait.value == nil)
    subscription.add([1])
    #expect(await subscription.next() == [1])
  }

  /// What Control-C does: `questions` are open ones of a pairing.
  private final class Terminal: Sendable {
    let state = Mutex((questions: false, cleared: 0))

    func interruption() -> ShellInterruption {
      ShellInterruption {
        self.state.withLock { state in
          defer { state.questions = false }
          return state.questions
        }
      } clear: {
        self.state.withLock { $0.cleared += 1 }
      }
    }
  }

  @Test func controlCEndsTheCommandThatRuns() async throws {
    let terminal = Terminal()
    let interruption = terminal.interruption()
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let command = Task {
      try await interruption.run {
        begin.yield()
        try await Task.sleep(for: .seconds(86_400))
      }
    }
    for await _ in begun { break }
    #expect(interruption.interrupt())
    // The shell goes on.
    try await command.value
    #expect(terminal.state.withLock(\.cleared) == 1)
    // At the prompt.
    #expect(interruption.interrupt() && interruption.interrupt())
    #expect(terminal.state.withLock(\.cleared) == 3)
  }

  @Test func controlCHidesNoOtherError() async throws {
    let interruption = Terminal().interruption()
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let command = Task {
      try await interruption.run {
        begin.yield()
        try? await Task.sleep(for: .seconds(86_400))
        throw ToolError(description: "no", status: 68)
      }
    }
    for await _ in begun { break }
    #expect(interruption.interrupt())
    await #expect(throws: ToolError.self) { try await command.value }
  }

  @Test func aCommandThatDoesNotEndIsEndedWithTheShell() async throws {
    let interruption = Terminal().interruption()
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let held = Mutex<CheckedContinuation<Void, Never>?>(nil)
    let command = Task {
      try await interruption.run {
        await withCheckedContinuation { continuation in
          held.withLock { $0 = continuation }
          begin.yield()
        }
        try Task.checkCancellation()
      }
    }
    for await _ in begun { break }
    #expect(interruption.interrupt() && !interruption.interrupt())
    held.withLock { $0.take() }?.resume()
    try await command.value
  }

  @Test func theEndOfTheShellIsNoInterruption() async throws {
    let interruption = Terminal().interruption()
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let command = Task {
      try await interruption.run {
        begin.yield()
        try await Task.sleep(for: .seconds(86_400))
      }
    }
    for await _ in begun { break }
    command.cancel()
    await #expect(throws: CancellationError.self) { try await command.value }
  }

  /// The command ends by the answer.
  @Test func controlCRejectsAQuestionFirst() async throws {
    let terminal = Terminal()
    let interruption = terminal.interruption()
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let command = Task {
      try await interruption.run {
        begin.yield()
        try await Task.sleep(for: .seconds(86_400))
      }
    }
    for await _ in begun { break }
    terminal.state.withLock { $0.questions = true }
    #expect(interruption.interrupt())
    #expect(terminal.state.withLock(\.questions) == false)
    #expect(interruption.interrupt())
    try await command.value
  }
}
