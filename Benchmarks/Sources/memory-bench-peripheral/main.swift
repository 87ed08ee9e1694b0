import BLEKit
import Glibc

/// A peripheral that uses only the Swift API: `memory-bench-peripheral TRANSPORT [ATTRIBUTES]`.
///
/// It serves FFF0, whose characteristics the load generator uses, and as many attributes more: in services of 21
/// attributes, with ten values of 20 octets each.

let words = CommandLine.arguments
guard words.count >= 2 else {
  print("usage: memory-bench-peripheral TRANSPORT [ATTRIBUTES]")
  exit(64)
}
let attributes = words.count > 2 ? Int(words[2]) ?? 0 : 0
var options = AdapterOptions(transport: words[1], deviceName: "memory")
options.pairing.storage = .memory

Task.detached { [options] in
  do {
    let adapter = try await Adapter.open(options)
    try await adapter.serve(services(attributes), advertisingAs: "memory")
  } catch {
    print("\(error)")
    exit(1)
  }
}
while true { sleep(1000) }

func services(_ attributes: Int) -> [LocalService] {
  let value = (0..<20).map { UInt8($0) }
  let test = LocalService(
    "FFF0",
    [
      LocalCharacteristic("FFF1").value(value),
      LocalCharacteristic("FFF2").read { _ in value },
      LocalCharacteristic("FFF3").write(kinds: .withoutResponse) { _, _ in },
      LocalCharacteristic("FFF4").notify { _ in },
    ])
  return [test]
    + (0..<attributes / 21).map { index in
      LocalService(
        BluetoothUUID(UInt16(truncatingIfNeeded: 0x8000 + index)),
        (0..<10).map { number in
          LocalCharacteristic(BluetoothUUID(UInt16(truncatingIfNeeded: 0xA000 + (index * 10 + number) % 0x4000)))
            .value((0..<20).map { UInt8(truncatingIfNeeded: $0 + index) })
        })
    }
}
