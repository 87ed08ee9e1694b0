import CoreBluetooth

// resuming-transfer source FILE [--killed-after OCTETS]
// resuming-transfer receiver FILE [--killed-after OCTETS]
let arguments = CommandLine.arguments
guard arguments.count >= 3 else { fatalError("resuming-transfer source|receiver FILE") }
let file = URL(fileURLWithPath: arguments[2])
let octetsUntilKilled = arguments.firstIndex(of: "--killed-after").flatMap { Int(arguments[$0 + 1]) }
var source: Source?
var receiver: Receiver?

if arguments[1] == "source" {
  source = Source(file: try Data(contentsOf: file), octetsUntilKilled: octetsUntilKilled)
  source?.start()
} else {
  receiver = Receiver(output: file, octetsUntilKilled: octetsUntilKilled)
  receiver?.start()
}
RunLoop.main.run()
