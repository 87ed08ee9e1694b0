import CoreBluetooth

// serial-bridge bridge [--killed-after OCTETS]
// serial-bridge terminal INPUT OUTPUT [--hello-first] [--killed-after OCTETS]
let arguments = CommandLine.arguments
let octetsUntilKilled = arguments.firstIndex(of: "--killed-after").flatMap { Int(arguments[$0 + 1]) }
var bridge: Bridge?
var terminal: Terminal?

if arguments.dropFirst().first == "bridge" {
  bridge = Bridge(octetsUntilKilled: octetsUntilKilled)
  bridge?.start()
} else if arguments.count >= 4 {
  terminal = Terminal(
    input: try Data(contentsOf: URL(fileURLWithPath: arguments[2])), output: URL(fileURLWithPath: arguments[3]),
    greetsFirst: arguments.contains("--hello-first"), octetsUntilKilled: octetsUntilKilled)
  terminal?.start()
} else {
  fatalError("serial-bridge bridge | serial-bridge terminal INPUT OUTPUT")
}
RunLoop.main.run()
