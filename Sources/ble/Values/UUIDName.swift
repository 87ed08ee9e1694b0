import BLEAssignedNumbers
import BLEWire
import ToolCore

/// UUIDs as people write them: digits, or the name that the Bluetooth SIG or a vendor has given.
enum UUIDName {
  /// The UUIDs with this text or name, in either case; empty if there is none. `Service` at the end of a name may be
  /// left out.
  static func uuids(_ text: String) -> [BluetoothUUID] {
    if let uuid = BluetoothUUID(text) { return [uuid] }
    return byName[key(text)] ?? []
  }

  /// Whether `text` is the UUID or its name.
  static func matches(_ text: String, _ uuid: BluetoothUUID) -> Bool { uuids(text).contains(uuid) }

  /// The name that is most like `text`, among those of services; nil if there is none.
  static func nearestService(to text: String) -> String? {
    let services = AssignedNames.all.filter { (0x1800..<0x1900).contains($0.key.shortValue ?? 0) }
    return nearest(to: text, in: services.values.sorted())
  }

  private static let byName = Dictionary(grouping: AssignedNames.all.keys) { key(AssignedNames.all[$0] ?? "") }
    .mapValues { $0.sorted { $0.uuidString < $1.uuidString } }

  private static func key(_ name: String) -> String {
    let name = name.lowercased()
    return name.hasSuffix(" service") ? String(name.dropLast(8)) : name
  }
}
