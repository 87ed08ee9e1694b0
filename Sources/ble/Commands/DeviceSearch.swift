import BLEGAP
import BLEKit
import BLEWire
import ToolCore

/// The search for the device that the user has named, in the results of a scan.
///
/// Text that reads as an address is only an address, with its kind or without (`AddressWord`): any device can advertise
/// it as a name. If there is a bond for an address without a kind, the device is the bonded one. The case of a name
/// does not matter, nor does padding. A misspelt address is an error and not a name.
struct DeviceSearch {
  private let target: String
  /// The address, if the target is one.
  let address: AddressWord?
  private let bonded: [DeviceAddress]
  /// Devices with a shortened name that the target begins with, in the order in which they were found.
  private var shortened: [(address: DeviceAddress, name: String)] = []
  private var devices: [DeviceAddress: (name: String?, strength: Int)] = [:]
  /// The last device that was the target.
  private(set) var found: DeviceAddress?
  /// Whether it has accepted connections.
  private(set) var isConnectable = false

  /// Devices that are remembered for the text of an error.
  static let limit = 1_000

  init(_ target: String, bonds: [DeviceAddress]) {
    self.target = target
    let address = AddressWord(target)
    self.address = address
    bonded = bonds.filter { address?.names($0) == true }
  }

  /// The devices that were found, the target or not.
  var count: Int { devices.count }

  /// Compares a result with the target.
  ///
  /// - Returns: whether it is the target.
  mutating func add(_ result: ScanResult) -> Bool {
    guard add(result.address, result.contents, name: result.name, strength: result.rssi) else { return false }
    (found, isConnectable) = (result.address, isConnectable || result.isConnectable)
    return true
  }

  /// Compares a device with the target.
  ///
  /// - Parameters:
  ///   - name: its last name, which these contents may not have.
  ///   - strength: in dBm.
  /// - Returns: whether it is the target.
  mutating func add(
    _ device: DeviceAddress, _ contents: AdvertisedData, name: String? = nil, strength: Int? = nil
  ) -> Bool {
    if devices[device] != nil || devices.count < Self.limit {
      devices[device] = (contents.name ?? name ?? devices[device]?.name, strength ?? -128)
    }
    if let address {
      return address.names(device) && (bonded.isEmpty || bonded.contains(device.identity))
    }
    let wanted = target.uppercased()
    if (contents.name ?? name)?.uppercased() == wanted { return true }
    guard let name = contents.localName, !name.isComplete, let text = contents.name?.uppercased(),
      wanted.hasPrefix(text), shortened.count < Self.limit, !shortened.contains(where: { $0.address == device })
    else { return false }
    shortened.append((device, name.displayText))
    return false
  }

  /// The error after a search of `time` without the target, or without one that accepts connections.
  ///
  /// - Parameter scan: the command line that shows the devices in range.
  func notFound(after time: Duration, scan: String) -> ToolError {
    let head = "no device '\(String(printable: target))' was found in \(time.formattedSeconds)"
    if let found, !isConnectable {
      return .notFound(
        "\(found) is '\(String(printable: target))', but accepts no connections. It may be connected to another device, or "
          + "accept them only for some time after a button was pressed")
    }
    if let (device, name) = shortened.first {
      let others = shortened.count == 1 ? "" : ", as \(shortened.count - 1) more do"
      return .notFound(
        "\(head), but \(device) advertises the beginning of this name\(others): a long name is shortened. Use the address "
          + "\(device.word), or the name '\(name)'")
    }
    let names = devices.values.compactMap(\.name)
    let similar = address == nil ? nearest(to: target, in: names.sorted()) : nil
    let hint = similar.map { " Did you mean '\(String(printable: $0))'?" } ?? ""
    return .notFound("\(head). Is it switched on, near, and not connected elsewhere?\(hint) \(seen) Run: \(scan)")
  }

  /// How many of the devices that were found an error names.
  static let shown = 5

  /// The devices that were found: those with names first, then the strongest.
  private var seen: String {
    guard !devices.isEmpty else { return "No device was received." }
    let sorted = devices.sorted { one, other in
      let (first, second) = (one.value, other.value)
      if (first.name == nil) != (second.name == nil) { return first.name != nil }
      if first.strength != second.strength { return first.strength > second.strength }
      return one.key.word < other.key.word
    }
    let words = sorted.prefix(Self.shown).map { device in
      device.value.name.map { "'\(String(printable: $0))' (\(device.key.word))" } ?? device.key.word
    }
    let others = sorted.count > words.count ? " and \(sorted.count - words.count) more" : ""
    return "Received were \(words.joined(separator: ", "))\(others)."
  }

  /// Checks a target before a search.
  ///
  /// - Throws: ``ToolError`` for a misspelt address.
  static func check(_ target: String, of command: CommandDeclaration) throws(ToolError) {
    if let fault = AddressWord.misspelling(in: target) { throw .usage(fault, of: command) }
  }
}

extension Duration {
  /// `30 s`, `0.5 s`.
  var formattedSeconds: String {
    let (seconds, attoseconds) = components
    let tenths = attoseconds / 100_000_000_000_000_000
    return tenths == 0 ? "\(seconds) s" : "\(seconds).\(tenths) s"
  }
}

extension CommandDeclaration.Operand {
  /// The device of a command.
  static let device = Self(
    name: "DEVICE", help: "its name, or its address, such as C0:11:22:33:44:55 or C0:11:22:33:44:55-random")
}
