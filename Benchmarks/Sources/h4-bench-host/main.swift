import BluetoothLE

/// The host under test of the H4 benchmark: `h4-bench-host MODE TRANSPORT [FILLER [constructed]]`.
///
/// The modes peripheral, latency, scan, scan-device and scan-once use the types of CoreBluetooth with a queue of their
/// own; peripheral-swift, latency-swift and scan-swift the Swift API, and peripheral-synchronous and
/// latency-synchronous its handlers on the thread of the stack. FILLER is a number of attributes to publish beside the
/// service FFF0, whose characteristics the load generator uses. With "constructed" their objects are made and not
/// published.
///
/// `h4-bench-host application SCENARIO MODE COUNT` calls what the program itself does for an operation, COUNT times and
/// without the stack.

let words = CommandLine.arguments
if words.count == 5, words[1] == "application", let count = Int(words[4]) {
  exit(measureApplication(words[2], words[3], count: count) ? 0 : 64)
}
guard words.count >= 3 else {
  print(
    """
    usage: h4-bench-host MODE TRANSPORT [FILLER [constructed]], MODE one of
    peripheral, scan, scan-device, scan-once, peripheral-swift, peripheral-synchronous, scan-swift, latency,
    latency-swift, latency-synchronous
    """
  )
  exit(64)
}
var options = AdapterOptions(transport: words[2], deviceName: "h4bench")
options.pairing.storage = .memory
let filler = words.count > 3 ? Int(words[3]) ?? 0 : 0
let publishesFiller = words.count < 5

/// What the program serves with, for as long as it runs.
var retained: [AnyObject] = []
switch words[1] {
// In the second mode the stack keeps what is written to FFF3.
case "peripheral", "peripheral-stored":
  let served = DelegatePeripheral(
    filler: filler, publishesFiller: publishesFiller, storesWrites: words[1] == "peripheral-stored")
  let manager = PeripheralManager(delegate: served, queue: DispatchQueue(label: "app"), adapter: options)
  retained = [served, manager]
case "scan-device":
  let scanner = DeviceScanner()
  retained = [scanner, CentralManager(delegate: scanner, queue: DispatchQueue(label: "app"), adapter: options)]
case "scan", "scan-once":
  let scanner = DelegateScanner(allowsDuplicates: words[1] == "scan")
  let manager = CentralManager(delegate: scanner, queue: DispatchQueue(label: "app"), adapter: options)
  retained = [scanner, manager]
case "latency":
  let served = LatencyPeripheral()
  retained = [served, PeripheralManager(delegate: served, queue: DispatchQueue(label: "app"), adapter: options)]
case "latency-swift", "latency-synchronous":
  let isSynchronous = words[1] == "latency-synchronous"
  Task.detached { [options] in try await serveLatency(options, isSynchronous: isSynchronous) }
case "peripheral-swift", "peripheral-synchronous":
  let isSynchronous = words[1] == "peripheral-synchronous"
  let more = fillerServices(filler)
  Task.detached { [options] in
    try await servePeripheral(
      options, isSynchronous: isSynchronous, beside: publishesFiller ? more : [])
  }
case "scan-swift":
  Task.detached { [options] in try await scanAll(options) }
default:
  print("h4-bench-host: \(words[1]) is not a mode")
  exit(64)
}

// Nothing runs on the main queue. A profiler that does not support `dispatchMain` can run this program.
while true { sleep(1000) }
