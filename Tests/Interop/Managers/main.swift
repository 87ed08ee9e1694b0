// managers --transport SPEC [--snoop FILE] [--mtu OCTETS] [--priority throughput|balanced|lowPower] [--restore]
//
// Managers of both kinds, and connections of BLEKit, on one adapter: lines of standard input direct them, and each call
// of a delegate is a line of standard output. The first word of a line is the name of the manager: p… for a peripheral
// manager, c… for a central manager, k for BLEKit. A manager is created by its first line. With --restore its name is
// its restoration identifier.
//
//     p1 publish SERVICE CHARACTERISTIC TEXT   p1 advertise NAME SERVICE   p1 notify TEXT   p1 remove   p1 stop   p1 state
//     c1 scan SERVICE   c1 stop   c1 connect NAME   c1 retrieve SERVICE   c1 discover NAME   c1 includes NAME   c1 disconnect NAME
//     c1 read NAME CHARACTERISTIC   c1 subscribe NAME CHARACTERISTIC   c1 unsubscribe NAME CHARACTERISTIC
//     k connect ADDRESS [MINIMUM MAXIMUM LATENCY TIMEOUT]   k update MINIMUM MAXIMUM LATENCY TIMEOUT   k timing
//     k read SERVICE CHARACTERISTIC   k write SERVICE CHARACTERISTIC COUNT   k writes SERVICE CHARACTERISTIC COUNT (again and again)
//     k subscribe SERVICE CHARACTERISTIC   k database   k pair   k address   k disconnect   k forget (all bonds)
//     k publish PSM SECURITY   k withdraw PSM   k open PSM   k send CHANNEL FILE SIZE   k receive CHANNEL FILE [OCTETS SECONDS]
//     k close CHANNEL
//
// The channels of k have numbers: the first that is opened, by either side, is 1. A PSM is hexadecimal. Times are in
// milliseconds. An answer begins with the name of the manager, too.

import BluetoothLE

/// Prints a line at once.
@MainActor func say(_ line: String) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

@MainActor final class Managers {
  private let options: AdapterOptions
  private let restores: Bool
  private var peripherals: [String: PeripheralDriver] = [:]
  private var centrals: [String: CentralDriver] = [:]
  private var kits: [String: KitDriver] = [:]

  init(_ options: AdapterOptions, restores: Bool) { (self.options, self.restores) = (options, restores) }

  func perform(_ line: String) {
    let words = line.split(separator: " ").map(String.init)
    guard let name = words.first else { return }
    let command = Array(words.dropFirst())
    let isUnderstood: Bool
    switch name.prefix(1) {
    case "p":
      let driver = peripherals[name] ?? PeripheralDriver(name, on: options, restores: restores)
      peripherals[name] = driver
      isUnderstood = driver.perform(command)
    case "c":
      let driver = centrals[name] ?? CentralDriver(name, on: options, restores: restores)
      centrals[name] = driver
      isUnderstood = driver.perform(command)
    case "k":
      let driver = kits[name] ?? KitDriver(name, on: options)
      kits[name] = driver
      isUnderstood = driver.perform(command)
    default: isUnderstood = false
    }
    if !isUnderstood { say("not understood: \(line)") }
  }
}

var words = CommandLine.arguments
let restores = words.last == "--restore"
if restores { words.removeLast() }
var options = AdapterOptions()
var arguments = words.dropFirst()
while let word = arguments.popFirst(), let value = arguments.popFirst() {
  switch word {
  case "--transport": options.transport = value
  case "--snoop": options.snoop = value
  case "--mtu": options.maximumMTU = Int(value)
  case "--priority": options.connectionPriority = ConnectionPriority(rawValue: value)
  default: options.transport = nil
  }
}
guard options.transport != nil, words.count % 2 == 1 else {
  FileHandle.standardError.write(
    Data("usage: managers --transport SPEC [--snoop FILE] [--mtu OCTETS] [--priority PRIORITY] [--restore]\n".utf8))
  exit(64)
}
let managers = Managers(options, restores: restores)

let end: @Sendable () -> Void = {
  Manager.shutDownAll()
  exit(0)
}

let signals = [SIGINT, SIGTERM].map { number in
  signal(number, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
  source.setEventHandler(handler: end)
  source.resume()
  return source
}
Thread.detachNewThread {
  while let line = nextLine() {
    DispatchQueue.main.async { managers.perform(line) }
  }
  DispatchQueue.main.async(execute: end)
}
dispatchMain()
