import BLELinux
import BLEWire
import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing

@Suite struct TransportErrorTests {
  /// Opens `endpoint` with one call failing and gives back what is thrown.
  func failure(_ endpoint: StreamEndpoint, _ forced: SystemError?) throws -> TransportError {
    var port = StreamPort(endpoint, through: SystemCalls { $0 == forced?.call ? forced?.number : nil })
    do throws(TransportError) {
      try port.open()
      _ = try port.accept()
    } catch { return error }
    throw Missing()
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let endpoint: StreamEndpoint
    /// The call that is made to fail; nil where the endpoint fails by itself.
    let forced: SystemError?
    let kind: TransportError.Kind
    let exitCode: Int32
    /// Parts that the text must hold.
    let parts: [String]
    var testDescription: String { "\(endpoint) \(forced.map { "\($0)" } ?? "as it is")" }
  }

  static let tcp = StreamEndpoint.tcpClient(host: "127.0.0.1", port: 6402)
  static let listen = StreamEndpoint.tcpServer(host: "127.0.0.1", port: 6402)
  static let unix = StreamEndpoint.unixClient(path: "/tmp/none.sock")
  static let unixListen = StreamEndpoint.unixServer(path: "/tmp/no-such-folder-here/hci.sock")
  static let serial = StreamEndpoint.serial(path: "/dev/ttyACM0", SerialSettings())
  static let pty = StreamEndpoint.pseudoTerminal(path: "/tmp/no-such-folder-here/pty")

  static let rows: [Row] = [
    Row(
      endpoint: tcp, forced: SystemError(.connect, ECONNREFUSED), kind: .unavailable, exitCode: 69,
      parts: ["tcp-client:127.0.0.1:6402", "no program listens there", "ECONNREFUSED", "Start the controller"]),
    Row(
      endpoint: tcp, forced: SystemError(.connect, EHOSTUNREACH), kind: .unavailable, exitCode: 69,
      parts: ["ip route get"]),
    Row(
      endpoint: tcp, forced: SystemError(.connect, ETIMEDOUT), kind: .unavailable, exitCode: 69, parts: ["no answer"]),
    Row(endpoint: tcp, forced: SystemError(.socket, EMFILE), kind: .inputOutput, exitCode: 74, parts: ["ulimit -n"]),
    Row(endpoint: tcp, forced: SystemError(.resolve, EAGAIN), kind: .unavailable, exitCode: 69, parts: ["'127.0.0.1'"]),
    Row(
      endpoint: listen, forced: SystemError(.bind, EADDRINUSE), kind: .busy, exitCode: 75,
      parts: ["port 6402", "ss -tlnp"]),
    Row(endpoint: listen, forced: SystemError(.bind, EACCES), kind: .noPermission, exitCode: 77, parts: ["1024"]),
    Row(
      endpoint: listen, forced: SystemError(.bind, EADDRNOTAVAIL), kind: .unavailable, exitCode: 69, parts: ["_:6402"]),
    Row(
      endpoint: unix, forced: SystemError(.connect, ENOENT), kind: .unavailable, exitCode: 69,
      parts: ["there is no such socket"]),
    Row(
      endpoint: unix, forced: SystemError(.connect, ECONNREFUSED), kind: .unavailable, exitCode: 69,
      parts: ["left behind"]),
    Row(endpoint: unix, forced: SystemError(.connect, EACCES), kind: .noPermission, exitCode: 77, parts: ["ls -l"]),
    Row(
      endpoint: unixListen, forced: SystemError(.bind, ENOENT), kind: .unavailable, exitCode: 69, parts: ["mkdir -p"]),
    Row(
      endpoint: serial, forced: SystemError(.open, EACCES), kind: .noPermission, exitCode: 77,
      parts: ["/dev/ttyACM0", "EACCES", "dialout"]),
    Row(
      endpoint: serial, forced: SystemError(.open, ENOENT), kind: .unavailable, exitCode: 69,
      parts: ["Plug the adapter in"]),
    Row(
      endpoint: serial, forced: SystemError(.open, EBUSY), kind: .busy, exitCode: 75, parts: ["fuser -v /dev/ttyACM0"]),
    Row(
      endpoint: .serial(path: "/dev/null", SerialSettings()), forced: nil, kind: .unavailable, exitCode: 69,
      parts: ["not a serial device", "ENOTTY"]),
    Row(
      endpoint: .serial(path: "/dev/null", SerialSettings(baudRate: 123_456)), forced: nil, kind: .malformed,
      exitCode: 64, parts: ["123456 is not a baud rate", "115200", "4000000"]),
    Row(endpoint: pty, forced: nil, kind: .unavailable, exitCode: 69, parts: ["mkdir -p", "symlink"]),
    Row(
      endpoint: pty, forced: SystemError(.openPseudoTerminal, ENOENT), kind: .unavailable, exitCode: 69,
      parts: ["Mount devpts"]),
    Row(
      endpoint: .unixServer(path: "/tmp/" + String(repeating: "x", count: 103)), forced: nil,
      kind: .malformed, exitCode: 64, parts: ["the limit is 107"]),
  ]

  @Test(arguments: rows) func errorsHaveThreeParts(_ row: Row) throws {
    let error = try failure(row.endpoint, row.forced)
    #expect(error.kind == row.kind)
    #expect(error.exitCode == row.exitCode)
    #expect(!error.remedy.isEmpty)
    let text = "\(error)"
    #expect(text.hasPrefix("\(row.endpoint): "))
    for part in row.parts { #expect(text.contains(part), "'\(text)' lacks '\(part)'") }
  }

  /// 107 octets are the longest path of a socket: sun_path holds 108 with its zero.
  @Test func acceptsTheLongestSocketPath() throws {
    let path = "/tmp/" + String(repeating: "x", count: 102)
    var server = StreamPort(.unixServer(path: path))
    try server.open()
  }

  @Test func reportsAClosedPort() throws {
    let port: UInt16
    do {
      let listener = try Listener(tcpHost: "127.0.0.1", port: 0)
      let bound = listener.port
      port = try #require(bound)
    }
    var client = StreamPort(.tcpClient(host: "127.0.0.1", port: port))
    try client.open()
    let error = #expect(throws: TransportError.self) { _ = try client.waitForStream() }
    #expect(error?.cause == SystemError(.connect, ECONNREFUSED))
  }

  @Test func reportsUsedPortsAndSocketsAsBusy() throws {
    let folder = try TemporaryFolder()
    let first = try Listener(tcpHost: "127.0.0.1", port: 0)
    let bound = first.port
    let port = try #require(bound)
    let second = #expect(throws: TransportError.self) { _ = try Listener(tcpHost: "127.0.0.1", port: port) }
    #expect(second?.kind == .busy)

    let socket = try Listener(unixPath: folder.file("hci"))
    let other = #expect(throws: TransportError.self) { _ = try Listener(unixPath: folder.file("hci")) }
    #expect(other?.kind == .busy)
    let isStillListening = try socket.accept() != nil
    #expect(isStillListening, "the probe came and went")
    _ = consume first
  }

  /// Two programs find the socket of a killed one.
  @Test func twoStartsAtOnceDoNotRemoveTheSocketOfTheOther() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("hci")
    do {
      // A socket that nobody listens on.
      let killed = try Listener(unixPath: folder.file("killed"))
      #expect(link(folder.file("killed"), path) == 0)
      _ = consume killed
    }
    let (reached, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let refusal = Mutex<TransportError.Kind?>(nil)
    let second = SystemCalls { call in
      if call == .lock { reached.signal() }
      return nil
    }
    let first = SystemCalls { call in
      guard call == .unlink else { return nil }
      Thread.detachNewThread {
        do throws(TransportError) { _ = try Listener(unixPath: path, through: second) } catch {
          refusal.withLock { $0 = error.kind }
        }
        reached.signal()
        ended.signal()
      }
      // The other one waits, or has taken the path.
      reached.wait()
      return nil
    }
    let listener = try Listener(unixPath: path, through: first)
    ended.wait()
    #expect(refusal.withLock { $0 } == .busy)
    var client = StreamPort(.unixClient(path: path))
    try client.open()
    let stream = try client.waitForStream()
    let isListening = try listener.accept() != nil
    #expect(isListening)
    _ = consume stream
  }

  @Test func keepsAFileThatIsNeitherSocketNorLink() throws {
    let folder = try TemporaryFolder()
    try folder.write("precious", to: "file")
    let server = #expect(throws: TransportError.self) { _ = try Listener(unixPath: folder.file("file")) }
    #expect(server?.what.contains("not a socket") == true)
    let terminal = #expect(throws: TransportError.self) { _ = try PseudoTerminal(linkedAt: folder.file("file")) }
    #expect(terminal?.what.contains("not a symbolic link") == true)
    #expect(try String(contentsOfFile: folder.file("file"), encoding: .utf8) == "precious")
  }

  @Test func reportsHowMuchOfAPacketArrived() {
    let error = TransportError(endOf: Self.tcp, inPacketAfter: 3)
    #expect("\(error)".contains("3 octets into a packet"))
    #expect(error.exitCode == 69)
    #expect(TransportError(using: Self.serial, SystemError(.receive, EIO)).remedy.contains("Plug"))
    #expect(TransportError(using: Self.tcp, SystemError(.send, EPIPE)).kind == .closed)
    #expect(TransportError(using: Self.tcp, SystemError(.send, ENOMEM)).kind == .inputOutput)
  }

  @Test func reportsAFullDisk() throws {
    let folder = try TemporaryFolder()
    let file = try OutputFile(at: folder.file("trace"))
    #expect(throws: SystemError(.write, ENOSPC)) {
      try file.write([1].span, through: SystemCalls { $0 == .write ? ENOSPC : nil })
    }
    #expect("\(SystemError(.write, ENOSPC))" == "write: No space left on device (ENOSPC)")
    #expect("\(SystemError(.write, 9999))" == "write: error 9999")
  }
}
