import BLEKit
import Foundation
import GatewayCore

/// The program `ble-gateway`, which `ble gateway` starts.
@main
struct GatewayTool {
  static func main() async {
    // A broker that closes the connection is an error of the call, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let work = Task { try await run() }
    let signals = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        // A second signal ends the process at once.
        signal(number, SIG_DFL)
        work.cancel()
      }
      source.activate()
      return source
    }
    defer { for source in signals { source.cancel() } }
    do {
      try await work.value
    } catch let error as GatewayError {
      end(error.text, error.exitStatus)
    } catch let error as AdapterError {
      end(error.text, error.exitStatus)
    } catch let error as BLEError where error.kind != .cancelled {
      end(error.description, 69)
    } catch {
      // Control-C and SIGTERM are the way in which a gateway ends.
      end(nil, 0)
    }
    end(nil, 0)
  }

  private static func run() async throws {
    let options = try Options(CommandLine.arguments.dropFirst())
    if options.wantsHelp { return print(Options.help) }
    if options.wantsVersion { return print("ble-gateway \(Gateway.version)") }
    if options.onlyChecks { return print("the configuration is valid") }
    let adapter = Adapter(AdapterOptions(transport: options.transport, snoop: options.snoop))
    do {
      try await adapter.waitUntilPoweredOn(timeout: .seconds(10))
    } catch {
      if let reason = adapter.stateReason, error.kind != .cancelled { throw reason }
      throw error
    }
    try await Gateway(options.configuration, adapter: adapter).run()
  }

  private static func end(_ text: String?, _ status: Int32) -> Never {
    if let text { Log.line(text) }
    Adapter.shutDownAll()
    exit(status)
  }
}
