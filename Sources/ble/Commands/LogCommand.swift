import BLEHCI
import BLELinux
import BLETrace
import BLETwin
import BLEWire
import ToolCore

/// `ble log`: a packet trace in plain words, or as a picture.
enum LogCommand {
  static let declaration = CommandDeclaration(
    name: "log", summary: "shows a packet trace (btsnoop, pcap, pcapng, PacketLogger) in plain words",
    details: [
      "Each line has the seconds since the first packet, the direction (> from the host, < from the controller), the protocol, the "
        + "packet and its parameters. UUIDs and values are decoded where the trace has the discovery.",
      "Without --all, answers that report success, counts of buffers and the set-up of the controller are left out. Keys are never shown.",
      "--explain prints findings instead of packets: a headline, the packets that show it with their numbers in the "
        + "trace (those of Wireshark), and after => what is usually done about it.",
    ],
    operands: [
      .init(
        name: "FILE",
        help: "a btsnoop file of ble --snoop, btmon or Android; pcap or pcapng of tcpdump or Wireshark; .pklg of "
          + "Apple's PacketLogger; - for standard input", isFile: true)
    ],
    options: [
      .flag("all", "shows every packet"),
      .value(
        "layer", "LAYER", "only packets of this protocol: hci, l2cap, att or smp", isRepeatable: true,
        values: ["hci", "l2cap", "att", "smp"]),
      .value("link", "LINK", "only packets of this link: its handle, such as 0x0040, or the address of the device"),
      .json,
      .flag(
        "explain",
        "says why links ended, why connections and pairings failed, what was refused and what was slow, each with the "
          + "numbers of the packets and a remedy"),
      .flag("describe", "prints the description of the device that the trace shows, for ble serve"),
      .value("svg", "FILE", "draws a ladder diagram into FILE, or - for standard output", isFile: true),
    ],
    examples: [
      .init(commandLine: "ble log demo.btsnoop", effect: "prints the conversation"),
      .init(commandLine: "ble log demo.btsnoop --layer att --layer smp", effect: "leaves HCI and L2CAP out"),
      .init(commandLine: "ble log demo.btsnoop --explain", effect: "explains failures, with remedies"),
      .init(commandLine: "ble log demo.btsnoop --svg demo.svg", effect: "draws it"),
      .init(commandLine: "btmon -w /dev/stdout | ble log -", effect: "prints packets while btmon captures them"),
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

  /// One finding as JSON.
  private struct Finding: Encodable {
    struct Evidence: Encodable {
      var packet: Int?
      var text: String
    }

    var kind: String
    var problem: Bool
    var link: UInt16?
    var peer: String?
    var time: Double
    var headline: String
    var evidence: [Evidence]
    var remedy: String?
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    // Standard input may stay open and silent.
    try await BLETool.endingAtOnce { try show(arguments) }
  }

  private static func show(_ arguments: ParsedArguments) throws {
    let file = arguments.operand(0) ?? "-"
    let filter = try TraceFilter(arguments)
    let picture = arguments.value("svg")
    let describes = arguments.has("describe")
    let explains = arguments.has("explain")
    if explains,
      let other = ["all", "describe"].first(where: arguments.has)
        ?? ["layer", "svg"].first(where: { arguments.value($0) != nil })
    {
      throw ToolError.usage("--explain reads the whole trace, and has no --\(other)", of: arguments.command)
    }
    var (shown, count, links, explainer) = ([TraceLine](), 0, TraceLinks(), TraceExplainer(filter))
    var source = try TraceSource(file)
    let fault = try source.forEachEntry(withFragments: explains) { entry in
      count += 1
      links.add(entry, isSelected: filter.isOfLink(entry))
      if describes { return true }
      if explains {
        explainer.add(entry)
        return !Output.isClosed
      }
      guard filter.admits(entry) else { return !Output.isClosed }
      if picture != nil {
        shown.append(TraceLine(entry))
      } else if arguments.has("json") {
        Output.json(line(entry))
      } else {
        Output.line(coloured(entry))
      }
      return !Output.isClosed
    }
    if Output.isClosed { return }
    let explanation = explains ? explainer.finish() : nil
    // A device without a link can have findings: the attempts to connect to it.
    let isSelected = arguments.value("link") == nil || links.hasSelected || explanation?.findings.isEmpty == false
    if let explanation, isSelected { explain(explanation, asJSON: arguments.has("json")) }
    if let picture { try draw(shown, of: count, into: picture) }
    if fault == nil, let incompleteness = source.incompleteness { Output.error("ble: \(file): \(incompleteness)") }
    if let fault { throw ToolError.data("\(file): \(fault)") }
    if let link = arguments.value("link"), !isSelected {
      throw ToolError.notFound("\(file) \(links.absence(of: link))")
    }
    if describes {
      let (device, name) = try seen(in: source, filter, of: file)
      device.device.printDescription(orNamed: name)
    }
  }

  /// Prints the findings of a trace.
  private static func explain(_ explanation: TraceExplanation, asJSON isJSON: Bool) {
    guard isJSON else {
      for (text, isProblem) in explanation.lines {
        let indent = min(10, text.prefix { $0 == " " }.count + 4)
        let lines = text.wrapped(to: Style.isTerminal ? max(40, Style.columns) : .max, indent: indent)
        let wrapped = lines.joined(separator: "\n" + String(repeating: " ", count: indent))
        Output.line(isProblem ? Style.red(wrapped) : wrapped)
      }
      return
    }
    for finding in explanation.findings {
      Output.json(
        Finding(
          kind: finding.kind.rawValue, problem: finding.isProblem, link: finding.link?.handle.rawValue,
          peer: finding.peer?.description, time: Double(finding.time) / 1e6, headline: finding.headline,
          evidence: finding.evidence.map { Finding.Evidence(packet: $0.number, text: $0.text) },
          remedy: finding.remedy))
    }
  }

  /// The device whose discovery a trace shows, and a name for it.
  ///
  /// - Throws: ``ToolError`` if there is none, or several.
  static func seen(
    in source: borrowing TraceSource, _ filter: TraceFilter, of file: String
  ) throws(ToolError) -> (
    device: (link: ConnectionHandle?, address: DeviceAddress?, device: SeenDevice), name: String
  ) {
    var devices = source.devices.filter { filter.isLink($0.link, with: $0.address) }
    // In a trace of a peripheral, the links of all its clients show one device.
    if devices.allSatisfy(\.device.isThisHost), let richest = devices.max(by: { $0.device.extent < $1.device.extent }) {
      devices = [richest]
    }
    guard let first = devices.first else {
      throw .data(
        "\(file) has no discovery of services. Record one, or describe the device with ble inspect --describe.")
    }
    let name = first.address?.word ?? first.link.map { "\($0)" } ?? "device"
    guard devices.count == 1 else {
      let names = devices.map { $0.address?.word ?? $0.link.map { "\($0)" } ?? "" }
      throw .usage("\(file) shows several devices. Choose one of them by --link: \(names.joined(separator: ", "))")
    }
    return (first, name)
  }

  /// Writes the diagram into a file; `-` is standard output.
  private static func draw(_ entries: [TraceLine], of count: Int, into picture: String) throws(ToolError) {
    let svg = LadderDiagram(entries).svg
    if picture == "-" { return Output.text(svg) }
    do throws(SystemError) { try Files.write(svg.utf8, to: picture) } catch {
      throw .output("\(picture) cannot be written: \(ToolError.text(ofError: error.number))")
    }
    Output.line("\(picture): \(entries.count) of \(count) packets")
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
