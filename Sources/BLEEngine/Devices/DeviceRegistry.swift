package import BLEHost
package import BLEWire

/// The devices that one client of an adapter knows: those that it received advertisements of, connected to or named by address.
///
/// A machine without a clock. Devices are stored by identity address. With more than ``limit`` devices, the one that was not used
/// for the longest time is removed, unless the client says that it needs it. `Content` is what the client itself stores about a
/// device.
///
/// ```swift
/// var registry = DeviceRegistry<Bool>(limit: 256)
/// let filter = ScanFilter(number: 1)
/// guard registry.remember(discovery.address, isNeeded: { $0 }, content: { _ in false }) else { return }
/// if let device = registry.add(discovery, for: filter).report { print(device.data.localName ?? "-", device.rssi) }
/// ```
package struct DeviceRegistry<Content: Sendable>: Sendable {
  private struct Entry: Sendable {
    var content: Content
    var record = AdvertisementRecord()
    var lastUse: UInt64
  }

  private var entries: [DeviceAddress: Entry] = [:]
  private var addresses: [PeerIdentifier: DeviceAddress] = [:]
  private var uses: UInt64 = 0
  /// The number of devices at most.
  package let limit: Int

  package init(limit: Int) { self.limit = limit }

  /// The identity addresses of all devices, in no order.
  package var all: [DeviceAddress] { Array(entries.keys) }

  /// The content of a device; setting it has an effect for a known device only.
  package subscript(_ address: DeviceAddress) -> Content? {
    get { entries[address]?.content }
    set { if let newValue { entries[address]?.content = newValue } }
  }

  package func address(of identifier: PeerIdentifier) -> DeviceAddress? { addresses[identifier] }

  /// What a device has advertised; empty for a device that has not.
  package func record(of address: DeviceAddress) -> AdvertisementRecord {
    entries[address]?.record ?? AdvertisementRecord()
  }

  /// Removes what devices have advertised.
  package mutating func removeRecords() {
    for address in entries.keys { entries[address]?.record = AdvertisementRecord() }
  }

  /// Makes a device known, or marks it as used.
  ///
  /// - Parameters:
  ///   - isNeeded: whether a device with this content has to stay.
  ///   - content: the content of a new device.
  /// - Returns: false where there is no room, and no device that can be removed.
  package mutating func remember(
    _ address: DeviceAddress, isNeeded: (Content) -> Bool, content: (PeerIdentifier) -> Content
  ) -> Bool {
    uses += 1
    if entries[address] == nil {
      if entries.count >= limit {
        let stale = entries.filter { !isNeeded($0.value.content) }.min { $0.value.lastUse < $1.value.lastUse }
        guard let stale else { return false }
        entries[stale.key] = nil
        addresses[PeerIdentifier(stale.key)] = nil
      }
      let identifier = PeerIdentifier(address)
      entries[address] = Entry(content: content(identifier), lastUse: uses)
      addresses[identifier] = address
    }
    entries[address]?.lastUse = uses
    return true
  }

  /// The effect of an advertisement.
  package struct Addition: Sendable {
    /// The name of the device, where it is another one than before, and whether it had one.
    package var name: (new: String, isChange: Bool)?
    /// The report for the client, where the scan has one.
    package var report: DiscoveredDevice?
  }

  /// Adds an advertisement or a scan response of a known device.
  package mutating func add(_ discovery: Discovery, for filter: ScanFilter) -> Addition {
    let address = discovery.address.identity
    guard var record = entries[address]?.record else { return Addition() }
    defer { entries[address]?.record = record }
    let before = record.name
    let isNew = record.add(discovery)
    var addition = Addition()
    if isNew, let name = record.name, name != before { addition.name = (name, isChange: before != nil) }
    addition.report = record.report(discovery, isNew: isNew, for: filter)
    return addition
  }
}
