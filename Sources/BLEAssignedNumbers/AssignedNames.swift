public import BLEWire

/// The names that the Bluetooth SIG assigns to UUIDs, companies and appearances (Bluetooth Assigned Numbers).
///
/// The stack itself does not need the names; a tool that shows devices to a person imports this module. The tables are
/// read on first use, in about a millisecond.
///
/// ```swift
/// print(AssignedNames.uuid("2A37") ?? "unknown")  // Heart Rate Measurement
/// print(AssignedNames.company(0x004C) ?? "unknown")  // Apple, Inc.
/// ```
public enum AssignedNames {
  /// The name of a service, characteristic, descriptor, declaration or member with a 16-bit UUID; nil for any other
  /// UUID.
  public static func uuid(_ uuid: BluetoothUUID) -> String? {
    guard let short = uuid.shortValue, let number = UInt16(exactly: short) else { return vendorUUIDs[uuid] }
    return uuids[number]
  }

  /// The names of all UUIDs that have one.
  package static let all: [BluetoothUUID: String] = uuids.reduce(into: vendorUUIDs) {
    $0[BluetoothUUID($1.key)] = $1.value
  }

  /// The name of the company with this identifier; nil for one that is not in the table.
  public static func company(_ identifier: UInt16) -> String? { companies[identifier] }

  /// The name of an appearance value; the name of its category if the subcategory is not in the table, nil if neither
  /// is.
  public static func appearance(_ value: UInt16) -> String? {
    appearances[value] ?? appearances[value & ~0x3F]
  }

  /// The appearances with this name, in either case, the least first.
  package static func appearances(named name: String) -> [UInt16] {
    let name = name.lowercased()
    return appearances.filter { $0.value.lowercased() == name }.keys.sorted()
  }

  /// The names of all appearances, in their order.
  package static var appearanceNames: [String] { Set(appearances.values).sorted() }

  private static let uuids = table(AssignedNumbersTable.uuids)
  private static let companies = table(AssignedNumbersTable.companies)
  private static let appearances = table(AssignedNumbersTable.appearances)

  /// UUIDs of vendors that are widely used and documented.
  private static let vendorUUIDs: [BluetoothUUID: String] = [
    "6E400001-B5A3-F393-E0A9-E50E24DCCA9E": "Nordic UART Service",
    "6E400002-B5A3-F393-E0A9-E50E24DCCA9E": "Nordic UART RX",
    "6E400003-B5A3-F393-E0A9-E50E24DCCA9E": "Nordic UART TX",
    "8D53DC1D-1DB7-4CD3-868B-8A527460AA84": "SMP Service (MCUmgr)",
    "DA2E7828-FBCE-4E01-AE9E-261174997C48": "SMP Characteristic (MCUmgr)",
    "7905F431-B5CE-4E99-A40F-4B1E122D00D0": "Apple Notification Center Service",
    "89D3502B-0F36-433A-8EF4-C502AD55F8DC": "Apple Media Service",
    "D0611E78-BBB4-4591-A5F8-487910AE4366": "Apple Continuity Service",
  ]

  /// Reads lines of a number in hexadecimal, a space and a name.
  private static func table(_ text: StaticString) -> [UInt16: String] {
    var names: [UInt16: String] = [:]
    for line in text.description.split(separator: "\n") {
      guard let space = line.firstIndex(of: " "), let number = UInt16(line[..<space], radix: 16) else { continue }
      names[number] = String(line[line.index(after: space)...])
    }
    return names
  }
}
