package import BLEHost
package import BLEWire

/// What devices have advertised, in slots, and the order of their last uses. Slots are numbered from 0 without gaps.
package struct DeviceTable: Sendable {
  private var keys = RecencyTable()
  private var records: ContiguousArray<AdvertisementRecord> = []
  /// The number of devices with a record at most.
  package let limit: Int

  package init(limit: Int) { self.limit = limit }

  /// The identity addresses of all devices, in the order of their last uses.
  package var all: [DeviceAddress] { keys.slots.map { address(at: $0) } }
  package var count: Int { keys.count }
  package var isFull: Bool { keys.count >= limit }
  /// The device that was not used for the longest time.
  package var oldest: Int? { keys.oldest }

  package func slot(of address: DeviceAddress) -> Int? { keys.slot(of: address.tableKey) }

  package func address(at slot: Int) -> DeviceAddress { DeviceAddress(tableKey: keys.key(at: slot)) }

  package func record(at slot: Int) -> AdvertisementRecord { records[slot] }

  package func name(at slot: Int) -> String? { records[slot].name }

  package mutating func touch(_ slot: Int) { keys.touch(slot) }

  /// Adds a device that is not there.
  package mutating func insert(_ address: DeviceAddress) -> Int {
    let slot = keys.insert(address.tableKey)
    if slot == records.count { records.append(AdvertisementRecord()) }
    return slot
  }

  package mutating func remove(_ slot: Int) {
    removeRecord(at: slot)
    keys.remove(slot)
  }

  /// Removes what a device has advertised.
  ///
  /// - Returns: false where it has not.
  @discardableResult
  package mutating func removeRecord(at slot: Int) -> Bool {
    guard !records[slot].isEmpty else { return false }
    records[slot] = AdvertisementRecord()
    return true
  }

  package mutating func removeRecords() {
    for slot in records.indices { removeRecord(at: slot) }
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

  /// Adds an advertisement or a scan response of a device, which need not be there. Where there is no room, the device that was not
  /// used for the longest time is removed.
  package mutating func add(_ discovery: Discovery, for filter: ScanFilter) -> Addition {
    let address = discovery.shared.content.address.identity
    if let slot = slot(of: address) {
      touch(slot)
      return add(discovery, at: slot, for: filter)
    }
    if isFull, let oldest { remove(oldest) }
    return add(discovery, at: insert(address), for: filter)
  }
}

extension DeviceAddress {
  /// The address as a number: 48 bits, and its kind.
  var tableKey: UInt64 { octets.value & 0xFFFF_FFFF_FFFF | UInt64(kind.rawValue) << 48 }

  init(tableKey: UInt64) {
    self.init(octets: BD_ADDR(tableKey), kind: Kind(rawValue: UInt8(truncatingIfNeeded: tableKey >> 48)))
  }
}
