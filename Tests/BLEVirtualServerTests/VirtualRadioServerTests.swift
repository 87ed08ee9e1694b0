import BLEHCI
import BLEHost
import BLERuntime
import BLEVirtual
import BLEWire
import Foundation
import Testing

@testable import BLEVirtualServer

@Suite struct VirtualRadioServerTests {
  /// Longer than any run: only the watchdog of the run limits a wait.
  private let patience = Duration.seconds(1_000_000)

  /// A folder that is removed with the test.
  final class Folder: Sendable {
    let path = "/tmp/ble-\(UUID().uuidString.prefix(8))"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }
    var content: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }
  }

  /// Whether a host that opens this transport finishes the bring-up of its controller.
  func reachesPoweredOn(_ transport: String) async throws -> Bool {
    let host = try Host.shared(TransportSpec(parsing: transport))
    let (states, continuation) = AsyncStream.makeStream(of: Bool.self)
    let attachment = host.attach { events in
      for case .state(let state, _) in events where state == .poweredOn || state == .unsupported {
        continuation.yield(state == .poweredOn)
      }
    }
    let isPoweredOn = await states.first { _ in true } ?? false
    host.shutDown()
    _ = attachment
    return host.waitUntilEnded(atMost: patience) && isPoweredOn
  }

  @Test func hostsConnectByTheReturnedTransportString() async throws {
    let folder = try Folder()
    let server = VirtualRadioServer()
    let tcp = try server.listen(on: .tcp(host: nil, port: 0))
    #expect(tcp.hasPrefix("tcp-client:127.0.0.1:"))
    let unix = try server.listen(on: .unix(path: folder.file("hci")))
    #expect(unix == "unix-client:\(folder.file("hci"))")
    let terminal = try server.listen(on: .pseudoTerminal(path: folder.file("pty")))
    #expect(terminal == "serial:\(folder.file("pty"))")
    for transport in [tcp, unix, terminal] { #expect(try await reachesPoweredOn(transport), "\(transport)") }
    server.end()
    #expect(try folder.content.isEmpty)
  }

  @Test func controllersHaveTheConfiguration() async throws {
    let folder = try Folder()
    var configuration = VirtualRadioServer.Configuration()
    configuration.controller.aclDataPacketLength = 27
    configuration.controller.totalNumACLDataPackets = 3
    configuration.traceFolder = folder.path
    let server = VirtualRadioServer(configuration)
    let transport = try server.listen(on: .tcp(host: "127.0.0.1", port: 0))
    #expect(try await reachesPoweredOn(transport))
    server.end()
    #expect(try folder.content == ["1-tcp.btsnoop"])
    let trace = try Data(contentsOf: URL(filePath: folder.file("1-tcp.btsnoop")))
    // Command Complete of LE Read Buffer Size [v2] (0x2060): 27 octets, 3 packets.
    let answer: [UInt8] = [0x60, 0x20, 0x00, 27, 0, 3]
    #expect(try BTSnoopFile(Array(trace)[...]).contains { $0.packet.dropFirst(4).starts(with: answer) })
  }

  @Test func disconnectsHostsPastTheLimit() async throws {
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    var configuration = VirtualRadioServer.Configuration()
    configuration.hostLimit = 0
    configuration.log = { continuation.yield($0) }
    let server = VirtualRadioServer(configuration)
    let transport = try server.listen(on: .tcp(host: "127.0.0.1", port: 0))
    let host = try Host.shared(TransportSpec(parsing: transport))
    #expect(await lines.first { $0.contains("rejected") } == "tcp: rejected, because 0 hosts are connected")
    host.shutDown()
    #expect(host.waitUntilEnded(atMost: patience))
  }

  @Test func errorOfAnEndpointSaysWhatToDo() throws {
    let folder = try Folder()
    let (one, other) = (VirtualRadioServer(), VirtualRadioServer())
    try one.listen(on: .unix(path: folder.file("hci")))
    let busy = #expect(throws: VirtualRadioServerError.self) { try other.listen(on: .unix(path: folder.file("hci"))) }
    #expect(busy?.kind == .busy && busy?.exitStatus == 75)
    #expect(busy?.text.contains("another program listens there") == true)
    let missing = #expect(throws: VirtualRadioServerError.self) {
      try other.listen(on: .pseudoTerminal(path: folder.file("none/pty")))
    }
    #expect(missing?.kind == .unavailable && missing?.exitStatus == 69)
    let long = #expect(throws: VirtualRadioServerError.self) {
      try other.listen(on: .unix(path: folder.file(String(repeating: "x", count: 108))))
    }
    #expect(long?.kind == .malformed && long?.exitStatus == 64)
  }

  @Test func endsWithItsLastReference() throws {
    let folder = try Folder()
    do {
      let server = VirtualRadioServer()
      try server.listen(on: .unix(path: folder.file("hci")))
      #expect(try folder.content == ["hci"])
    }
    #expect(try folder.content.isEmpty)
  }
}
