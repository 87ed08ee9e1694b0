import BLETrace
import BLETwin
import BLEWire
import ToolCore

/// `ble twin`: the copy of a device from a packet trace.
enum TwinCommand {
  static let declaration = CommandDeclaration(
    name: "twin", summary: "makes a copy of a device from a packet trace, for ble serve",
    details: [
      "The copy has what the trace shows: the advertisement, the kind of the address, the services with their handles, "
        + "values, permissions, the MTU, requests of timing and security, and the behaviour: successive values, the "
        + "notifications after a subscription with their times, and the answers to writes with what followed them.",
      "Standard error says what the trace does not show, a line for each. Keys are never taken over.",
    ],
    operands: [
      .init(
        name: "FILE", help: "the packet trace of a host that has connected to the device; see ble log", isFile: true)
    ],
    options: [
      .value("link", "LINK", "the device: its address, or the handle of its link, if the trace shows several"),
      .flag("keep-address", "the copy has the static address of the device"),
    ],
    examples: [
      .init(
        commandLine: "ble twin visit.btsnoop > lamp.json",
        effect: "makes the copy; ble serve lamp.json is a device that behaves as the one in the trace")
    ],
    run: run)

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    try await BLETool.endingAtOnce { try make(arguments) }
  }

  private static func make(_ arguments: ParsedArguments) throws {
    let file = arguments.operand(0) ?? "-"
    let filter = try TraceFilter(arguments)
    var source = try TraceSource(file)
    var recorder = TwinRecorder()
    let fault = try source.forEachEntry { entry in
      recorder.add(entry)
      return true
    }
    if let fault { throw ToolError.data("\(file): \(fault)") }
    let (seen, name) = try LogCommand.seen(in: source, filter, of: file)
    let twin = seen.device.twin(
      orNamed: name, in: recorder, link: seen.link, address: seen.address, keepsAddress: arguments.has("keep-address"))
    let text = twin.description.text
    do throws(ToolError) { _ = try ServiceDescription(Array(text.utf8), of: "the copy") } catch {
      throw ToolError.data(
        "\(file): what it shows is no database that can be served: \(error.description). Record a shorter session, in "
          + "which the services do not change.")
    }
    guard text.utf8.count <= ConfigurationValue.maximumFileLength else {
      throw ToolError.data(
        "\(file): the copy has \(text.utf8.count) octets, and ble serve reads \(ConfigurationValue.maximumFileLength): "
          + "record a shorter session.")
    }
    Output.text(text)
    for note in twin.notes { Output.error("ble: \(String(printable: note))") }
  }
}
