package import BLEHost
package import BLEWire

/// The advertisements of devices, in slots, and the order of their last uses. Slots are numbered from 0 without gaps.
///
/// Memory is limited by the octets that the records refer to, and by the number of devices: the table itself takes
/// about 200 octets for each.
package struct ScanTable: Sendable {
  private var keys = RecencyTable()
  private var records: ContiguousArray<AdvertisementRecord> = []
  /// The maximum number of devices with a record.
  package let limit: Int
  /// The maximum of ``allocatedOctets``.
  package let maximumOctets: Int
  /// The octets of memory that all records together refer to.
  package private(set) var allocatedOctets = 0
  /// The client's view of contents.
  private let view: (any AdvertisedView.Type)?

  /// - Parameter view: the client's view of contents, if it has one; its memory counts.
  package init(limit: Int, maximumOctets: Int, view: (any AdvertisedView.Type)? = nil) {
    (self.limit, self.maximumOctets, self.view) = (limit, maximumOctets, view)
  }

  /// The identity addresses of all devices, in the order of their last uses.
  package var all: [DeviceAddress] { keys.slots.map { address(at: $0) } }
  package var count: Int { keys.count }
  package var isFull: Bool { keys.count >= limit }
  /// Whether records have to be removed.
  package var hasTooManyOctets: Bool { allocatedOctets > maximumOctets }
  /// The device that was used least recently.
  package var oldest: Int? { keys.oldest }

  package func slot(of address: DeviceAddress) -> Int? { keys.slot(of: address.tableKey) }

  package func address(at slot: Int) -> DeviceAddress { DeviceAddress(tableKey: keys.key(at: slot)) }

  package func record(at slot: Int) -> AdvertisementRecord { records[slot] }

  package func name(at slot: Int) -> String? { records[slot].name }

  package mutating func touch(_ slot: Int) { keys.touch(slot) }

  /// Adds a device that is not in the table.
  package mutating func insert(_ address: DeviceAddress) -> Int {
    let slot = keys.insert(address.tableKey)
    if slot == records.count { records.append(AdvertisementRecord()) }
    return slot
  }

  package mutating func remove(_ slot: Int) {
    removeRecord(at: slot)
    keys.remove(slot)
  }

  /// Removes the advertisements of a device.
  ///
  /// - Returns: false if it has none.
  @discardableResult
  package mutating func removeRecord(at slot: Int) -> Bool {
    guard !records[slot].isEmpty else { return false }
    allocatedOctets -= records[slot].allocatedOctets
    records[slot] = AdvertisementRecord()
    return true
  }

  package mutating func removeRecords() {
    for slot in records.indices { removeRecord(at: slot) }
  }

  /// The effect of an advertisement.
  package struct Addition: Sendable {
    /// The name of the device, if it has changed, and whether the device had one before.
    package var name: (new: String, isChange: Bool)?
    /// The report for the client, if the scan has one.
    package var report: DiscoveredDevice?
    /// Whether the client has had a report with the same content, apart from the signal strength.
    package var isRepeated = false

    package init() {}
  }

  /// Adds an advertisement or a scan response of a device. The client removes records if there are too many octets
  /// afterwards.
  package mutating func add(_ scanReport: ScanReport, at slot: Int, for filter: ScanFilter) -> Addition {
    let before = records[slot].allocatedOctets
    let addition = records[slot].add(scanReport, for: filter, view: view)
    allocatedOctets += records[slot].allocatedOctets - before
    return addition
  }

  /// The reports that a scan has kept back for the scan responses of their devices, in the order of the last uses of
  /// the devices. It reports them at its end.
  package mutating func takeWaiting(for filter: ScanFilter) -> [DiscoveredDevice] {
    keys.slots.compactMap { records[$0].takeWaiting(for: filter) }
  }

  /// Adds an advertisement or a scan response of a device, which does not have to be in the table. If there is no room,
  /// the least recently used devices are removed.
  package mutating func add(_ scanReport: ScanReport, for filter: ScanFilter) -> Addition {
    let address = scanReport.shared.content.address.identity
    let slot: Int
    if let known = self.slot(of: address) {
      slot = known
      touch(slot)
    } else {
      if isFull, let oldest { remove(oldest) }
      slot = insert(address)
    }
    let addition = add(scanReport, at: slot, for: filter)
    while hasTooManyOctets, let oldest { remove(oldest) }
    return addition
  }
}

extension DeviceAddress {
  /// The address as a number: 48 bits, and its kind.
  var tableKey: UInt64 { octets.value & 0xFFFF_FFFF_FFFF | UInt64(kind.rawValue) << 48 }

  init(tableKey: UInt64) {
    self.init(octets: BD_ADDR(tableKey), kind: Kind(rawValue: UInt8(truncatingIfNeeded: tableKey >> 48)))
  }
}
