import BluetoothLE
import Synchronization

/// A heart-rate monitor and its collector.
///
/// Without options both ends talk on a radio simulated in this process; with `--role` one of them uses any transport,
/// and the other is a phone, a watch, or this program on another machine.
@main
struct HeartRateExample {
  /// The signal that ends the program.
  private static let interruption = Mutex<Int32?>(nil)

  static func main() async {
    Output.prepare()
    let signals = endingInGoodOrder(on: [SIGINT, SIGTERM])
    defer { for signal in signals { signal.cancel() } }
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      try await run(options)
      Manager.shutDownAll()
    } catch let help as Options.Help {
      Output.write("\(help.text)\n")
    } catch {
      Manager.shutDownAll()
      // A closed output is no failure, and neither is what a signal ends.
      if !Output.isClosed, interruption.withLock({ $0 }) == nil {
        Output.write("heart-rate: \(error)\n", to: STDERR_FILENO)
        exit((error as? AdapterError)?.exitStatus ?? 1)
      }
    }
    if let number = interruption.withLock({ $0 }) { _exit(128 + number) }
    if Output.isClosed { exit(Output.closedStatus) }
  }

  /// Ends the program as it should end: advertising off, links closed, the transport given back.
  private static func endingInGoodOrder(on numbers: [Int32]) -> [any DispatchSourceSignal] {
    // Until the signals are watched: nothing is to be ended before.
    let watched = DispatchGroup()
    defer { watched.wait() }
    return numbers.map { number in
      watched.enter()
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setRegistrationHandler { watched.leave() }
      source.setEventHandler {
        interruption.withLock { $0 = number }
        Manager.shutDownAll()
        _exit(128 + number)
      }
      source.activate()
      return source
    }
  }

  private static func run(_ options: Options) async throws {
    switch options.role {
    case .both:
      // A host of its own for each end, as in two devices; one trace is enough.
      let monitor = HeartRateMonitor(
        adapter: AdapterOptions(transport: "virtual:heart", snoop: options.snoop), beats: options.beats)
      let collector = HeartRateCollector(adapter: AdapterOptions(transport: "virtual:watch", snoop: "/dev/null"))
      let served = Task { try await monitor.serve(options.rounds) }
      for _ in 0..<options.rounds {
        try await within(.seconds(60), "the whole conversation") { try await collector.collect(options.beats) }
      }
      try await within(.seconds(5), "the monitor to notice the end") { try await served.value }
      Output.write("\nDone. The packets, as the monitor saw them, are in \(options.snoop ?? "no file").\n")
    case .peripheral:
      let monitor = HeartRateMonitor(
        adapter: AdapterOptions(transport: options.transport, snoop: options.snoop), beats: options.beats)
      try await monitor.serve(options.rounds)
    case .central:
      let collector = HeartRateCollector(
        adapter: AdapterOptions(transport: options.transport, snoop: options.snoop))
      for _ in 0..<options.rounds { try await collector.collect(options.beats) }
    }
  }
}

/// What did not happen, or happened otherwise than it should.
struct Disappointment: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Runs `body`, and throws when it takes longer than `limit`.
func within<Value: Sendable>(
  _ limit: Duration, _ what: String, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      throw Disappointment("waited \(limit) for \(what) without success")
    }
    defer { group.cancelAll() }
    guard let first = try await group.next() else { throw CancellationError() }
    return first
  }
}

/// Prints a line of the conversation.
func say(_ who: String, _ what: String) {
  Output.write("\(who.padding(toLength: 8, withPad: " ", startingAt: 0))│ \(what)\n")
}
