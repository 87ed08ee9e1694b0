import BLEKit
import Foundation

/// The tool `ble`: its commands and the way it ends.
@main
struct BLETool {
  static let version = "0.1.0"

  /// In the order of the help.
  static let commands: [CommandDeclaration] = [
    DemoCommand.declaration, DoctorCommand.declaration, ScanCommand.declaration, InspectCommand.declaration,
    ValueCommands.read, ValueCommands.write, ValueCommands.subscribe,
    PairCommand.pair, PairCommand.bonds,
    ServeCommand.declaration, BenchCommand.declaration, RadioCommand.declaration, GatewayCommand.declaration,
    LogCommand.declaration,
    CompletionsCommand.declaration, ManualPageCommand.declaration,
  ]

  static func main() async {
    Output.prepare()
    let work = Task { try await run(Array(CommandLine.arguments.dropFirst())) }
    let signals = cancelling(work, on: [SIGINT, SIGTERM])
    defer { for signal in signals { signal.cancel() } }
    do {
      try await work.value
    } catch let error as ToolError {
      end("\(error)", error.status)
    } catch let error as AdapterError {
      end(error.text, error.exitStatus)
    } catch let error as BLEError {
      if error.kind == .cancelled { end(nil, 128 + SIGINT) }
      end(error.description, status(of: error))
    } catch is CancellationError {
      end(nil, 128 + SIGINT)
    } catch {
      end("\(error)", 70)
    }
    // Bonds are stored, links are ended.
    Adapter.shutDownAll()
    if Output.isClosed { exit(Output.closedStatus) }
  }

  private static func run(_ words: [String]) async throws {
    guard let name = words.first else { throw ToolError.usage("a command is missing") }
    switch name {
    case "--help", "-h", "help": return Output.line(HelpText.tool(commands))
    case "--version": return Output.line("ble \(version)")
    default: break
    }
    guard let command = commands.first(where: { $0.name == name }) else {
      throw ToolError.usage("unknown command '\(name)'")
    }
    let arguments = try ParsedArguments(command, words.dropFirst())
    if arguments.wantsHelp { return Output.line(HelpText.command(command)) }
    try await command.run(arguments)
  }

  /// The first signal cancels the command, which closes its adapter; a second one ends the process at once.
  private static func cancelling(_ work: Task<Void, any Error>, on numbers: [Int32]) -> [any DispatchSourceSignal] {
    numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        signal(number, SIG_DFL)
        work.cancel()
      }
      source.activate()
      return source
    }
  }

  private static func end(_ text: String?, _ status: Int32) -> Never {
    Adapter.shutDownAll()
    if Output.isClosed { exit(Output.closedStatus) }
    if let text, !text.isEmpty { Output.error("ble: \(text)") }
    exit(status)
  }

  /// The exit status of sysexits.h for an error of the Swift API.
  private static func status(of error: BLEError) -> Int32 {
    switch error.kind {
    case .adapterUnavailable: 69
    case .att, .security, .disconnected, .invalidResponse: 76
    case .cancelled: 128 + SIGINT
    case .invalidArgument: 64
    case .invalidValue: 65
    case .limitExceeded, .unsupported: 69
    case .notFound, .timedOut: 68
    }
  }
}

/// `ble completions`: the completions of a shell.
enum CompletionsCommand {
  static let declaration = CommandDeclaration(
    name: "completions", summary: "prints the completions of a shell",
    operands: [.init(name: "SHELL", help: "bash, zsh or fish", values: Completions.shells)],
    examples: [.init(commandLine: "source <(ble completions bash)", effect: "completes ble in this shell")],
    run: { arguments in
      Output.text(Completions.script(for: arguments.operand(0) ?? "bash", BLETool.commands))
    })
}

/// `ble man`: the manual page.
enum ManualPageCommand {
  static let declaration = CommandDeclaration(
    name: "man", summary: "prints the manual page in the format of man",
    examples: [.init(commandLine: "ble man | man -l -", effect: "shows it")],
    run: { _ in Output.text(ManualPage.text(BLETool.commands)) })
}
