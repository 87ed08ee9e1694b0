import BLEKernel
import BLELinux
import BLERuntime
import BLEWire
import Testing

@Suite struct TransportSpecTests {
  @Test(
    arguments: [
      ("linux", .linux(.first)),
      ("linux:hci0", .linux(.index(0))),
      ("linux:7", .linux(.index(7))),
      ("linux:F0:F1:F2:F3:F4:F5", .linux(.address(BD_ADDR(0xF0F1_F2F3_F4F5)))),
      ("hci-socket:0", .hciSocket(index: 0)),
      ("hci-socket:hci65535", .hciSocket(index: 65_535)),
      ("serial:/dev/ttyACM0", .stream(.serial(path: "/dev/ttyACM0", SerialSettings()))),
      ("serial:/dev/ttyACM0,115200", .stream(.serial(path: "/dev/ttyACM0", SerialSettings(baudRate: 115_200)))),
      (
        "serial:/dev/ttyUSB1,3000000,none",
        .stream(.serial(path: "/dev/ttyUSB1", SerialSettings(baudRate: 3_000_000, flowControl: .none)))
      ),
      ("serial:COM,1000000,rtscts", .stream(.serial(path: "COM", SerialSettings()))),
      ("pty:/tmp/a:b", .stream(.pseudoTerminal(path: "/tmp/a:b"))),
      ("tcp-client:127.0.0.1:6402", .stream(.tcpClient(host: "127.0.0.1", port: 6402))),
      ("tcp-client:radio.local:1", .stream(.tcpClient(host: "radio.local", port: 1))),
      ("tcp-client:[::1]:65535", .stream(.tcpClient(host: "::1", port: 65_535))),
      ("tcp-server:_:6402", .stream(.tcpServer(host: nil, port: 6402))),
      ("tcp-server:127.0.0.1:0", .stream(.tcpServer(host: "127.0.0.1", port: 0))),
      ("unix-client:hci.sock", .stream(.unixClient(path: "hci.sock"))),
      ("unix-server:/run/hci", .stream(.unixServer(path: "/run/hci"))),
      ("virtual", .virtual(name: "")),
      ("virtual:phone", .virtual(name: "phone")),
    ] as [(String, TransportSpec)])
  func parsesTransportStrings(_ text: String, _ spec: TransportSpec) throws {
    #expect(try TransportSpec(parsing: text) == spec)
    #expect(try TransportSpec(parsing: "\(spec)") == spec, "its shortest form means the same")
  }

  @Test(arguments: [
    ("", "not a transport", "virtual:NAME"),
    ("usb:0", "not a transport", "tcp-client:127.0.0.1:6402"),
    ("TCP-client:a:1", "not a transport", "tcp-client:"),
    ("linux:", "adapter after the colon is missing", "linux:hci0"),
    ("linux:eth0", "'eth0' is not an adapter", "linux:hci0"),
    ("linux:-1", "'-1' is not an adapter", "linux:hci0"),
    ("linux:F0:F1:F2:F3:F4", "not an address of six octets", "linux:hci0"),
    ("linux:G0:F1:F2:F3:F4:F5", "not an address of six octets", "linux:hci0"),
    ("hci-socket", "index of the adapter is missing", "hci-socket:0"),
    ("hci-socket:65536", "'65536' is not an adapter", "hci-socket:0"),
    ("serial", "device is missing", "serial:/dev/ttyACM0,1000000"),
    ("serial:,115200", "device is missing", "serial:"),
    ("serial:/dev/ttyACM0,fast", "'fast' is not a baud rate", "serial:"),
    ("serial:/dev/ttyACM0,0", "'0' is not a baud rate", "serial:"),
    ("serial:/dev/ttyACM0,", "'' is not a baud rate", "serial:"),
    ("serial:/dev/ttyACM0,+9600", "'+9600' is not a baud rate", "serial:"),
    ("serial:/dev/ttyACM0,9600,xonxoff", "'xonxoff' is not a flow control", "serial:"),
    ("serial:/dev/ttyACM0,9600,none,8N1", "'8N1'", "serial:"),
    ("pty:", "path is missing", "pty:/tmp/hci"),
    ("unix-client", "path is missing", "unix-client:/tmp/hci.sock"),
    ("unix-server:", "path is missing", "unix-server:/tmp/hci.sock"),
    ("tcp-client", "host and port are missing", "tcp-client:127.0.0.1:6402"),
    ("tcp-client:localhost", "port is missing", "tcp-client:127.0.0.1:6402"),
    ("tcp-client:[::1]", "port is missing", "tcp-client:"),
    ("tcp-client:::1:6402", "needs brackets", "tcp-client:"),
    ("tcp-client::6402", "host is missing", "tcp-client:"),
    ("tcp-client:_:6402", "needs a host", "tcp-client:"),
    ("tcp-client:a:0", "no program listens on port 0", "tcp-client:"),
    ("tcp-client:a:65536", "'65536' is not a port", "tcp-client:"),
    ("tcp-server:_:", "'' is not a port", "tcp-server:_:6402"),
    ("tcp-server:_:١", "is not a port", "tcp-server:_:6402"),
    ("virtual:", "name after the colon is missing", "virtual:NAME"),
  ])
  func rejectsMalformedStringsWithAnExample(_ text: String, _ part: String, _ example: String) throws {
    let error = try #require(throws: TransportError.self) { try TransportSpec(parsing: text) }
    #expect(error.kind == .malformed && error.exitCode == 64)
    #expect(error.what.contains(part), "\(error)")
    #expect(error.remedy.contains(example), "\(error)")
  }

  @Test(
    arguments: [
      // Code wins, then the command line, then the environment, then the kernel's first adapter.
      ("virtual", ["p", "--transport", "pty:a"], "pty:b", "virtual"),
      (nil, ["p", "--transport", "pty:a"], "pty:b", "pty:a"),
      (nil, ["p", "-v", "--transport=pty:a"], "pty:b", "pty:a"),
      (nil, ["p", "--", "--transport", "pty:a"], "pty:b", "pty:b"),
      (nil, ["p", "--transports", "x"], "pty:b", "pty:b"),
      (nil, ["p"], nil, "linux"),
    ] as [(String?, [String], String?, String)])
  func codePrecedesCommandLineAndEnvironment(
    _ code: String?, _ arguments: [String], _ variable: String?, _ chosen: String
  ) throws {
    let spec = try LaunchOptions.transport(code: code, arguments: arguments) {
      $0 == "BLE_TRANSPORT" ? variable : nil
    }
    #expect("\(spec)" == chosen)
  }

  @Test func choosesTheTraceInTheSameOrder() throws {
    let environment: @Sendable (String) -> String? = { ["BLE_SNOOP": "e", "BLE_SNOOP_KEYS": "1"][$0] }
    #expect(try LaunchOptions.trace(code: "c", arguments: ["p", "--snoop", "a"], environment: environment) == "c")
    #expect(try LaunchOptions.trace(arguments: ["p", "--snoop", "a"], environment: environment) == "a")
    #expect(try LaunchOptions.trace(arguments: ["p"], environment: environment) == "e")
    #expect(try LaunchOptions.trace(arguments: ["p"], environment: { _ in nil }) == nil)
    #expect(LaunchOptions.traceKeepsKeys(environment: environment))
    #expect(!LaunchOptions.traceKeepsKeys(environment: { _ in "yes" }))
    #expect(LaunchOptions.pacesVirtualRadio { $0 == "BLE_VIRTUAL_PACE" ? "1" : nil })
    #expect(!LaunchOptions.pacesVirtualRadio { _ in nil })
  }

  @Test func rejectsAnOptionWithoutAValue() throws {
    let transport = try #require(throws: TransportError.self) {
      try LaunchOptions.transport(arguments: ["p", "--transport"], environment: { _ in nil })
    }
    #expect(transport.exitCode == 64 && transport.remedy.contains("--transport tcp-client"))
    let trace = try #require(throws: TransportError.self) {
      try LaunchOptions.trace(arguments: ["p", "--snoop"], environment: { _ in nil })
    }
    #expect(trace.remedy.contains("--snoop FILE"))
  }
}
