import BLEKit
import BLEWire

/// How well each adapter has received each device, and on which PHYs.
struct SightingTable: Sendable {
  struct Sighting: Sendable {
    /// In dBm, by adapter; -128 for one that has not received the device.
    var rssi: [Int8]
    var phys: Set<LEPHY>
    fileprivate var last: ReceivedAdvertisement
  }

  private let adapters: Int
  private var current: [UInt64: Sighting] = [:]
  private var older: [UInt64: Sighting] = [:]

  /// The devices of one half of the table. When it is full, those that were received before it was begun are forgotten.
  static let halfLimit = 2048

  init(adapters: Int) { self.adapters = adapters }

  subscript(_ address: DeviceAddress) -> Sighting? { current[address.key] ?? older[address.key] }

  mutating func add(_ advertisement: ReceivedAdvertisement, of adapter: Int) {
    guard advertisement.isConnectable else { return }
    let key = advertisement.address.key
    let rssi = Int8(clamping: advertisement.rssi ?? -127)
    if let known = current.index(forKey: key) {
      current.values[known].update(advertisement, rssi, of: adapter)
      return
    }
    if current.count >= Self.halfLimit { (older, current) = (current, [:]) }
    var sighting =
      older[key]
      ?? Sighting(rssi: [Int8](repeating: -128, count: adapters), phys: advertisement.phys, last: advertisement)
    sighting.update(advertisement, rssi, of: adapter)
    current[key] = sighting
  }
}

extension SightingTable.Sighting {
  fileprivate mutating func update(_ advertisement: ReceivedAdvertisement, _ strength: Int8, of adapter: Int) {
    rssi[adapter] = strength
    guard !last.hasContent(of: advertisement) else { return }
    (last, phys) = (advertisement, advertisement.phys)
  }
}

extension DeviceAddress {
  /// The address of an identity and its kind as a number.
  fileprivate var key: UInt64 { octets.value | UInt64(kind.rawValue & 1) << 48 }
}
