import BluetoothLE
import Synchronization

/// The counters of the Swift API's handlers.
final class BenchmarkCounters: Sendable {
  private let counts = Mutex<(reads: UInt32, writes: UInt32)>((0, 0))

  @inline(never) func read() -> [UInt8] {
    counts.withLock {
      $0.reads &+= 1
      return benchmarkValue($0.reads, $0.writes)
    }
  }

  @inline(never) func write() { counts.withLock { $0.writes &+= 1 } }
}

/// The service FFF0 as handlers of the Swift API serve it.
///
/// - Parameters:
///   - isSynchronous: whether reads and writes are handled on the thread of the stack.
///   - more: services to publish beside it.
func servePeripheral(_ options: AdapterOptions, isSynchronous: Bool, beside more: [LocalService]) async throws {
  let counters = BenchmarkCounters()
  let (value, sink) = (LocalCharacteristic("FFF2"), LocalCharacteristic("FFF3"))
  let service = LocalService(
    "FFF0",
    [
      LocalCharacteristic("FFF1").value((0..<20).map { UInt8($0) }),
      isSynchronous ? value.readSynchronously { _ in counters.read() } : value.read { _ in counters.read() },
      isSynchronous
        ? sink.writeSynchronously(kinds: .withoutResponse) { _, _ in counters.write() }
        : sink.write(kinds: .withoutResponse) { _, _ in counters.write() },
      LocalCharacteristic("FFF4").notify { subscriber in
        for number: UInt32 in 0... { try await subscriber.send(benchmarkValue(number, 0)) }
      },
    ])
  let adapter = try await Adapter.open(options)
  try await adapter.serve(
    [service] + more, advertising: Advertisement(localName: "h4bench", serviceUUIDs: ["FFF0"]))
}

/// Services of 21 attributes, with ten values of 20 octets each.
func fillerServices(_ attributes: Int) -> [LocalService] {
  (0..<attributes / 21).map { index in
    LocalService(
      BluetoothUUID(UInt16(truncatingIfNeeded: 0x8000 + index)),
      (0..<10).map { number in
        LocalCharacteristic(BluetoothUUID(UInt16(truncatingIfNeeded: 0xA000 + (index * 10 + number) % 0x4000)))
          .value((0..<20).map { UInt8(truncatingIfNeeded: $0 + index) })
      })
  }
}

/// Counts what a scan of the Swift API reports, and ends with the marker.
func scanAll(_ options: AdapterOptions) async throws {
  let adapter = try await Adapter.open(options)
  var scan = ScanOptions()
  scan.allowsDuplicates = true
  var reports = 0
  for try await result in adapter.scan(scan) {
    if result.contents.manufacturerData.contains(where: { $0.company.rawValue == 0xFFFF }) { break }
    reports += 1
  }
  print("SCAN reports \(reports) distinct 0")
  fflush(nil)
}
