/// Does `count` times what this program does itself for an operation: the share of the application in the benchmark of
/// `scenario`.
///
/// - Returns: false where the program has no share in the scenario.
func measureApplication(_ scenario: String, _ mode: String, count: Int) -> Bool {
  let served = DelegatePeripheral(filler: 0, publishesFiller: false, storesWrites: false)
  let counters = BenchmarkCounters()
  let operation: () -> Void
  switch (scenario, mode) {
  case ("dynamic", "peripheral"): operation = { _ = served.nextValue() }
  case ("command", "peripheral"): operation = { served.count(1) }
  case ("notification", "peripheral"): operation = { served.changeUpdate() }
  case ("dynamic", "peripheral-swift"), ("dynamic", "peripheral-synchronous"): operation = { _ = counters.read() }
  case ("command", "peripheral-synchronous"): operation = { counters.write() }
  default: return false
  }
  for _ in 0..<count { operation() }
  return true
}
