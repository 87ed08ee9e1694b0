package import BLEHost
package import BLELinux

/// The options of a host.
package struct HostOptions: Sendable {
  package var configuration = HostConfiguration()
  package var loop = LoopOptions()
  /// The file of the packet trace. A second host of the process with the same file writes to `NAME.2.SUFFIX`.
  package var trace: String?
  /// Whether keys are readable in the trace.
  package var traceKeepsKeys = false

  package init() {}

  /// The configuration of a host on a transport.
  func configuration(on transport: TransportSpec) -> HostConfiguration {
    var configuration = configuration
    switch transport {
    case .linux: configuration.ownership = .sharedWithKernel
    case .virtual:
      // Its radio is a thread of this process, which answers once it has run: a computer with much other work, or a
      // debugger, can keep it waiting. A reset would then end links that have no fault.
      configuration.commandTimeout = max(configuration.commandTimeout, .seconds(30))
    case .hciSocket, .stream: break
    }
    return configuration
  }
}

/// The times and limits of the event loop.
package struct LoopOptions: Sendable {
  /// The time after which a lost transport is opened again; nil if it is never opened again.
  package var reconnectionInterval: Duration? = .seconds(2)
  /// The longest wait for the controller when a transport that connects to it is opened for the first time.
  package var connectionPatience: Duration = .seconds(5)
  /// The longest wait for the machine to shut down.
  package var shutdownPatience: Duration = .seconds(3)
  /// The number of commands that can wait for the loop. One more is rejected; a command without an answer
  /// (``HostCommand/refusal``) at twice the number.
  package var commandLimit = HostCommand.waitingLimit
  /// The number of events that a sink can have without consuming them. With more, the transport is not read.
  package var eventBacklogLimit = 1_024

  package init() {}
}

/// The options that the command line and the environment determine if the code of a program does not.
package enum LaunchOptions {
  /// The transport: `code`, or else `--transport X`, or else `BLE_TRANSPORT`, or else `linux`.
  package static func transport(
    code: String? = nil, arguments: [String] = CommandLine.arguments,
    environment: (String) -> String? = Environment.value
  ) throws(TransportError) -> TransportSpec {
    if let code { return try TransportSpec(parsing: code) }
    if let option = try option("--transport", in: arguments) { return try TransportSpec(parsing: option) }
    return try TransportSpec(parsing: environment("BLE_TRANSPORT") ?? "linux")
  }

  /// The file of the packet trace: `code`, or else `--snoop FILE`, or else `BLE_SNOOP`, or else none.
  package static func trace(
    code: String? = nil, arguments: [String] = CommandLine.arguments,
    environment: (String) -> String? = Environment.value
  ) throws(TransportError) -> String? {
    if let code { return code }
    if let option = try option("--snoop", in: arguments) { return option }
    return environment("BLE_SNOOP")
  }

  /// Whether keys are readable in the trace: only if `BLE_SNOOP_KEYS` is 1.
  package static func traceKeepsKeys(environment: (String) -> String? = Environment.value) -> Bool {
    environment("BLE_SNOOP_KEYS") == "1"
  }

  /// Whether the radio of `virtual` transports has the timing of a real one: only if `BLE_VIRTUAL_PACE` is 1.
  package static func pacesVirtualRadio(environment: (String) -> String? = Environment.value) -> Bool {
    environment("BLE_VIRTUAL_PACE") == "1"
  }

  /// The value of `--name VALUE` or `--name=VALUE`; the options end at `--`.
  private static func option(_ name: String, in arguments: [String]) throws(TransportError) -> String? {
    var rest = arguments.dropFirst().prefix { $0 != "--" }
    while let argument = rest.popFirst() {
      if argument.hasPrefix(name + "=") { return String(argument.dropFirst(name.count + 1)) }
      guard argument == name else { continue }
      guard let value = rest.first, !value.isEmpty else {
        throw TransportError(
          .malformed, at: name, "the value is missing",
          remedy: name == "--snoop"
            ? "Write: --snoop FILE" : "Write, for example: --transport tcp-client:127.0.0.1:6402")
      }
      return value
    }
    return nil
  }
}
