import BLELinux
import BLERuntime
import Foundation

// A simulated radio that any Bluetooth host can attach to: each connection is a controller of its own.
//
//     virtual-radio --tcp 6402 --snoop traces
//
// then point two hosts at tcp-client:127.0.0.1:6402 and let the one find the other. With --pace the radio has the timing
// of a real one (Docs/VirtualRadio.md).

func tell(_ line: String) { Output.write("\(line)\n", to: STDERR_FILENO) }

Output.prepare()

do {
  let arguments = try RadioArguments(parsing: CommandLine.arguments.dropFirst())
  if arguments.wantsHelp {
    Output.write("\(RadioArguments.help)\n")
    exit(0)
  }
  let ended = try Latch()
  try TerminationSignals.catchOnce { _ in ended.open() }
  Output.whenClosed { ended.open() }

  var settings = arguments.settings
  settings.log = { tell($0) }
  settings.traceKeepsKeys = LaunchOptions.traceKeepsKeys()
  if let folder = settings.traceFolder {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }
  let radio = RadioService(settings)
  var places: [String] = []
  for door in arguments.doors {
    let port = try radio.listen(on: door)
    places.append(port.map { "tcp-client:127.0.0.1:\($0)" } ?? door.clientName)
  }
  Output.write("READY \(places.joined(separator: " "))\n")
  while !ended.wait(atMost: .seconds(3600)) {}
  radio.end()
  if Output.isClosed { exit(Output.closedStatus) }
} catch let error as RadioArguments.Wrong {
  tell("virtual-radio: \(error.text)\n\n\(RadioArguments.help)")
  exit(64)
} catch let error as TransportError {
  tell("virtual-radio: \(error)")
  exit(error.exitCode)
} catch {
  tell("virtual-radio: \(error)")
  exit(71)
}
