// reference-central [--transport SPEC] [--io CAPABILITY] …
//
// A central that does what lines of standard input say, and writes what happens as lines of standard output.
// A tester connects it to peripherals of any kind. It prints READY when the adapter is on.

import BluetoothLE
import ProgramOutput

let usageText = """
  usage: reference-central [--transport SPEC] [--snoop FILE] [--io CAPABILITY] [--legacy] [--authenticated] [--no-pairing]
                           [--asks-consent] [--enhanced-bearers N]
    --transport SPEC  the controller, for example tcp-client:127.0.0.1:6402 (default: BLE_TRANSPORT, else linux)
    --snoop FILE      write the packet trace there (btsnoop; default: BLE_SNOOP, else none)
    --io CAPABILITY   none (default), display, display-yes-no, keyboard or keyboard-display; a passkey is a line of input
    --legacy          LE legacy pairing only
    --authenticated   no pairing without authentication
    --no-pairing      no pairing when a peripheral demands security
    --asks-consent    ask before a pairing without authentication
    --enhanced-bearers N  use so many enhanced ATT bearers where the peripheral has them
  commands:
    connect NAME, disconnect, discover, pair, consent yes|no, passkey DIGITS
    read UUID, write UUID HEX, command UUID HEX, subscribe UUID, unsubscribe UUID
  """

Output.prepare {
  Manager.shutDownAll()
  exit(Output.closedStatus)
}
var adapter = AdapterOptions()
do throws(UsageError) {
  var words = CommandLine.arguments.dropFirst()
  func value(_ name: String) throws(UsageError) -> String {
    guard let value = words.popFirst() else { throw UsageError(text: "\(name) has no value") }
    return value
  }
  while let word = words.popFirst() {
    switch word {
    case "--help":
      Output.write("\(usageText)\n")
      exit(0)
    case "--transport": adapter.transport = try value(word)
    case "--snoop": adapter.snoop = try value(word)
    case "--io": adapter.pairing.capability = try capability(value(word))
    case "--legacy": adapter.pairing.allowsSecureConnections = false
    case "--authenticated": adapter.pairing.requiresProtection = true
    case "--no-pairing": adapter.pairing.pairsOnDemand = false
    case "--enhanced-bearers": adapter.enhancedATTBearers = Int(try value(word)) ?? 0
    case "--asks-consent": adapter.pairing.asksConsent = true
    default: throw UsageError(text: "\(word) is no option of this program")
    }
  }
} catch {
  Output.write("reference-central: \(error.text)\n\(usageText)\n", to: STDERR_FILENO)
  exit(64)
}

struct UsageError: Error { var text: String }

func capability(_ name: String) throws(UsageError) -> PairingOptions.Capability {
  switch name {
  case "none": return .none
  case "display": return .displayOnly
  case "display-yes-no": return .displayYesNo
  case "keyboard": return .keyboardOnly
  case "keyboard-display": return .keyboardDisplay
  default: throw UsageError(text: "\(name) is no capability")
  }
}

func shutDown(_ status: Int32) -> Never {
  Manager.shutDownAll()
  exit(status)
}

// Until both signals are watched: nothing is to be ended before.
let watched = DispatchGroup()
let signals = [SIGINT, SIGTERM].map { number in
  watched.enter()
  let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
  source.setRegistrationHandler { watched.leave() }
  source.setEventHandler { DispatchQueue.main.async { shutDown(0) } }
  source.activate()
  return source
}
watched.wait()

let central = ReferenceCentral(on: adapter)

Thread.detachNewThread {
  while let line = nextLine() { DispatchQueue.main.async { central.perform(line) } }
  DispatchQueue.main.async { shutDown(0) }
}

dispatchMain()
