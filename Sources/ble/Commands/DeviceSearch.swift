import BLEGAP
import BLEKit
import BLEWire
import ToolCore

/// The search for the device that the user has named, in the results of a scan.
///
/// Text that reads as an address is only an address: any device can advertise it as a name. If there is a bond for it,
/// the device is the bonded one, whose address has the kind of the bond. The case of a name does not matter.
struct DeviceSearch {
  private let target: String
  /// The address, if the target is one.
  let address: BD_ADDR?
  private let bonded: [DeviceAddress]
  /// Devices with a shortened name that the target begins with, in the order in which they were found.
  private var shortened: [(address: DeviceAddress, name: String)] = []
  private var devices: Set<DeviceAddress> = []

  /// Devices that are remembered for the text of an error.
  static let limit = 1_000

  init(_ target: String, bonds: [DeviceAddress]) {
    self.target = target
    let address = DeviceAddress(target, kind: .public)?.octets
    self.address = address
    bonded = bonds.filter { $0.octets == address }
  }

  /// The devices that were found, the target or not.
  var count: Int { devices.count }

  /// Compares a device with the target.
  ///
  /// - Returns: whether it is the target.
  mutating func add(_ device: DeviceAddress, _ contents: AdvertisedData) -> Bool {
    let isNew = devices.count < Self.limit && devices.insert(device).inserted
    if let address {
      return device.octets == address && (bonded.isEmpty || bonded.contains(device.identity))
    }
    guard let name = contents.localName else { return false }
    let text = String(decoding: name.octets, as: UTF8.self).uppercased()
    if text == target.uppercased() { return true }
    if isNew, !name.isComplete, !text.isEmpty, target.uppercased().hasPrefix(text) {
      shortened.append((device, name.displayText))
    }
    return false
  }

  /// The error after a search of `time` without the target.
  ///
  /// - Parameter scan: the command line that shows the devices in range.
  func notFound(after time: Duration, scan: String) -> ToolError {
    let head = "no device '\(target)' was found in \(time.formattedSeconds)"
    if let (device, name) = shortened.first {
      let others = shortened.count == 1 ? "" : ", as \(shortened.count - 1) more do"
      return .notFound(
        "\(head), but \(device) advertises the beginning of this name\(others): a long name is shortened. Use the address "
          + "\(device.octets), or the name '\(name)'")
    }
    return .notFound("\(head). Is it switched on, near, and not connected elsewhere? Run: \(scan)")
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
