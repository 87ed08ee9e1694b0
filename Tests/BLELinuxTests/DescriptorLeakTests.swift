import BLELinux
import BLEWire
import Foundation
import Testing

@Suite struct DescriptorLeakTests {
  /// In a process of its own: other tests open descriptors meanwhile.
  @Test func closesEveryDescriptor() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      try Self.round(in: folder)
      let before = try Self.openDescriptors()
      for _ in 0..<200 { try Self.round(in: folder) }
      // The last thread may not have let go of its latch yet: one descriptor.
      try #require(try Self.openDescriptors() <= before + 1)
    }
  }

  static func openDescriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
  }

  /// Every way a stream comes into being, and every way it fails.
  static func round(in folder: TemporaryFolder) throws {
    var tcpServer = StreamPort(.tcpServer(host: "127.0.0.1", port: 0))
    try tcpServer.open()
    try connect(.tcpClient(host: "127.0.0.1", port: tcpServer.port ?? 0), to: &tcpServer)
    var unixServer = StreamPort(.unixServer(path: folder.file("hci")))
    try unixServer.open()
    try connect(.unixClient(path: folder.file("hci")), to: &unixServer)
    var terminal = StreamPort(.pseudoTerminal(path: folder.file("pty")))
    try terminal.open()
    try connect(.serial(path: folder.file("pty"), SerialSettings()), to: &terminal)
    try terminal.open()

    let pair = try ByteStream.joined { (far) in _ = consume far }
    #expect(try pair.isEnded())
    #expect(throws: TransportError.self) { _ = try Listener(unixPath: folder.file("hci")) }
    #expect(throws: TransportError.self) { _ = try Listener(unixPath: folder.file("missing/hci")) }
    #expect(throws: TransportError.self) { _ = try PseudoTerminal(linkedAt: folder.file("missing/pty")) }
    var serial = StreamPort(.serial(path: "/dev/null", SerialSettings()))
    #expect(throws: TransportError.self) { try serial.open() }
    var refused = StreamPort(.unixClient(path: folder.file("missing")))
    try refused.open()
    #expect(throws: TransportError.self) { _ = try refused.accept() }
    let file = try OutputFile(at: folder.file("trace"))
    try file.write([1, 2, 3].span)
    var poller = try Poller()
    let latch = try Latch()
    try LoopThread.start { latch.open() }
    #expect(latch.wait(atMost: patience))
    try poller.wait(until: .start, on: MonotonicClock())
  }

  static func connect(_ endpoint: StreamEndpoint, to server: inout StreamPort) throws {
    var client = StreamPort(endpoint)
    try client.open()
    let near = try client.waitForStream()
    let far = try server.waitForStream()
    _ = try near.write([1].span)
    #expect(try far.readAll(1) == [1])
  }
}
