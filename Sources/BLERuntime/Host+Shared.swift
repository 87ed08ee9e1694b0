package import BLECrypto
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

extension Host {
  /// The host of a transport: one for all who ask in this process.
  ///
  /// It opens the transport and begins to bring the controller up; ``HostEvent/state(_:_:)`` tells the rest. A client's
  /// connection is waited for, a server's and a pseudo-terminal's is not. `options` count only for the one who asks first.
  ///
  /// - Throws: ``TransportError`` that says what failed, where, and what mends it.
  package static func shared(
    _ transport: TransportSpec, _ options: HostOptions = HostOptions(), cryptography: any Cryptography = LibCrypto(),
    random: RandomSource = .system
  ) throws(TransportError) -> Host {
    var configuration = options.configuration
    if case .linux = transport { configuration.ownership = .sharedWithKernel }
    return try shared(transport, options) {
      HostCore(configuration: configuration, cryptography: cryptography, random: random)
    }
  }

  static func shared<Core: StackCore>(
    _ transport: TransportSpec, _ options: HostOptions, core: () -> Core
  ) throws(TransportError) -> Host where Core.Command == HostCommand, Core.Event == HostEvent {
    try HostRegistry.shared.host(of: transport, patience: options.loop.shutdownPatience) {
      () throws(TransportError) in
      let pipe = try Pipe.open(transport, patience: options.loop.connectionPatience)
      let port = pipe.listeningPort
      var path: String?
      var trace: PacketTrace?
      if let wanted = options.trace {
        let free = HostRegistry.shared.tracePath(wanted)
        trace = try PacketTrace(at: free, keepingKeys: options.traceKeepsKeys)
        path = free
      }
      let desk = try HostLoop.start(core(), pipe, trace, options.loop, at: "\(transport)")
      return Host(transport, desk: desk, listeningPort: port, tracePath: path)
    }
  }
}

extension PacketTrace {
  /// `path`, or where a trace of this process has that name already, the path with a number before its suffix.
  static func unused(_ path: String, in taken: inout Set<String>) -> String {
    var number = 2
    var candidate = path
    let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let dot = path[name...].dropFirst().lastIndex(of: ".") ?? path.endIndex
    while !taken.insert(candidate).inserted {
      candidate = "\(path[..<dot]).\(number)\(path[dot...])"
      number += 1
    }
    return candidate
  }
}
