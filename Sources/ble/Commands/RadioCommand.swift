import BLEHCI
import BLELinux
import BLEVirtual
import BLEVirtualServer
import ToolCore

/// `ble radio`: a simulated radio for hosts in other programs.
enum RadioCommand {
  static let declaration = CommandDeclaration(
    name: "radio", summary: "runs a simulated radio to which Bluetooth hosts connect",
    details: [
      "Each host that connects gets a controller of its own (H4). It prints the transport of each endpoint, and ends with Control-C. "
        + "Any program that can reach an endpoint gets a controller: HCI has no authentication.",
      "A controller keeps its address, so that bonds stay valid: the address is derived from the endpoint and the number of hosts that "
        + "are connected to it. If the order in which programs start changes, give each device an endpoint of its own, or --address.",
    ],
    options: [
      .value(
        "tcp", "[HOST:]PORT", "listens for hosts; 127.0.0.1:6402 where there is no other endpoint, 0 takes a free port",
        isRepeatable: true),
      .value("unix", "PATH", "listens on a Unix socket", isFile: true, isRepeatable: true),
      .value(
        "pty", "PATH", "makes a pseudo-terminal for one host, with a symbolic link at PATH", isFile: true,
        isRepeatable: true),
      .flag("pace", "uses the timing of a real radio; otherwise data moves at once"),
      .value("seed", "N", "the seed of all random numbers (0)"),
      .value("acl-length", "N", "octets of an ACL packet, 27 to 65535 (251)"),
      .value("acl-count", "N", "ACL packets that a controller holds, 1 to 255 (8)"),
      .value("rssi", "DBM", "the signal strength with which each device is received, -127 to 20 (-50)"),
      .value("traces", "FOLDER", "writes one packet trace for each host", isFile: true),
    ],
    examples: [
      .init(commandLine: "ble radio --tcp 6402", effect: "hosts connect with --transport tcp-client:127.0.0.1:6402")
    ],
    run: run)

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    var configuration = VirtualRadioServer.Configuration()
    configuration.log = { Output.error($0) }
    if arguments.has("pace") { configuration.pacing = .airtime }
    configuration.seed = try arguments.number("seed", in: 0...UInt64.max) ?? 0
    if let length = try arguments.number("acl-length", in: UInt16(27)...UInt16.max) {
      configuration.controller.aclDataPacketLength = length
    }
    if let count = try arguments.number("acl-count", in: UInt8(1)...UInt8.max) {
      configuration.controller.totalNumACLDataPackets = count
    }
    if let rssi = try arguments.number("rssi", in: Int8(-127)...20) { configuration.controller.rssi = rssi }
    if let folder = arguments.value("traces") {
      do throws(SystemError) { try Files.makeFolder(folder) } catch {
        throw ToolError.output("\(folder) cannot be made: \(ToolError.text(ofError: error.number))")
      }
      configuration.traceFolder = folder
    }
    var endpoints: [VirtualRadioServer.Endpoint] = []
    for text in arguments.allValues("tcp") { endpoints.append(try endpoint(text)) }
    endpoints += arguments.allValues("unix").map { .unix(path: $0) }
    endpoints += arguments.allValues("pty").map { .pseudoTerminal(path: $0) }
    if endpoints.isEmpty { endpoints = [.tcp(host: "127.0.0.1", port: 6402)] }

    let (failures, failure) = AsyncStream.makeStream(of: ToolError.self)
    configuration.failed = { reason in
      failure.yield(ToolError(description: "the radio has ended: \(reason). Start it again", status: 71))
    }
    let server = VirtualRadioServer(configuration)
    defer { server.end() }
    do {
      for endpoint in endpoints { Output.event("READY \(try server.listen(on: endpoint))") }
    } catch {
      throw ToolError(description: "\(error)", status: error.exitStatus)
    }
    if Output.isClosed { return }
    if let end = await failures.first(where: { _ in true }) { throw end }
  }

  private static func endpoint(_ text: String) throws(ToolError) -> VirtualRadioServer.Endpoint {
    guard let address = ListenAddress(text, defaultHost: "127.0.0.1") else {
      throw .usage("--tcp takes PORT or HOST:PORT, not '\(text)'", of: declaration)
    }
    return .tcp(host: address.host, port: address.port)
  }
}
