import BLELinux
// `stdout` is a variable that C declares; a program sets it before its tasks begin, if at all.
@preconcurrency import Glibc

extension Adapter {
  /// Runs a program until `body` ends, or until SIGINT (Control-C) or SIGTERM arrives, closes every adapter, and exits.
  ///
  /// ```swift
  /// await Adapter.runProgram {
  ///   let adapter = try await Adapter.open()
  ///   try await adapter.advertise(Advertisement(localName: "Lamp"))
  /// }
  /// ```
  ///
  /// - The first signal cancels the task of `body`, a second one ends the process at once. The same signal again within
  ///   200 ms is the first one: GNU `timeout` sends two.
  /// - At the end, advertising is stopped, links are ended and bonds are stored (``shutDownAll(atMost:)``).
  /// - An error of `body` is written to standard error as one line, unless a signal has ended the program.
  /// - The exit status is 0 when `body` returns and after a signal, as systemd expects of a service; that of the
  ///   ``AdapterError`` when the adapter cannot be used (``BLEError/adapterError``; otherwise 69), 76 when a bond is
  ///   lost or a pairing fails (``BLEError/Kind/security``), and 1 for any other error.
  /// - Each printed line is written at once, even if standard output is a pipe or a file. Otherwise the lines of a
  ///   service would reach its journal in blocks of 4,096 octets.
  ///
  /// A program that handles signals itself only calls ``shutDownAll(atMost:)``.
  public static func runProgram(_ body: @escaping @Sendable () async throws -> Void) async -> Never {
    unsafe setvbuf(stdout, nil, _IOLBF, 0)
    let work = ProgramSignals().task(body)
    var status: Int32 = 0
    do {
      try await work.value
    } catch {
      if !work.isCancelled {
        status = exitStatus(of: error)
        LineOutput.standardError.write("\(error)\n")
      }
    }
    shutDownAll()
    exit(status)
  }

  private static func exitStatus(of error: any Error) -> Int32 {
    switch error {
    case let error as AdapterError: error.exitStatus
    case let error as BLEError:
      switch error.kind {
      case .adapterUnavailable: error.adapterError?.exitStatus ?? 69
      case .timedOut: error.adapterError?.exitStatus ?? 1
      case .security: 76
      case .disconnected, .cancelled, .att, .notFound, .invalidArgument, .invalidValue, .unsupported, .limitExceeded,
        .invalidResponse, .servicesChanged, .notStored:
        1
      }
    default: 1
    }
  }
}
