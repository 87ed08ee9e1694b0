import BLEHCI
import BLEKit
import BLELinux
import BLEWire
import Glibc
import ToolCore

/// `ble doctor`: whether Bluetooth works here, and what to do if it does not.
enum DoctorCommand {
  static let declaration = CommandDeclaration(
    name: "doctor", summary: "checks adapters, permissions and the controller, with remedies",
    details: [
      "Each line that fails has its remedy. The adapter is opened as a program would open it, and closed again.",
      "The exit status is 0 where the adapter works, else that of the first failure: 69 unavailable, 75 busy, "
        + "77 no permission, 66 for a key file that cannot be used.",
    ],
    options: CommandDeclaration.Option.adapter.filter { $0.name == "transport" } + [
      .json,
      .flag("proxy", "also checks what ble proxy needs: its port and its announcement"),
      .value("key-file", "FILE", "also checks the key of ble proxy", isFile: true),
    ],
    examples: [
      .init(commandLine: "ble doctor --proxy --key-file proxy.key", effect: "checks whether ble proxy can run"),
      .init(commandLine: "ble doctor --transport hci-socket:0", effect: "checks whether adapter 0 can be taken over"),
    ],
    run: run)

  private struct Report: Encodable {
    var works: Bool
    var checks: [Check]
    var controller: ControllerFacts?
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    let transport = arguments.transport
    let usesKernel = transport.hasPrefix("linux") || transport.hasPrefix("hci-socket")
    var checks = usesKernel ? Diagnosis.checks(.current()) : []
    var controller: ControllerFacts?
    var status: Int32 = 0
    // If one of these fails, the adapter cannot be opened, for the reason in the check.
    if let failure = checks.first(where: { $0.verdict == .failure }) {
      status = failure.name == Diagnosis.permissions ? 77 : 69
    } else {
      do {
        let facts = try await Self.controller(transport)
        controller = facts
        checks += facts.checks
      } catch let error as AdapterError {
        checks.append(Diagnosis.failure(error.text))
        if let line = Diagnosis.serialLine(transport) { checks.append(line) }
        status = error.exitStatus
      } catch let error as BLEError where error.kind != .cancelled {
        checks.append(Diagnosis.failure("the adapter does not become ready: \(error.description)"))
        status = 69
      }
    }
    if arguments.has("proxy") || arguments.value("key-file") != nil {
      let found = ProxyFacts.current(keyFile: arguments.value("key-file")).checks
      if status == 0, found.contains(where: { $0.verdict == .failure }) { status = 66 }
      checks += found
    }
    if arguments.has("json") {
      Output.json(Report(works: controller != nil, checks: checks, controller: controller))
    } else {
      Output.line("Transport \(transport)")
      for check in checks { Output.line(text(check, width: min(HelpText.width, Style.textWidth))) }
      if controller != nil { Output.line(Style.green("The adapter works.")) }
    }
    if status != 0 { throw ToolError(description: "", status: status) }
  }

  /// Opens the adapter with a packet trace, and reads the answers of the controller from it.
  private static func controller(_ transport: String) async throws -> ControllerFacts {
    var path = Array("\(Environment.value("TMPDIR") ?? "/tmp")/ble-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&path) != nil else {
      throw ToolError.output("no temporary folder can be made: \(ToolError.text(ofError: errno))")
    }
    let folder = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    let trace = "\(folder)/doctor.btsnoop"
    defer {
      unlink(trace)
      rmdir(folder)
    }
    var options = AdapterOptions(transport: transport, snoop: trace)
    options.pairing.storage = .memory
    // The trace is complete when the adapter is closed.
    try await AdapterUse.withAdapter(options, closes: true) { _ in }
    return ControllerFacts(try BTSnoopFile(try Files.octets(of: trace)[...]))
  }

  /// A check in two columns; in a narrow terminal, the finding is below the name.
  static func text(_ check: Check, width: Int) -> String {
    let mark =
      switch check.verdict {
      case .good: Style.green("ok  ")
      case .warning: Style.yellow("warn")
      case .failure: Style.red("FAIL")
      case .information: "    "
      }
    let isNarrow = width < HelpText.narrowest
    let indent = isNarrow ? 5 : 25
    let finding = HelpText.wrapped(check.finding, indent: indent, width: width)
    var text = "\(mark) "
    text += isNarrow ? "\(check.name)\n\(finding)" : "\(check.name.padded(to: 19)) " + finding.drop { $0 == " " }
    if let remedy = check.remedy { text += "\n" + HelpText.wrapped("-> \(remedy)", indent: indent, width: width) }
    return text
  }
}
