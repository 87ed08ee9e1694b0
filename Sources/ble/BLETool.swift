import BLEKit
import BLELinux
import Glibc
import Synchronization
import ToolCore

/// The tool `ble`: its commands and the way it ends.
@main
struct BLETool {
  static let program = ProgramDeclaration(
    name: "ble", summary: "Bluetooth Low Energy from the command line",
    details: [
      "Bluetooth Low Energy from the command line: this machine's adapters, any HCI controller on a serial line or socket, and a "
        + "simulated radio."
    ],
    form: .commands(commands),
    exitStatus:
      "0 for success, 1 for a difference that ble replay has found, else a status of sysexits.h: 64 for a wrong "
      + "command line, 65 for malformed data, 66 for a file that cannot be read, 68 for a device, a "
      + "characteristic or a value that was not found in time, 69 without a usable adapter, 73 for a file that "
      + "cannot be written, 74 for an adapter that does not answer or output that cannot be written, such as on a "
      + "full disk, 75 for an adapter that another program uses, 76 for a request that the device rejected, a "
      + "link that was lost and a pairing that failed, 77 without permission, 141 where the reader of standard "
      + "output has closed it. SIGINT (Control-C) and SIGTERM end the command, its links and its advertisement; "
      + "the status is 130 or 143: 128 and the number of the signal.",
    environment: [
      ("BLE_TRANSPORT", "The controller of commands without --transport."),
      ("BLE_SNOOP", "The packet trace of commands without --snoop."), ("BLE_BONDS", "The file of the bonds."),
      ("NO_COLOR", "Output without colours."),
    ],
    seeAlso: ["ble-gateway(1)", "btmon(1)", "bluetoothctl(1)", "wireshark(1)"])

  /// In the order of the help.
  static let commands: [CommandDeclaration] = [
    DemoCommand.declaration, DoctorCommand.declaration, ScanCommand.declaration, InspectCommand.declaration,
    ValueCommands.read, ValueCommands.write, ValueCommands.subscribe, ShellSession.declaration,
    PairCommand.pair, PairCommand.bonds,
    ServeCommand.declaration, ReplayCommand.declaration, BenchCommand.declaration, RadioCommand.declaration,
    ProxyCommand.declaration,
    AnswerCommand.declaration,
    GatewayCommand.declaration,
    LogCommand.declaration, TwinCommand.declaration,
    HelpCommand.declaration, CompletionsCommand.declaration, ManualPageCommand.declaration,
  ]

  /// The first signal cancels the command, which closes its adapter. A command that waits for a controller all the same
  /// is not waited for.
  static let signals = ProgramSignals(
    whenLate: { number in
      Screen.leave()
      end(nil, 128 + number)
    }, beforeEnd: { Screen.leave() })

  private static let isEnding = Mutex(false)

  static func main() async {
    Output.prepare()
    BluetoothLog.setFilter { PairingFailures.ofTool.admits($0) }
    let work = signals.task { try await run(Array(CommandLine.arguments.dropFirst())) }
    Output.watch { work.cancel() }
    var (text, status) = await outcome(of: work)
    // Many sequences end without an error when their task is cancelled, so the outcome does not show the cancellation.
    if let number = signals.received { (text, status) = (nil, 128 + number) }
    end(text, status)
  }

  /// Ends the process: bonds are stored, links are ended, whatever the controller does.
  private static func end(_ text: String?, _ status: Int32) -> Never {
    // Another thread ends the process already.
    if isEnding.withLock({ isEnding in
      defer { isEnding = true }
      return isEnding
    }) {
      while true { pause() }
    }
    Adapter.shutDownAll(atMost: signals.timeToEnd)
    Output.settle()
    if let reason = Output.end { exit(Self.status(of: reason)) }
    if let text, !text.isEmpty { Output.error("ble: \(text)") }
    exit(status)
  }

  /// The exit status if standard output cannot be written, after the line about it. A reader that has closed it needs
  /// none.
  private static func status(of end: Output.End) -> Int32 {
    switch end {
    case .closed: return Output.closedStatus
    case .failed(let number):
      Output.error("ble: standard output cannot be written: \(ToolError.text(ofError: number))")
      return 74
    }
  }

  /// The last line on standard error, and the exit status.
  private static func outcome(of work: Task<Void, any Error>) async -> (String?, Int32) {
    do {
      try await work.value
      return (nil, 0)
    } catch let error as ToolError {
      return (error.description, error.status)
    } catch let error as AdapterError {
      return (error.text, error.exitStatus)
    } catch let error as BLEError {
      return (error.description, status(of: error))
    } catch {
      return ("\(error)", 70)
    }
  }

  static var helpWidth: Int { min(HelpText.width, Style.textWidth) }

  private static func run(_ words: [String]) async throws {
    guard let name = words.first else { throw ToolError.usage("a command is missing") }
    switch name {
    case "--help", "-h": return Output.line(HelpText.text(of: program, width: helpWidth))
    case "--version": return Output.line("ble \(ProgramVersion.text)")
    default: break
    }
    let command = try command(name)
    let arguments = try ParsedArguments(command, words.dropFirst())
    if arguments.wantsHelp { return Output.line(HelpText.text(of: command, width: helpWidth)) }
    try await command.run(arguments)
  }

  /// The command with this name.
  static func command(_ name: String) throws(ToolError) -> CommandDeclaration {
    if let command = commands.first(where: { $0.name == name }) { return command }
    let hint = nearest(to: name, in: commands.map(\.name)).map { ". Did you mean '\($0)'?" } ?? ""
    throw .usage("unknown command '\(name)'\(hint)")
  }

  /// Runs a command that blocks its thread and has nothing to undo: a signal ends the process while it runs.
  static func endingAtOnce<Result>(_ body: () throws -> Result) async rethrows -> Result {
    try await withTaskCancellationHandler {
      try body()
    } onCancel: {
      guard let reason = Output.end else { _exit(128 + (signals.received ?? SIGINT)) }
      let status = status(of: reason)
      LineOutput.standardError.flush()
      _exit(status)
    }
  }

  /// The exit status of sysexits.h for an error of the Swift API.
  static func status(of error: BLEError) -> Int32 {
    switch error.kind {
    case .adapterUnavailable: 69
    case .att, .security, .disconnected, .invalidResponse, .servicesChanged: 76
    case .cancelled: 128 + SIGINT
    case .invalidArgument: 64
    case .invalidValue: 65
    case .limitExceeded, .unsupported: 69
    case .notFound, .timedOut: 68
    case .notStored: 73
    }
  }
}

/// `ble help`: the help of the tool, or of a command.
enum HelpCommand {
  static let declaration = CommandDeclaration(
    name: "help", summary: "prints the commands, or the help of one",
    operands: [.init(name: "COMMAND", help: "the command, such as scan", isRequired: false, isCommand: true)],
    run: { arguments in
      guard let name = arguments.operand(0) else {
        return Output.line(HelpText.text(of: BLETool.program, width: BLETool.helpWidth))
      }
      Output.line(HelpText.text(of: try BLETool.command(name), width: BLETool.helpWidth))
    })
}

/// `ble completions`: the completions of a shell.
enum CompletionsCommand {
  static let declaration = CommandDeclaration(
    name: "completions", summary: "prints the completions of a shell",
    operands: [.init(name: "SHELL", help: "bash, zsh or fish", values: Completions.shells)],
    examples: [.init(commandLine: "source <(ble completions bash)", effect: "completes ble in this shell")],
    run: { arguments in
      Output.text(Completions.script(for: arguments.operand(0) ?? "bash", BLETool.program))
    })
}

/// `ble man`: the manual page.
enum ManualPageCommand {
  static let declaration = CommandDeclaration(
    name: "man", summary: "prints the manual page in the format of man",
    examples: [.init(commandLine: "ble man | man -l -", effect: "shows it")],
    run: { _ in Output.text(ManualPage.text(of: BLETool.program)) })
}
