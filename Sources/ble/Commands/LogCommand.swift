import BLEHCI
import BLELinux
import BLEWire
import ToolCore

/// `ble log`: a packet trace in plain words, or as a picture.
enum LogCommand {
  static let declaration = CommandDeclaration(
    name: "log", summary: "shows a packet trace (btsnoop) in plain words",
    details: [
      "Each line has the seconds since the first packet, the direction (> from the host, < from the controller), the protocol, the "
        + "packet and its parameters. UUIDs and values are decoded where the trace has the discovery.",
      "Without --all, answers that report success, counts of buffers and the set-up of the controller are left out. Keys are never shown.",
    ],
    operands: [
      .init(name: "FILE", help: "a btsnoop file of ble --snoop, btmon or Android; - for standard input", isFile: true)
    ],
    options: [
      .flag("all", "shows every packet"),
      .value(
        "layer", "LAYER", "only packets of this protocol: hci, l2cap, att or smp", isRepeatable: true,
        values: ["hci", "l2cap", "att", "smp"]),
      .value("link", "LINK", "only packets of this link: its handle, such as 0x0040, or the address of the device"),
      .json,
      .value("svg", "FILE", "draws a ladder diagram into FILE", isFile: true),
    ],
    examples: [
      .init(commandLine: "ble log demo.btsnoop", effect: "prints the conversation"),
      .init(commandLine: "ble log demo.btsnoop --layer att --layer smp", effect: "leaves HCI and L2CAP out"),
      .init(commandLine: "ble log demo.btsnoop --svg demo.svg", effect: "draws it"),
    ],
    run: run)

  /// One entry as JSON.
  private struct Line: Encodable {
    var time: Double
    var direction: String
    var layer: String
    var link: UInt16?
    var peer: String?
    var name: String
    var details: String
    var failure: Bool
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    // Standard input may stay open and silent.
    try await BLETool.endingAtOnce { try show(arguments) }
  }

  private static func show(_ arguments: ParsedArguments) throws {
    let file = arguments.operand(0) ?? "-"
    let (entries, isComplete) = try read(file)
    let filter = try TraceFilter(arguments)
    let shown = entries.filter { filter.admits($0) }
    if let picture = arguments.value("svg") {
      do throws(SystemError) { try Files.write(LadderDiagram(shown).svg.utf8, to: picture) } catch {
        throw ToolError.output("\(picture) cannot be written: \(Output.text(ofError: error.number))")
      }
      Output.line("\(picture): \(shown.count) of \(entries.count) packets")
    } else if arguments.has("json") {
      for entry in shown { Output.json(line(entry)) }
    } else {
      for entry in shown {
        if Output.isClosed { return }
        Output.line(coloured(entry))
      }
    }
    if !isComplete { Output.error("ble: \(file): the last packet is incomplete") }
  }

  /// The entries of a file, and whether its last record is complete.
  static func read(_ file: String) throws(ToolError) -> ([TraceEntry], isComplete: Bool) {
    let octets: [UInt8]
    if file == "-" {
      octets = try StandardInput.octets()
    } else {
      do throws(SystemError) { octets = try Files.octets(of: file) } catch {
        let reason = Output.text(ofError: error.number)
        throw .input("\(file) cannot be read: \(reason). Name a btsnoop file, such as the one of --snoop FILE.")
      }
    }
    do { return try entries(in: octets[...]) } catch { throw .data("\(file): \(error)") }
  }

  /// The entries of a trace, and whether its last record is complete.
  static func entries(in octets: Bytes) throws(BTSnoopError) -> ([TraceEntry], isComplete: Bool) {
    let records = try BTSnoopFile(octets)
    var reader = TraceReader()
    var entries: [TraceEntry] = []
    var iterator = records.makeIterator()
    while let record = iterator.next() {
      if let entry = reader.entry(for: record) { entries.append(entry) }
    }
    return (entries, iterator.unread.isEmpty)
  }

  private static func line(_ entry: TraceEntry) -> Line {
    Line(
      time: Double(entry.time) / 1e6, direction: entry.direction == .hostToController ? "sent" : "received",
      layer: entry.layer.rawValue, link: entry.link?.rawValue, peer: entry.peer?.description, name: entry.name,
      details: entry.details, failure: entry.isFailure)
  }

  /// The line in the width of the terminal, wrapped under the name of the packet; one line if the output is not a
  /// terminal.
  private static func coloured(_ entry: TraceEntry) -> String {
    let indent = 20
    let width = Style.isTerminal ? max(40, Style.columns) : .max
    let lines = entry.line.wrapped(to: width, indent: indent)
    let text = lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    if entry.isFailure { return Style.red(text) }
    switch entry.layer {
    case .hci: return Style.faint(text)
    case .att: return text
    case .smp: return Style.yellow(text)
    case .l2cap: return Style.cyan(text)
    }
  }
}
