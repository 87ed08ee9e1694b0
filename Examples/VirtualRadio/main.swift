import BLEVirtualServer
import Foundation
import ProgramOutput

// A simulated radio that any Bluetooth host can attach to: each connection is a controller of its own.
//
//     virtual-radio --tcp 6402 --snoop traces
//
// Then start two hosts with the transport tcp-client:127.0.0.1:6402: they receive each other. With --pace the radio has
// the timing of a real one (Docs/VirtualRadio.md).

func log(_ line: String) { Output.write("\(line)\n", to: STDERR_FILENO) }

let ended = DispatchSemaphore(value: 0)
Output.prepare { ended.signal() }

do {
  let arguments = try RadioArguments(parsing: CommandLine.arguments.dropFirst())
  if arguments.wantsHelp {
    Output.write("\(RadioArguments.help)\n")
    exit(0)
  }
  let watched = DispatchGroup()
  let signals = [SIGINT, SIGTERM].map { number in
    watched.enter()
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setRegistrationHandler { watched.leave() }
    source.setEventHandler {
      // The next signal ends the program at once.
      signal(number, SIG_DFL)
      ended.signal()
    }
    source.activate()
    return source
  }
  // Until both signals are watched: nothing is to be ended before.
  watched.wait()

  var configuration = arguments.configuration
  configuration.log = { log($0) }
  configuration.failed = { reason in
    log("virtual-radio: the radio has ended: \(reason). Start it again")
    exit(71)
  }
  configuration.traceKeepsKeys = ProcessInfo.processInfo.environment["BLE_SNOOP_KEYS"] == "1"
  if let folder = configuration.traceFolder {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }
  let server = VirtualRadioServer(configuration)
  let transports = try arguments.endpoints.map { try server.listen(on: $0) }
  Output.write("READY \(transports.joined(separator: " "))\n")
  ended.wait()
  server.end()
  for source in signals { source.cancel() }
  if Output.isClosed { exit(Output.closedStatus) }
} catch let error as RadioArguments.Wrong {
  log("virtual-radio: \(error.text)\n\n\(RadioArguments.help)")
  exit(64)
} catch let error as VirtualRadioServerError {
  log("virtual-radio: \(error)")
  exit(error.exitStatus)
} catch {
  log("virtual-radio: \(error)")
  exit(71)
}
