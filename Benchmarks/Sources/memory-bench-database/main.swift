import BLEATT
import BLEGATT
import BLEWire
import Glibc

/// The memory of an attribute database: `memory-bench-database ATTRIBUTES` prints the octets of each 1,000 attributes.

let attributes = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1]) ?? 10_500 : 10_500

/// The anonymous memory of this process in octets, from /proc/self/smaps_rollup.
func anonymousMemory() -> Int {
  guard let file = fopen("/proc/self/smaps_rollup", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while fgets(&line, Int32(line.count), file) != nil {
    let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
      separator: " ")
    if words.first == "Anonymous:", words.count > 1 { return (Int(words[1]) ?? 0) * 1024 }
  }
  return 0
}

/// A service of 21 attributes, with ten values of 20 octets.
func definition(_ index: Int) -> ServiceDefinition {
  ServiceDefinition(
    id: ServiceID(rawValue: UInt32(index)), uuid: BluetoothUUID(UInt16(truncatingIfNeeded: 0x8000 + index)),
    characteristics: (0..<10).map { number in
      CharacteristicDefinition(
        id: AttributeID(rawValue: UInt32(index * 10 + number)),
        uuid: BluetoothUUID(UInt16(truncatingIfNeeded: 0xA000 + (index * 10 + number) % 0x4000)), properties: [.read],
        permissions: .readable, value: .fixed((0..<20).map { UInt8(truncatingIfNeeded: $0 + index) }))
    })
}

_ = anonymousMemory()
let before = anonymousMemory()
var database = AttributeDatabase()
for index in 0..<attributes / 21 { try database.add(definition(index)) }
print((anonymousMemory() - before) * 1000 / max(1, database.count))
