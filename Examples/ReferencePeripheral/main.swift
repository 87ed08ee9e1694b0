// reference-peripheral --transport SPEC … --desc FILE [--snoop FILE]
//
// A peripheral that is whatever a description says: its services, values and permissions, its advertisement, and a
// control point through which a tester makes it send, disconnect or reset. It prints READY when it advertises.

import BluetoothLE
import ProgramOutput

Output.prepare {
  Manager.shutDownAll()
  exit(Output.closedStatus)
}

func shutDown() -> Never {
  Manager.shutDownAll()
  exit(0)
}

let description: Description
var transports: [String?] = []
let snoop: String?
do throws(Failure) {
  var arguments = try Arguments(CommandLine.arguments.dropFirst())
  if arguments.takeFlag("--help") {
    say(usageText)
    exit(0)
  }
  while let transport = try arguments.take("--transport") { transports.append(transport) }
  snoop = try arguments.take("--snoop")
  guard let file = try arguments.take("--desc") else { throw Failure.usage("--desc FILE is missing") }
  try arguments.end()
  description = try Description(file: file)
} catch {
  fail(error)
}

var options = AdapterOptions(
  snoop: snoop, deviceName: description.name, appearance: description.appearance, maximumMTU: description.maximumMTU)
options.enhancedATTBearers = description.enhancedBearers ?? 0
if let seconds = description.privacy {
  options.privacy.usesPrivateAddress = true
  options.privacy.rotation = .seconds(seconds)
  options.privacy.distributesIdentityWhenUnauthenticated = description.distributesIdentity ?? false
}
// Until both signals are watched: nothing is to be ended before.
let watched = DispatchGroup()
let signals = [SIGINT, SIGTERM].map { number in
  watched.enter()
  let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
  source.setRegistrationHandler { watched.leave() }
  source.setEventHandler { DispatchQueue.main.async { shutDown() } }
  source.activate()
  return source
}
watched.wait()

var peripherals: [ReferencePeripheral] = []
do throws(Failure) {
  options.pairing = try description.pairingOptions()
  if let tag = options.pairing.outOfBand {
    say("out of band \(tag.own.record.map { String(format: "%02x", $0) }.joined())")
  }
  for transport in transports.isEmpty ? [nil] : transports {
    options.transport = transport
    peripherals.append(try ReferencePeripheral(description, on: options))
  }
} catch {
  fail(error)
}

dispatchMain()
