// channel-transfer serve|connect NAME [--send OCTETS] [--receive OCTETS] …
//
// Two of these programs send each other octets over an L2CAP channel, and write how many, their checksum and the rate.
// One serves: it advertises NAME, with a characteristic that has the PSM. The other connects, reads the PSM and opens
// the channel. The one that serves closes the channel when it has sent and received everything, and the other one ends
// then: an end that disconnects as soon as it has written everything loses what the link has not carried yet.

import BluetoothLE
import ProgramOutput

let usageText = """
  usage: channel-transfer serve NAME [OPTION …]
         channel-transfer connect NAME [OPTION …]
    --transport SPEC  the controller, for example tcp-client:127.0.0.1:6402 (default: BLE_TRANSPORT, else linux)
    --send OCTETS     send so many octets (default: none)
    --receive OCTETS  receive so many octets (default: none)
    --stall           stop reading in the middle, until a line comes on standard input
    --encrypted       serve: demand an encrypted link
    --psm NUMBER      connect: the PSM, where the device has no characteristic with it
    --sequence        connect: with BLEKit, instead of streams
  """

Output.prepare {
  Manager.shutDownAll()
  exit(Output.closedStatus)
}
var plan = TransferPlan()
var adapter = AdapterOptions()
let isServer: Bool
do throws(UsageError) {
  var words = CommandLine.arguments.dropFirst()
  func value(_ name: String) throws(UsageError) -> String {
    guard let value = words.popFirst() else { throw UsageError(text: "\(name) has no value") }
    return value
  }
  func number(_ name: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int {
    guard let number = Int(try value(name)), range.contains(number) else {
      throw UsageError(text: "\(name) takes a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
  switch words.popFirst() {
  case "serve": isServer = true
  case "connect": isServer = false
  case "--help":
    say(usageText)
    exit(0)
  default: throw UsageError(text: "the first word is serve or connect")
  }
  plan.name = try value("NAME")
  while let word = words.popFirst() {
    switch word {
    case "--transport": adapter.transport = try value(word)
    case "--send": plan.sent = try number(word, 0...Int(Int32.max))
    case "--receive": plan.received = try number(word, 0...Int(Int32.max))
    case "--stall": plan.stalls = true
    case "--encrypted": plan.isEncrypted = true
    case "--psm": plan.psm = UInt16(try number(word, 1...255))
    case "--sequence": plan.usesSequence = true
    default: throw UsageError(text: "\(word) is no option of this program")
    }
  }
} catch {
  Output.write("channel-transfer: \(error.text)\n\(usageText)\n", to: STDERR_FILENO)
  exit(64)
}

struct UsageError: Error { var text: String }

func say(_ line: String) { Output.write("\(line)\n") }

func end(_ status: Int32) -> Never {
  Manager.shutDownAll()
  exit(status)
}

// Until both signals are watched: nothing is to be ended before.
let watched = DispatchGroup()
let signals = [SIGINT, SIGTERM].map { number in
  watched.enter()
  let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
  source.setRegistrationHandler { watched.leave() }
  source.setEventHandler { DispatchQueue.main.async { end(0) } }
  source.activate()
  return source
}
watched.wait()

adapter.pairing.storage = .memory
let server = isServer ? TransferServer(plan, on: adapter) : nil
let client = isServer || plan.usesSequence ? nil : TransferClient(plan, on: adapter)
if plan.usesSequence, !isServer {
  Task { [plan, adapter] in
    do {
      try await SequenceClient(plan: plan).run(on: adapter)
      end(0)
    } catch {
      say("failed: \(error)")
      end(1)
    }
  }
}
// The streams are scheduled on the main run loop.
RunLoop.main.run()
