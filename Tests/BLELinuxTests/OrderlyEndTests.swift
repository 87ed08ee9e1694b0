import BLELinux
import Foundation
import Glibc
import Synchronization
import Testing

/// Files that are removed when a process ends in good order, and stay when it is killed. Each process is a child of the
/// tests.
@Suite struct OrderlyEndTests {
  private static let held = Mutex<[FileAtEnd]>([])

  /// In a child: makes a folder with the files `ends` and `stays`, of which the first one is to be removed at the end.
  ///
  /// - Parameter setHandlers: as a program does before that.
  private static func prepare(_ setHandlers: () -> Void = {}) throws {
    // A shell that started the tests in the background ignores some of them.
    for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
    setHandlers()
    let path = "/tmp/ble-\(UUID().uuidString)"
    try #require(mkdir(path, 0o700) == 0)
    print(path)
    fflush(nil)
    guard let folder = try PrivateFolder.open(path) else { throw Missing() }
    let file = try folder.removeAtEnd("ends")
    try folder.replace("ends", with: [1])
    held.withLock { $0.append(file) }
    // A file is removed at the end only as long as its object exists; the object of another one can use its memory.
    for _ in 1...3 { _ = try folder.removeAtEnd("stays") }
    try folder.replace("stays", with: [2])
  }

  /// In a child: gets a signal that ends it. `raise` would send it to this thread, which blocks it as all threads of
  /// Dispatch do.
  private static func receive(_ number: Int32) {
    kill(getpid(), number)
    while true { pause() }
  }

  /// In a child: two functions for the end, of which the first one counts.
  private static func runAtEnd() throws {
    for word in ["ran", "never"] {
      try OrderlyEnd.runAtEnd {
        print(word)
        fflush(nil)
      }
    }
  }

  /// The files in the folder that a child has printed the path of.
  private func left(by child: ExitTest.Result?) throws -> [String] {
    let path = try #require(try paths(printedBy: child).first)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  private func paths(printedBy child: ExitTest.Result?) throws -> [String] {
    let output = String(decoding: try #require(child).standardOutputContent, as: UTF8.self)
    return output.split(whereSeparator: \.isNewline).map(String.init).filter { $0.hasPrefix("/tmp/ble-") }
  }

  @Test func anExitIsAnEndInGoodOrder() async throws {
    let child = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
      try Self.prepare()
      exit(3)
    }
    #expect(try left(by: child) == ["stays"])
  }

  @Test func soAreSignalsWithTheirDefaultAction() async throws {
    let terminated = await #expect(processExitsWith: .signal(SIGTERM), observing: [\.standardOutputContent]) {
      try Self.prepare()
      Self.receive(SIGTERM)
    }
    #expect(try left(by: terminated) == ["stays"])
    let interrupted = await #expect(processExitsWith: .signal(SIGINT), observing: [\.standardOutputContent]) {
      try Self.prepare()
      Self.receive(SIGINT)
    }
    #expect(try left(by: interrupted) == ["stays"])
    let hungUp = await #expect(processExitsWith: .signal(SIGHUP), observing: [\.standardOutputContent]) {
      try Self.prepare()
      Self.receive(SIGHUP)
    }
    #expect(try left(by: hungUp) == ["stays"])
  }

  /// As most programs do that handle signals. The thread may hold any lock, which is why nothing here takes one.
  @Test func anExitInAHandlerOfTheProgramIsOne() async throws {
    let child = await #expect(processExitsWith: .exitCode(4), observing: [\.standardOutputContent]) {
      try Self.prepare()
      signal(SIGTERM) { _ in exit(4) }
      Self.receive(SIGTERM)
    }
    #expect(try left(by: child) == ["stays"])
  }

  @Test func aKillIsNone() async throws {
    let killed = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
      try Self.prepare()
      raise(SIGKILL)
    }
    #expect(try left(by: killed) == ["ends", "stays"])
    let aborted = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardOutputContent]) {
      try Self.prepare()
      abort()
    }
    #expect(try left(by: aborted) == ["ends", "stays"])
    let ended = await #expect(processExitsWith: .exitCode(5), observing: [\.standardOutputContent]) {
      try Self.prepare()
      _exit(5)
    }
    #expect(try left(by: ended) == ["ends", "stays"])
  }

  @Test func aHandlerOfTheProgramStays() async throws {
    let child = await #expect(processExitsWith: .exitCode(6), observing: [\.standardOutputContent]) {
      try Self.prepare { signal(SIGTERM) { _ in _exit(6) } }
      Self.receive(SIGTERM)
    }
    #expect(try left(by: child) == ["ends", "stays"])
  }

  /// The function runs on a thread of its own: the one that ends may hold any lock.
  @Test func theFunctionOfTheEndRunsBeforeTheProcessEnds() async throws {
    let exited = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
      try Self.runAtEnd()
      exit(3)
    }
    let terminated = await #expect(processExitsWith: .signal(SIGTERM), observing: [\.standardOutputContent]) {
      signal(SIGTERM, SIG_DFL)
      try Self.runAtEnd()
      Self.receive(SIGTERM)
    }
    let interrupted = await #expect(processExitsWith: .signal(SIGINT), observing: [\.standardOutputContent]) {
      signal(SIGINT, SIG_DFL)
      try Self.runAtEnd()
      for _ in 0..<3 { kill(getpid(), SIGINT) }
      Self.receive(SIGINT)
    }
    let handled = await #expect(processExitsWith: .exitCode(4), observing: [\.standardOutputContent]) {
      try Self.runAtEnd()
      signal(SIGTERM) { _ in exit(4) }
      Self.receive(SIGTERM)
    }
    for child in [exited, terminated, interrupted, handled] {
      let output = String(decoding: try #require(child).standardOutputContent, as: UTF8.self)
      #expect(output.split(whereSeparator: \.isNewline).filter { $0 == "ran" || $0 == "never" } == ["ran"])
    }
  }

  @Test func aKillDoesNotRunTheFunction() async throws {
    let child = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
      try Self.runAtEnd()
      raise(SIGKILL)
    }
    let output = String(decoding: try #require(child).standardOutputContent, as: UTF8.self)
    #expect(!output.contains("ran"))
  }

  @Test func anExitWaitsForWritesThatHaveBegun() async throws {
    let child = await #expect(processExitsWith: .exitCode(0), observing: [\.standardOutputContent]) {
      try Self.prepare()
      let path = "/tmp/ble-\(UUID().uuidString)"
      print(path)
      fflush(nil)
      OrderlyEnd.holdExit()
      DispatchQueue.global().async {
        mkdir(path, 0o700)
        OrderlyEnd.releaseExit()
      }
      exit(0)
    }
    #expect(rmdir(try #require(try paths(printedBy: child).last)) == 0)
    #expect(try left(by: child) == ["stays"])
  }
}
