import BLEAdapter
import BLEKit
import GatewayCore
import Glibc
import ToolCore

/// The program `ble-gateway`, which `ble gateway` starts.
@main
struct GatewayTool {
  /// A controller or a broker that answers nothing does not keep the gateway from ending.
  private static let signals = ProgramSignals(whenLate: { _ in
    Adapter.shutDownAll(atMost: ProgramSignals.timeToEndLate)
    ServiceOutput.flush()
    _exit(0)
  })

  static func main() async {
    // A broker that closes the connection is an error of the call, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let work = signals.task(run)
    let (text, status) = await outcome(of: work)
    if let text { Log.line(text) }
    Adapter.shutDownAll(atMost: signals.timeToEnd)
    exit(status)
  }

  /// The last line on standard error, and the exit status.
  private static func outcome(of work: Task<Void, any Error>) async -> (String?, Int32) {
    do {
      try await work.value
      return (nil, 0)
    } catch let error as GatewayError {
      return (error.text, error.exitStatus)
    } catch let error as ToolError {
      return (error.description, error.status)
    } catch let error as AdapterError {
      return (error.text, error.exitStatus)
    } catch let error as BLEError where error.kind != .cancelled {
      return (error.description, 69)
    } catch {
      // Control-C and SIGTERM are the way in which a gateway ends.
      return (nil, 0)
    }
  }

  private static let program = GatewayDeclaration.program(run: serve)

  @Sendable private static func run() async throws {
    guard case .command(let command) = program.form else { return }
    let arguments = try ParsedArguments(command, CommandLine.arguments.dropFirst())
    if arguments.wantsHelp { return print(HelpText.text(of: program)) }
    if arguments.has("version") { return print("ble-gateway \(ProgramVersion.text)") }
    if arguments.has("man") { return print(ManualPage.text(of: program), terminator: "") }
    if let shell = arguments.value("completions") {
      return print(Completions.script(for: shell, program), terminator: "")
    }
    try await command.run(arguments)
  }

  @Sendable private static func serve(_ arguments: ParsedArguments) async throws {
    let configuration = try GatewayConfiguration(arguments)
    if arguments.has("check") { return print("the configuration is valid") }
    let adapter = Adapter(try arguments.adapterOptions())
    do {
      try await adapter.waitUntilPoweredOn(timeout: .seconds(10))
    } catch {
      if let reason = adapter.stateReason, error.kind != .cancelled { throw reason }
      throw error
    }
    let bonds = PairingOptions.Storage.standard.path(transport: try arguments.canonicalTransport())
    try await Gateway(configuration, adapter: adapter, pairing: PairingCommands(arguments, bonds: bonds)).run()
  }
}
