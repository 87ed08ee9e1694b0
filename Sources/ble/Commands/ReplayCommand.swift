import BLEATT
import BLEKit
import BLEReplay
import BLETrace
import BLEWire
import ToolCore

/// `ble replay`: the session of a central in a trace, repeated against a device.
enum ReplayCommand {
  static let declaration = CommandDeclaration(
    name: "replay", summary: "repeats the session of a central in a trace against a device, and compares its answers",
    details: [
      "The adapter is the central. It sends the ATT requests and commands of the trace as they are, in their order, "
        + "and encrypts the link, with a pairing, where the recorded one was. The trace can be taken at the central or "
        + "at the peripheral.",
      "Responses are compared octet by octet; what the device notifies and indicates is compared for each attribute, "
        + "as a sequence of values. Each difference has the packet of the trace, the request and the attribute, the "
        + "recorded value and the new one. Requests name the recorded handles, as if the central had kept them.",
      "Pauses of the central are kept, up to --longest-pause: the device may act on time. A value that the device "
        + "sent in the trace before a request is waited for before that request.",
      "Writes are repeated, too: name a device that may be written.",
      "What is not repeated is printed: channels, enhanced bearers, signed writes, pairings that failed. Passkeys are "
        + "asked on the terminal, as by ble pair.",
      "The status is 1 if there is a difference.",
    ],
    operands: [
      .init(name: "FILE", help: "a packet trace, as for ble log; - for standard input", isFile: true), .device,
    ],
    options: CommandDeclaration.Option.adapter + [
      .json, CommandDeclaration.Option.timeout,
      .value("session", "NUMBER", "the link of the trace: its place among them, if several have requests"),
      .value(
        "ignore", "ATTRIBUTE",
        "does not compare the values of this attribute, which are random or measured: a UUID or its name, or a handle "
          + "such as 0x0021", isRepeatable: true),
      .value("longest-pause", "SECONDS", "shortens longer pauses of the central (default: 5)"),
      .value("wait", "SECONDS", "how long a value that the trace has is waited for (default: 5)"),
    ],
    examples: [
      .init(commandLine: "ble replay report.btsnoop Sensor", effect: "says what Sensor does in another way"),
      .init(
        commandLine: "ble replay report.pklg C0:11:22:33:44:55 --ignore 'Battery Level'",
        effect: "does not compare the level of the battery"),
    ],
    run: run)

  /// The outcome as JSON.
  private struct Report: Encodable {
    struct Difference: Encodable {
      struct Side: Encodable {
        var text: String
        var hex: String?
      }

      var kind: String
      var packet: Int?
      var name: String
      var handle: UInt16?
      var recorded: Side?
      var replayed: Side?
    }

    var equal: Bool
    var requests: Int
    var commands: Int
    var values: Int
    var differences: [Difference]
    var furtherDifferences: Int
    var notes: [String]
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    let (file, target) = (arguments.operand(0) ?? "-", arguments.operand(1) ?? "")
    let (options, timeout) = try (replayOptions(arguments), arguments.seconds("timeout") ?? .seconds(30))
    let number = try arguments.number("session", in: 1...SessionRecorder.linkLimit)
    try DeviceSearch.check(target, of: declaration)
    // Standard input may stay open and silent.
    let session = try await BLETool.endingAtOnce { try recorded(number, of: file) }
    var adapterOptions = try arguments.adapterOptions()
    adapterOptions.pairing.capability = PairingQuestions.isInteractive ? .keyboardDisplay : .none
    var result = ReplayResult()
    try await AdapterUse.withAdapter(adapterOptions) { adapter in
      let requests = adapter.pairingRequests
      let questions = Task { await PairingQuestions.answer(requests) }
      defer { questions.cancel() }
      result = try await replay(session, options, target, of: adapter, arguments, timeout: timeout)
    }
    show(result, asJSON: arguments.has("json"))
    if !result.isEqual { throw ToolError(description: "", status: 1) }
  }

  private static func replayOptions(_ arguments: ParsedArguments) throws(ToolError) -> ReplayOptions {
    var options = ReplayOptions()
    options.longestPause = try arguments.seconds("longest-pause") ?? options.longestPause
    options.valueTime = try arguments.seconds("wait") ?? options.valueTime
    for text in arguments.allValues("ignore") {
      if let handle = handle(text) {
        options.ignoredHandles.insert(handle)
        continue
      }
      let types = UUIDName.uuids(text)
      if types.isEmpty {
        let hint = UUIDName.nearestName(to: text, of: .characteristic).map { ". Did you mean '\($0)'?" } ?? ""
        throw .usage(
          "--ignore takes a UUID such as 2A19, the name of a characteristic or a handle such as 0x0021, not "
            + "'\(String(printable: text))'\(hint)", of: declaration)
      }
      options.ignoredTypes.formUnion(types)
    }
    return options
  }

  private static func handle(_ text: String) -> AttributeHandle? {
    guard text.lowercased().hasPrefix("0x"), text.dropFirst(2).allSatisfy(\.isHexDigit) else { return nil }
    return UInt16(text.dropFirst(2), radix: 16).flatMap { $0 == 0 ? nil : AttributeHandle($0) }
  }

  /// The session of a file.
  private static func recorded(_ number: Int?, of file: String) throws(ToolError) -> RecordedSession {
    var source = try TraceSource(file)
    var recorder = SessionRecorder(choosing: number)
    let fault = try source.forEachRecord { record in
      recorder.add(record)
      return true
    }
    // Packets may be missing that the comparison needs.
    if let fault { throw .data("\(file): \(fault)") }
    if let incompleteness = source.incompleteness { Output.error("ble: \(file): \(incompleteness)") }
    do throws(SessionFault) { return try recorder.finish() } catch {
      throw .data("\(file): \(error)\(error.reason == .several ? ". Use: --session NUMBER" : "")")
    }
  }

  private static func replay(
    _ session: RecordedSession, _ options: ReplayOptions, _ target: String, of adapter: Adapter,
    _ arguments: ParsedArguments, timeout: Duration
  ) async throws -> ReplayResult {
    let search = SearchProgress(target, with: adapter, timeout: timeout)
    var options = options
    options.connectionTime = timeout
    do {
      return try await Replay(session, options).run(on: adapter, against: search.target) { device in
        await search.end(connectedTo: device.address)
      }
    } catch let error as ReplayError {
      await search.end()
      throw ToolError.unavailable(error.description)
    } catch let error as BLEError {
      await search.end()
      guard error.kind != .cancelled else { throw error }
      guard let address = search.device else {
        throw error.kind == .notFound ? search.notFound(scan: arguments.commandLine("scan")) : error
      }
      throw AdapterUse.explained(error, of: address, with: adapter.bond(with: address), arguments)
    }
  }

  private static func show(_ result: ReplayResult, asJSON isJSON: Bool) {
    guard isJSON else {
      for (index, line) in result.lines.enumerated() {
        let isDifference = 1..<(1 + result.differences.count) ~= index
        Output.line(isDifference ? Style.red(line) : line, indent: index == 0 ? 0 : 4)
      }
      return
    }
    func side(_ text: String?, _ octets: [UInt8]?) -> Report.Difference.Side? {
      text.map { .init(text: $0, hex: octets.map { $0[...].hexadecimal }) }
    }
    let differences = result.differences.map { difference in
      Report.Difference(
        kind: difference.kind.rawValue, packet: difference.packet, name: difference.name,
        handle: difference.attribute?.rawValue, recorded: side(difference.recorded, difference.recordedOctets),
        replayed: side(difference.replayed, difference.replayedOctets))
    }
    Output.json(
      Report(
        equal: result.isEqual, requests: result.requestCount, commands: result.commandCount,
        values: result.valueCount, differences: differences, furtherDifferences: result.furtherDifferences,
        notes: result.notes))
  }
}
