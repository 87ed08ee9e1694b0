import BLEProfiles
import Foundation

/// The start and the end of an example, its arguments and its output. Each example has the same copy of this file.
struct Program: Sendable {
  /// The text of `--help`. Its options are those that the program accepts; each has a value.
  let usage: String
  private(set) var values: [String: String] = [:]

  /// Runs `body` until it ends, or until SIGINT or SIGTERM; then links are ended, bonds are stored and the process exits.
  static func run(_ usage: String, _ body: @escaping @Sendable (Program) async throws -> Void) async -> Never {
    let program: Program
    do {
      program = try Program(usage, CommandLine.arguments.dropFirst())
    } catch let help as Help {
      say(help.text)
      exit(0)
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(64)
    }
    await Adapter.runProgram {
      do {
        try await body(program)
      } catch let error as UsageError {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(64)
      }
    }
  }

  /// Runs one end of the example, as `--role peripheral` or `--role central` says; or both in this process, on the simulated radio, until
  /// the central ends.
  func runRoles(
    peripheral: @escaping @Sendable (Adapter) async throws -> Void,
    central: @escaping @Sendable (Adapter) async throws -> Void,
    options: (_ role: String) -> AdapterOptions = { _ in AdapterOptions() }
  ) async throws {
    switch values["--role"] {
    case "peripheral": try await peripheral(Adapter.open(options("peripheral")))
    case "central": try await central(Adapter.open(options("central")))
    case nil where values["--transport"] == nil:
      var (server, client) = (options("peripheral"), options("central"))
      (server.transport, client.transport) = ("virtual:peripheral", "virtual:central")
      let (first, second) = (try await Adapter.open(server), try await Adapter.open(client))
      try await withThrowingTaskGroup { group in
        group.addTask { try await peripheral(first) }
        group.addTask { try await central(second) }
        defer { group.cancelAll() }
        // The peripheral serves until it is cancelled.
        try await group.next()
      }
    default: throw UsageError("--role is peripheral or central, and is needed with --transport\n\(usage)")
    }
  }

  /// The value of an option; nil where the command line does not have it.
  func value(_ name: String) -> String? { values[name] }

  /// The value of an option as a number.
  func number(_ name: String, or standard: Int, in range: ClosedRange<Int>) throws -> Int {
    guard let text = values[name] else { return standard }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError("\(name) takes a number from \(range.lowerBound) to \(range.upperBound), not \(text)")
    }
    return number
  }

  private init(_ usage: String, _ words: some Sequence<String>) throws {
    self.usage = usage
    var rest = words.makeIterator()
    while let word = rest.next() {
      if word == "--help" || word == "-h" { throw Help(text: usage) }
      guard word.hasPrefix("--"), usage.contains("  \(word) ") else {
        throw UsageError("unknown option \(word)\n\(usage)")
      }
      guard let value = rest.next() else { throw UsageError("\(word) needs a value\n\(usage)") }
      values[word] = value
    }
  }

  private struct Help: Error { let text: String }
}

/// A command line that the program does not accept.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// What the example expected of the other end, and did not get.
struct ExampleError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Prints a line at once. Text of another device in it cannot control the terminal.
func say(_ text: String) {
  let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String(printable: $0) }
  FileHandle.standardOutput.write(Data((lines.joined(separator: "\n") + "\n").utf8))
}

/// Runs `body`, and throws when it takes longer than `limit`.
func within<Value: Sendable>(
  _ limit: Duration, _ step: String, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      throw ExampleError("\(step): nothing in \(limit)")
    }
    defer { group.cancelAll() }
    guard let first = try await group.next() else { throw CancellationError() }
    return first
  }
}

extension Adapter {
  /// Scans until a device advertises the service, connects, and disconnects at the end of `body`.
  func withDevice(
    advertising service: BluetoothUUID, _ body: @escaping @Sendable (RemoteDevice) async throws -> Void
  ) async throws {
    let found = try await within(.seconds(20), "a device with the service \(service)") {
      for try await result in self.scan(ScanOptions(services: [service])) where result.isConnectable { return result }
      throw ExampleError("the scan ended")
    }
    say("found \(found.contents.localName?.displayText ?? "a device without a name")")
    try await withConnection(to: found.address, body)
  }
}
