package import BLEHost
package import BLEWire

/// The devices that one client of an adapter knows: those that it received advertisements of, connected to, or named by
/// address.
///
/// A machine without a clock. Devices are stored by identity address. With more than ``limit`` devices, or with more
/// memory for what they have advertised than ``maximumOctets``, the one that was not used for the longest time is
/// removed, unless the client says that it needs it: such a device stays, without what it has advertised.
/// `Content` is the client's own data about a device. Each operation on one device takes the same time for any
/// number of devices.
///
/// ```swift
/// var devices = ClientDevices<Bool>(limit: 256, maximumOctets: 1 << 20)
/// let filter = ScanFilter(number: 1)
/// let slot = devices.slot(of: discovery.address, isNeeded: { $0 }, content: { _ in false })
/// let addition = devices.add(discovery, at: slot, for: filter, isNeeded: { $0 })
/// if let device = addition.report { print(device.data.localName ?? "-", device.rssi) }
/// ```
package struct ClientDevices<Content: Sendable>: Sendable {
  @usableFromInline package var table: ScanTable
  /// By slot.
  @usableFromInline package var contents: ContiguousArray<Content> = []
  @usableFromInline package var identifiers: [PeerIdentifier: Int] = [:]

  /// The number of devices that are examined to find those that can be removed. Those that are needed count as used
  /// from then on.
  @inlinable package static var candidateLimit: Int { 64 }

  /// The number of devices at most, besides those that the client needs.
  @inlinable package var limit: Int { table.limit }

  /// The octets of memory at most of what the devices have advertised.
  @inlinable package var maximumOctets: Int { table.maximumOctets }

  /// The octets of memory of what the devices have advertised.
  @inlinable package var allocatedOctets: Int { table.allocatedOctets }

  /// - Parameter view: the client's view of contents, if it has one; its memory counts.
  @inlinable package init(limit: Int, maximumOctets: Int, view: (any AdvertisedView.Type)? = nil) {
    table = ScanTable(limit: limit, maximumOctets: maximumOctets, view: view)
  }

  /// The identity addresses of all devices, the one used last at the end.
  package var all: [DeviceAddress] { table.all }

  /// The content of a device; setting it has an effect only for a known device.
  @inlinable package subscript(_ address: DeviceAddress) -> Content? {
    get { table.slot(of: address).map { contents[$0] } }
    set {
      if let newValue, let slot = table.slot(of: address) { contents[slot] = newValue }
    }
  }

  /// The content of a device in its slot.
  @inlinable package subscript(slot slot: Int) -> Content {
    get { contents[slot] }
    set { contents[slot] = newValue }
  }

  package func address(of identifier: PeerIdentifier) -> DeviceAddress? {
    identifiers[identifier].map { table.address(at: $0) }
  }

  /// The advertisements of a device; empty for a device that has not advertised.
  package func record(of address: DeviceAddress) -> AdvertisementRecord {
    table.slot(of: address).map { table.record(at: $0) } ?? AdvertisementRecord()
  }

  /// The name that a device has advertised.
  package func name(at slot: Int) -> String? { table.name(at: slot) }

  /// Removes the advertisements of all devices.
  package mutating func removeRecords() { table.removeRecords() }

  /// Makes a device known, or marks it as used.
  ///
  /// - Parameters:
  ///   - isNeeded: whether a device with this content has to stay.
  ///   - content: the content of a new device.
  /// - Returns: the slot of the device until the next one is made known.
  @discardableResult
  @inlinable package mutating func slot(
    of address: DeviceAddress, isNeeded: (Content) -> Bool, content: (PeerIdentifier) -> Content
  ) -> Int {
    if let slot = table.slot(of: address) {
      table.touch(slot)
      return slot
    }
    makeRoom(isNeeded)
    let (slot, identifier) = (table.insert(address), PeerIdentifier(address))
    identifiers[identifier] = slot
    if slot < contents.count { contents[slot] = content(identifier) } else { contents.append(content(identifier)) }
    return slot
  }

  /// If there are too many devices, removes those that were not used for the longest time and are not needed.
  @inlinable mutating func makeRoom(_ isNeeded: (Content) -> Bool) {
    var (candidates, hasRemovedRecord) = (Self.candidateLimit, false)
    while table.isFull, candidates > 0, let oldest = table.oldest {
      candidates -= 1
      if isNeeded(contents[oldest]) {
        // One record makes room for one.
        if !hasRemovedRecord { hasRemovedRecord = table.removeRecord(at: oldest) }
        table.touch(oldest)
      } else {
        remove(oldest)
      }
    }
  }

  /// If the records take too much memory, removes those of the devices that were not used for the longest time, and the
  /// devices themselves that are not needed.
  @inlinable mutating func limitOctets(isNeeded: (Content) -> Bool, keeping slot: Int) {
    var candidates = Self.candidateLimit
    while table.hasTooManyOctets, candidates > 0, let oldest = table.oldest, oldest != slot {
      candidates -= 1
      if isNeeded(contents[oldest]) {
        table.removeRecord(at: oldest)
        table.touch(oldest)
      } else {
        remove(oldest)
      }
    }
    if table.hasTooManyOctets { table.removeRecord(at: slot) }
  }

  @inlinable mutating func remove(_ slot: Int) {
    identifiers[PeerIdentifier(table.address(at: slot))] = nil
    table.remove(slot)
  }

  /// The effect of an advertisement.
  package typealias Addition = ScanTable.Addition

  /// Adds an advertisement or a scan response of a known device.
  package mutating func add(
    _ scanReport: ScanReport, for filter: ScanFilter, isNeeded: (Content) -> Bool
  ) -> Addition {
    guard let slot = table.slot(of: scanReport.address.identity) else { return Addition() }
    return add(scanReport, at: slot, for: filter, isNeeded: isNeeded)
  }

  /// Adds an advertisement or a scan response of the device in a slot.
  ///
  /// - Parameter isNeeded: whether a device with this content has to stay.
  @inlinable package mutating func add(
    _ scanReport: ScanReport, at slot: Int, for filter: ScanFilter, isNeeded: (Content) -> Bool
  ) -> Addition {
    let addition = table.add(scanReport, at: slot, for: filter)
    if table.hasTooManyOctets { limitOctets(isNeeded: isNeeded, keeping: slot) }
    return addition
  }
}
