package import BLEHost
package import BLEWire

/// What the devices of a ``DeviceRegistry`` have advertised, in slots, and the order of their last uses.
package struct DeviceTable: Sendable {
  private var slots: [DeviceAddress: Int] = [:]
  private var identifiers: [PeerIdentifier: Int] = [:]
  private var addresses: ContiguousArray<DeviceAddress> = []
  private var records: ContiguousArray<AdvertisementRecord> = []
  private var order = RecencyOrder()
  /// Slots of removed devices.
  private var free: [Int] = []
  /// The number of devices at most.
  package let limit: Int

  package init(limit: Int) { self.limit = limit }

  package var all: [DeviceAddress] { Array(slots.keys) }
  package var count: Int { slots.count }
  package var isFull: Bool { slots.count >= limit }
  /// The device that was not used for the longest time.
  package var oldest: Int? { order.oldest }

  package func slot(of address: DeviceAddress) -> Int? { slots[address] }

  package func address(of identifier: PeerIdentifier) -> DeviceAddress? {
    identifiers[identifier].map { addresses[$0] }
  }

  package func record(at slot: Int) -> AdvertisementRecord { records[slot] }

  package func name(at slot: Int) -> String? { records[slot].name }

  package mutating func touch(_ slot: Int) { order.touch(slot) }

  /// Adds a device that is not there. Slots are numbered from 0 without gaps.
  package mutating func insert(_ address: DeviceAddress) -> (slot: Int, identifier: PeerIdentifier) {
    let identifier = PeerIdentifier(address)
    let slot: Int
    if let last = free.popLast() {
      slot = last
      addresses[slot] = address
    } else {
      slot = addresses.count
      addresses.append(address)
      records.append(AdvertisementRecord())
    }
    slots[address] = slot
    identifiers[identifier] = slot
    order.append(slot)
    return (slot, identifier)
  }

  package mutating func remove(_ slot: Int) {
    slots[addresses[slot]] = nil
    identifiers[PeerIdentifier(addresses[slot])] = nil
    records[slot] = AdvertisementRecord()
    order.remove(slot)
    free.append(slot)
  }

  package mutating func removeRecords() {
    for slot in records.indices { records[slot] = AdvertisementRecord() }
  }

  /// The effect of an advertisement.
  package struct Addition: Sendable {
    /// The name of the device, where it is another one than before, and whether it had one.
    package var name: (new: String, isChange: Bool)?
    /// The report for the client, where the scan has one.
    package var report: DiscoveredDevice?
    /// Whether the client has had a report with the same content, apart from the strength.
    package var isRepeated = false

    package init() {}
  }

  /// Adds an advertisement or a scan response of a device.
  package mutating func add(_ discovery: Discovery, at slot: Int, for filter: ScanFilter) -> Addition {
    records[slot].add(discovery, for: filter)
  }
}
