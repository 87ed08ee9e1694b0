package import BLEHost
package import BLELinux

/// What a host needs beside its transport.
package struct HostOptions: Sendable {
  package var configuration = HostConfiguration()
  package var loop = LoopOptions()
  /// The file the packet trace goes to; a second host of the process that names the same one gets `NAME.2.SUFFIX`.
  package var trace: String?
  /// Whether keys stay readable in the trace.
  package var traceKeepsKeys = false

  package init() {}
}

/// How patient the event loop is.
package struct LoopOptions: Sendable {
  /// After how long a lost transport is opened again; nil never.
  package var reconnectionInterval: Duration? = .seconds(2)
  /// How long a client waits for the other end at first, and the machine is given to shut down.
  package var connectionPatience: Duration = .seconds(5)
  package var shutdownPatience: Duration = .seconds(3)
  /// Commands that may wait for the loop at once; one more is refused.
  package var commandLimit = 4_096
  /// Events handed out and not consumed, above which the transport is read no further.
  package var eventBacklogLimit = 1_024

  package init() {}
}

/// What a program's command line and environment choose where its code leaves it open.
package enum LaunchOptions {
  /// The transport: `code`, else `--transport X`, else `BLE_TRANSPORT`, else `linux`.
  package static func transport(
    code: String? = nil, arguments: [String] = CommandLine.arguments,
    environment: (String) -> String? = Environment.value
  ) throws(TransportError) -> TransportSpec {
    if let code { return try TransportSpec(parsing: code) }
    if let option = try option("--transport", in: arguments) { return try TransportSpec(parsing: option) }
    return try TransportSpec(parsing: environment("BLE_TRANSPORT") ?? "linux")
  }

  /// The file that the packet trace goes to: `code`, else `--snoop FILE`, else `BLE_SNOOP`, else none.
  package static func trace(
    code: String? = nil, arguments: [String] = CommandLine.arguments,
    environment: (String) -> String? = Environment.value
  ) throws(TransportError) -> String? {
    if let code { return code }
    if let option = try option("--snoop", in: arguments) { return option }
    return environment("BLE_SNOOP")
  }

  /// Whether keys stay readable in the trace: only where `BLE_SNOOP_KEYS` is 1.
  package static func traceKeepsKeys(environment: (String) -> String? = Environment.value) -> Bool {
    environment("BLE_SNOOP_KEYS") == "1"
  }

  /// Whether the radio of `virtual` transports has the timing of a real one: only where `BLE_VIRTUAL_PACE` is 1.
  package static func pacesVirtualRadio(environment: (String) -> String? = Environment.value) -> Bool {
    environment("BLE_VIRTUAL_PACE") == "1"
  }

  /// The value of `--name VALUE` or `--name=VALUE`; what follows `--` is no option.
  private static func option(_ name: String, in arguments: [String]) throws(TransportError) -> String? {
    var rest = arguments.dropFirst().prefix { $0 != "--" }
    while let argument = rest.popFirst() {
      if argument.hasPrefix(name + "=") { return String(argument.dropFirst(name.count + 1)) }
      guard argument == name else { continue }
      guard let value = rest.first, !value.isEmpty else {
        throw TransportError(
          .malformed, at: name, "its value is missing",
          remedy: name == "--snoop" ? "write --snoop FILE" : "write it like --transport tcp-client:127.0.0.1:6402")
      }
      return value
    }
    return nil
  }
}
